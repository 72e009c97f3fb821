"""`prism-collect capture` and `erspan` as children, on the loopback interface, with packets that other programs would send."""

import json
import os
import shutil
import socket
import struct

import pytest

from collectors.packets import headers
from tests.collectors.builders import frames
from tests.collectors.builders.toys import Child, until
from tests.collectors.captures.test_packet_ring import needs_capture
from tests.collectors.live.test_listen_command import stopped


def rows_of(child):
    return [json.loads(line) for line in child.wrote.splitlines()]


def send_frames(*rows):
    """Frames as they are, onto lo."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind(("lo", 0))
        for row in rows:
            raw.send(row)


def message(psn, count, *, qp=7):
    """An RDMA WRITE of so many packets of 1024 octets."""
    reth = struct.pack(">QII", 0, 0, count * 1024)
    for i in range(count):
        opcode = 6 if i == 0 else 8 if i == count - 1 else 7
        payload = frames.roce(opcode, (reth if i == 0 else b"") + bytes(1024), dst_qp=qp, psn=psn + i)
        yield frames.ethernet(frames.ipv4(payload, 17, src="10.9.0.1", dst="10.9.0.2"))


@needs_capture
@pytest.mark.parametrize("ends", [False, True])
def test_messages_on_the_wire_become_records(ends):
    with Child("capture", "lo", "--name", "leaf0", "--wait", "0.2", *(["--roce-ends"] if ends else [])) as child:
        child.expect("event=capturing")
        send_frames(*message(0, 20), *message(20, 5))
        until(lambda: child.wrote.count(b"10.9.0.1") >= 2)  # while it runs
        send_frames(*message(25, 3))
        assert child.end() == 0
        mine = [row for row in rows_of(child) if row["src"] == "10.9.0.1"]
        assert [(row["octets"], row["packets"], row["messages"], row["dst_qp"], row["exporter"]) for row in mine] == [
            (20 * 1024, 20, 1, 7, "leaf0"),
            (5 * 1024, 5, 1, 7, "leaf0"),
            (3 * 1024, 3, 1, 7, "leaf0"),
        ]
        counts = stopped(child)
        assert counts["packets"] == 6 if ends else counts["packets"] >= 28


@needs_capture
@pytest.mark.skipif(not shutil.which("tcpdump"), reason="tcpdump is not installed")
def test_a_filter_and_parquet_and_nothing_left(tmp_path):
    with Child("capture", "lo", "--filter", "udp dst port 4791", "-o", str(tmp_path)) as child:
        child.expect("event=capturing")
        send_frames(*message(0, 20))
        assert child.end() == 0
        assert stopped(child)["packets"] == 20
        assert [path.suffix for path in tmp_path.iterdir()] == [".parquet"]


@needs_capture
def test_mirrors_of_two_switches_are_one_record_with_a_path():
    def mirrored(source, inner):
        tunnel = struct.pack(">HHIHHI", 0x1000, headers.ERSPAN, 1, 1 << 12, 5, 0)
        return frames.ethernet(frames.ipv4(tunnel + inner, 47, src=source, dst="127.0.0.1"))

    arguments = ("--switch", "leaf0=192.0.2.1/5", "--switch", "spine0=192.0.2.2", "--allow", "192.0.2.0/24", "--wait", "0.2")
    with Child("erspan", "lo", *arguments) as child:
        child.expect("event=capturing")
        for inner in message(0, 10):
            send_frames(*(mirrored(source, inner) for source in ("192.0.2.1", "192.0.2.2", "198.51.100.1")))
        until(lambda: b"10.9.0.1" in child.wrote)
        assert child.end() == 0
        mine = [row for row in rows_of(child) if row["src"] == "10.9.0.1"]
        assert [(row["octets"], row["path"]) for row in mine] == [(10 * 1024, "leaf0|spine0")]
        assert stopped(child)["packets_fate_sender_not_allowed"] == 10


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("capture", "nosuch0"), "nosuch0: no such interface"),
        (("capture", "lo", "--filter", "x y z"), "filter 'x y z'"),
        (("capture", "lo", "--filter", "udp", "--roce-ends"), "cannot be combined"),
        (("capture", "lo", "--name", "a|b"), "must not contain"),
        (("erspan", "lo", "--switch", "a"), "does not name a switch"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_2(arguments, complaint):
    if "--filter" in arguments and not shutil.which("tcpdump"):
        pytest.skip("tcpdump is not installed")
    with Child(*arguments) as child:
        assert child.end(None) == 2
        assert complaint in child.said[-1]


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root, to give its privileges up")
def test_without_the_capability_it_says_what_it_needs():
    from tests.collectors.builders.toys import COLLECT

    with Child("capture", "lo", command=("setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw", *COLLECT)) as child:
        assert child.end(None) == 2
        assert "lo: capturing needs the capability CAP_NET_RAW" in child.said[-1]
