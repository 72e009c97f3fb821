"""HTTP(S) servers on loopback that take posts, or do whatever else other ends do to those who post."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATIENCE = 60.0  # s that a test waits for what has to come


class Heard:
    """What came: path, headers (lower case), body; and what is answered, by path: (status, headers, body)."""

    def __init__(self) -> None:
        self.posts, self.answers, self.url = [], {}, ""
        self.changed = threading.Condition()

    def bodies(self, path="/"):
        return [json.loads(body) for at, _, body in list(self.posts) if at == path]

    def ids(self, path="/"):
        return [headers["webhook-id"] for at, headers, _ in list(self.posts) if at == path]

    def wait(self, fits, patience=PATIENCE):
        with self.changed:
            assert self.changed.wait_for(lambda: fits(self), patience), self.posts


@contextmanager
def listening(*, tls=None):
    """A server that hears; it answers 200, or what `answers` says."""
    heard = Heard()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            length = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(length)
            if len(body) < length:
                return  # who sent it was killed amid it: nothing was heard
            with heard.changed:
                heard.posts.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                heard.changed.notify_all()
            status, headers, said = heard.answers.get(self.path, (200, {}, b""))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_):
            pass  # the other end left: that is what some tests are about

    server = Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    heard.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    try:
        yield heard
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def behaving(does):
    """A server that takes a connection and does with it what `does(socket, stop)` says; yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        stop, threads = threading.Event(), []

        def serve():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection, suppress(OSError):
                    does(connection, stop)

        threads.append(threading.Thread(target=serve))
        threads[0].start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            stop.set()
            server.shutdown(socket.SHUT_RDWR)
            threads[0].join()


def certificate(folder, *names):
    """A file with a key and a certificate it signed itself, for names."""
    path = folder / "server.pem"
    asked = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    asked += ["-subj", "/CN=prism.test", "-addext", "subjectAltName=" + ",".join(names)]
    subprocess.run([*asked, "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True)
    path.write_text((folder / "key.pem").read_text() + (folder / "cert.pem").read_text())
    return path


def until(fits, patience=PATIENCE):
    """Wait for something that nobody tells of."""
    ends = time.monotonic() + patience
    while not (found := fits()):
        assert time.monotonic() < ends, "it never came"
        time.sleep(0.05)
    return found
