"""Debian's clickhouse-server 18.16, started by hand as whoever runs the tests, on loopback ports of its own."""

import contextlib
import shutil
import signal
import socket
import subprocess
import time

import pytest

CONFIG = """<yandex>
  <logger><level>warning</level><log>{0}/server.log</log><errorlog>{0}/server.err</errorlog></logger>
  <listen_host>127.0.0.1</listen_host><tcp_port>{1}</tcp_port><http_port>{2}</http_port>
  <interserver_http_port>{3}</interserver_http_port><interserver_http_host>127.0.0.1</interserver_http_host>
  <path>{0}/data/</path><tmp_path>{0}/tmp/</tmp_path><user_files_path>{0}/files/</user_files_path>
  <users_config>{0}/users.xml</users_config><mark_cache_size>67108864</mark_cache_size>
  <default_profile>default</default_profile><default_database>default</default_database>
</yandex>"""
USERS = """<yandex><profiles><default><max_memory_usage>4000000000</max_memory_usage></default></profiles>
  <users><default><password>{0}</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
  <quota>default</quota></default></users><quotas><default/></quotas></yandex>"""


class Server:
    """A server that can be killed and started again; `url` names a database of it."""

    def __init__(self, folder, password=""):
        self.folder, self.password, self.process = folder, password, None
        folder.mkdir(parents=True, exist_ok=True)
        self.ports = _free(3)
        (folder / "config.xml").write_text(CONFIG.format(folder, *self.ports))
        (folder / "users.xml").write_text(USERS.format(password))

    @property
    def url(self):
        user = f"default:{self.password}@" if self.password else ""
        return f"clickhouse://{user}127.0.0.1:{self.ports[0]}/prism"

    def start(self):
        command = ["clickhouse-server", f"--config-file={self.folder}/config.xml"]
        with open(self.folder / "out", "ab") as out:
            self.process = subprocess.Popen(command, cwd=self.folder, stdout=out, stderr=out)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            assert self.process.poll() is None, (self.folder / "out").read_text()[-2000:]
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.ports[0]), 1):
                return self
            time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def kill(self, number=signal.SIGKILL):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(60)


@contextlib.contextmanager
def running(folder, password=""):
    if shutil.which("clickhouse-server") is None:
        pytest.skip("clickhouse-server is not there")
    server = Server(folder, password)
    try:
        yield server.start()
    finally:
        server.kill()


def _free(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports
