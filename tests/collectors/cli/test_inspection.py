import shutil
import subprocess
import sys

import pytest

from collectors.captures import pcap
from collectors.cli import inspection
from collectors.cli.inspection import Decoded, decode, dissect, hints, read_records
from collectors.formats.file_types import Kind
from collectors.writers.record_files import write
from tests.collectors.builders import frames
from tests.collectors.writers.test_record_files import flows

pytest.importorskip("pyshark")
needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not there")
T = 1_795_214_542_000_000_000


def capture(tmp_path, made, snaplen=65535):
    path = tmp_path / "a.pcap"
    pcap.write(path, [(T + i * 1000, frame, len(frame)) for i, frame in enumerate(made)], snaplen=snaplen)
    return str(path)


def roce(psn, port=69, opcode=0x04):
    """69 is TFTP's port, which tshark would take for the protocol."""
    frame = bytearray(frames.ethernet(frames.ipv4(frames.roce(opcode, bytes(64), psn=psn), 17)))
    frame[34:36] = port.to_bytes(2, "big")
    return bytes(frame)


ARP = frames.ethernet(bytes(28), 0x0806)


@needs_tshark
def test_what_tshark_says(tmp_path):
    path = capture(
        tmp_path, [*(roce(i) for i in range(5)), ARP, frames.ethernet(frames.ipv4(frames.tcp(bytes(900))))], snaplen=96
    )
    seen = dissect(path, 100)
    assert seen.packets == 7
    assert seen.snapped == 6
    assert seen.protocols["infiniband"] == 5
    assert seen.protocols["arp"] == 1
    assert seen.links == {"Ethernet (1)": 7}
    assert (seen.first_ns, seen.last_ns) == (T, T + 6000)
    assert set(seen.talkers) == {("10.0.0.1", "10.0.0.2")}
    assert seen.fault == ""
    assert dissect(path, 3).packets == 3


@needs_tshark
@pytest.mark.parametrize("octets", [b"", b"nothing of the kind", b"\xd4\xc3\xb2\xa1\x02\0\x04\0" + bytes(20)])
def test_what_tshark_cannot_open(tmp_path, octets):
    (tmp_path / "a.pcap").write_bytes(octets)
    seen = dissect(str(tmp_path / "a.pcap"), 10)
    assert seen.packets == 0
    assert hints(seen, decode(str(tmp_path / "a.pcap"), 10)) == ["the capture contains no packets"]


def test_without_tshark(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(ValueError, match="inspect needs tshark: install it"):
        dissect(capture(tmp_path, [ARP]), 10)


def test_without_pyshark(tmp_path):
    code = (
        "import sys; sys.modules['pyshark'] = None\nfrom collectors.cli.commands import main\n"
        f"sys.argv[1:] = ['inspect', {capture(tmp_path, [ARP])!r}]\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "prism-collect: inspect needs pyshark: pip install 'llm-prism[inspect]'\n"


def test_what_prism_would_use(tmp_path):
    path = capture(tmp_path, [*(roce(i, 50_000) for i in range(10)), ARP])
    found = decode(path, 100)
    assert (found.used, found.rdma, dict(found.skipped), found.refused) == (10, 10, {"not IP: ARP (EtherType 0x0806)": 1}, "")
    assert found.gaps == 0
    assert decode(path, 4).used == 4
    every_third = decode(capture(tmp_path, [roce(i) for i in range(0, 60, 3)]), 100)
    assert every_third.gaps == 1
    (tmp_path / "b.pcap").write_bytes(b"no capture at all")
    assert "neither a capture" in decode(str(tmp_path / "b.pcap"), 10).refused


def seen(*stacks, **more):
    found = inspection.Dissected(packets=len(stacks), **more)
    found.stacks.update(stacks)
    return found


@pytest.mark.parametrize(
    ("dissected", "decoded", "words"),
    [
        (seen(("eth", "arp"), ("eth", "lldp")), Decoded(), "only arp, lldp"),
        (seen(("eth", "ip", "udp", "sflow")), Decoded(used=1), "sFlow datagrams"),
        (seen(("eth", "ip", "udp", "cflow")), Decoded(used=1), "NetFlow or IPFIX"),
        (seen(("eth", "ip", "gre", "erspan", "eth", "ip", "tcp")), Decoded(used=1, payload=1), "ERSPAN"),
        (seen(("eth", "ip", "esp")), Decoded(), "IPsec"),
        (seen(("eth", "infiniband")), Decoded(), "RDMA that Prism does not decode"),
        (seen(("eth", "ip", "tcp"), snapped=1), Decoded(used=1, payload=1), "cut off by the snap length"),
        (seen(("eth", "ip", "tcp")), Decoded(used=1, payload=1, gaps=0.5), "50% of the packets follow a gap"),
        (seen(("eth", "ip", "tcp")), Decoded(used=1, payload=1, sides=30, both=1), "one direction only"),
        (seen(("eth", "ip", "tcp")), Decoded(used=1), "no packet carries payload"),
        (seen(("erf",)), Decoded(refused="not a capture"), "editcap"),
    ],
)
def test_hints(dissected, decoded, words):
    assert any(words in hint for hint in hints(dissected, decoded))


def test_nothing_to_remark():
    assert hints(seen(("eth", "ip", "tcp")), Decoded(used=1, payload=1, sides=2, both=2)) == []


def test_records(tmp_path):
    write(tmp_path / "a.csv", flows(T, 100))
    found = read_records(str(tmp_path / "a.csv"), Kind.text, 1000)
    assert (found.rows, found.first_ns, found.last_ns, found.whole) == (100, T, T + 104, True)
    assert found.exporters == ("leaf0",)
    assert sum(found.talkers.values()) == found.octets == 0
    assert not read_records(str(tmp_path / "a.csv"), Kind.text, 100).whole
