import json
import os
import socket
import struct
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from collectors.clickhouse.drivers import opened
from prism.app import machine_facts
from prism.app.doctor import DATAGRAM_OCTETS, MIB, Facts, Requirements, Store, examine, store

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")


@linux
def test_the_facts_of_this_machine_can_be_read_and_judged(tmp_path):
    asked = Requirements(folder=str(tmp_path / "not" / "there" / "yet"))
    found = machine_facts.read(asked)
    assert found.granted == min(asked.buffer_mib * MIB, found.rmem_max)
    assert found.rmem_default > 0
    assert found.disk_writable
    assert found.disk_free == pytest.approx(os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize, rel=0.5)
    assert found.memory > 0
    assert found.files > 0
    assert found.python == sys.version_info[:3]
    assert found.capabilities is not None
    checks = examine(found, asked)
    assert all(check.said for check in checks)
    assert all(check.advice for check in checks if check.level in ("warning", "error"))


@linux
def test_the_kernel_says_how_its_clock_is_set():
    clock = machine_facts._clock()
    assert clock is None or 0 <= clock.error_s < 3600


@linux
def test_a_datagram_takes_as_much_buffer_as_the_arithmetic_says():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taker, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as giver:
        taker.bind(("127.0.0.1", 0))
        for _ in range(10):
            giver.sendto(bytes(1364), taker.getsockname())
        held = struct.unpack_from("I", taker.getsockopt(socket.SOL_SOCKET, 55, 36))[0]  # SO_MEMINFO
    assert DATAGRAM_OCTETS / 2 <= held / 10 <= DATAGRAM_OCTETS * 2


@pytest.mark.parametrize(("kind", "how"), [("udp", socket.SOCK_DGRAM), ("tcp", socket.SOCK_STREAM)])
def test_a_port_that_somebody_has_is_taken(kind, how):
    with socket.socket(socket.AF_INET, how) as other:
        other.bind(("127.0.0.1", 0))
        if kind == "tcp":
            other.listen()
        port = other.getsockname()[1]
        assert machine_facts._taken(kind, port) == "Address already in use"
        assert machine_facts.read(Requirements(ports=((kind, port),))).ports == {(kind, port): "Address already in use"}
    assert machine_facts._taken(kind, port) == ""


@linux
def test_interfaces_are_up_or_missing():
    assert machine_facts._interface("lo") in ("up", "down")
    assert machine_facts._interface("nosuch0") == "missing"
    assert machine_facts._packet_sockets() is not None


def test_compiled_code_is_kept_where_numba_is_configured_to(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    assert machine_facts._cache() == (str(tmp_path / "cache"), True)
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    folder, writable = machine_facts._cache()
    assert os.access(machine_facts._existing_folder(folder), os.W_OK) == writable


def test_a_file_that_is_not_there_is_no_fact(tmp_path):
    assert machine_facts._number(str(tmp_path / "no")) is None
    (tmp_path / "text").write_text("many")
    assert machine_facts._number(str(tmp_path / "text")) is None
    assert machine_facts._free(Path("/nosuch/folder")) is None


def test_a_store_is_written_to_and_read(tmp_path):
    found = machine_facts._store(str(tmp_path / "store"))
    assert (found.absent, found.wrote, list(tmp_path.iterdir())) == (True, False, [])  # to look makes nothing
    opened(str(tmp_path / "store")).close()
    found = machine_facts._store(str(tmp_path))  # the folder of a service
    assert found.error == ""
    assert found.wrote
    assert found.version.split(".")[0].isdigit()
    assert machine_facts._store(str(tmp_path / "store")).wrote  # again


def test_a_store_that_is_away_is_an_error_not_a_traceback():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        found = machine_facts._store(f"clickhouse://127.0.0.1:{closed.getsockname()[1]}/default")
    assert found.error
    assert not found.wrote
    assert isinstance(machine_facts.read(Requirements()), Facts)


def test_a_store_that_another_process_has_is_told_as_such(tmp_path):
    with closing(opened(str(tmp_path / "store"))):
        code = "import sys, json; from prism.app.machine_facts import _store; print(json.dumps(vars(_store(sys.argv[1]))))"
        done = subprocess.run(
            [sys.executable, "-c", code, tmp_path / "store"], capture_output=True, text=True, check=True, timeout=120
        )
    found = Store(**json.loads(done.stdout))
    assert found.error
    assert store(Facts(store=found), Requirements()).level == "warning"
    assert str(os.getpid()) in found.error
