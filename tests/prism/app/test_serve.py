import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest

from prism.app.serve import made, place


def test_places_are_urls():
    assert place("sflow://127.0.0.1:6343") == ("sflow", "127.0.0.1:6343")
    assert place("ipfix://[::1]:4739") == ("ipfix", "[::1]:4739")
    for text in ("127.0.0.1:6343", "http://a:1", "sflow://"):
        with pytest.raises(ValueError, match="netflow://ADDRESS:PORT"):
            place(text)


def test_a_folder_for_data_is_for_its_user_alone(tmp_path):
    folder = made(str(tmp_path / "a" / "b"))
    assert folder.stat().st_mode & 0o777 == 0o700
    assert made(str(folder)) == folder


@contextmanager
def running(*words, env=None):
    program = [sys.executable, "-c", "from prism.cli.main import main; main()", *words]
    process = subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_service_starts_listens_and_ends_when_told(tmp_path):
    pytest.importorskip("chdb")
    with running(
        "serve", "--data", str(tmp_path / "data"), "--listen", "sflow://127.0.0.1:0", "--json", "--http", "0"
    ) as process:
        said = []
        while not said or "event=serving" not in said[-1]:
            said.append(process.stderr.readline())
            assert said[-1], said
        port = next(int(text.split("port=")[1].split()[0]) for text in said if "event=listening" in text)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"no sflow", ("127.0.0.1", port))
        process.send_signal(signal.SIGTERM)
        out, rest = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "event=stopped" in rest
        assert "Traceback" not in rest
        assert all(json.loads(text) for text in out.splitlines())
    assert (tmp_path / "data" / "store").is_dir()


def test_pages_that_cannot_start_end_a_service_that_stores_cleanly(tmp_path):
    """The thread that inserts ends before its store does: else the engine goes down with the process, now and then."""
    pytest.importorskip("chdb")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        at = f"127.0.0.1:{taken.getsockname()[1]}"
        with running("serve", "--data", str(tmp_path), "--listen", "ipfix://127.0.0.1:0", "--http", at) as process:
            _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert f"{at}: address already in use" in said
    assert "Traceback" not in said
