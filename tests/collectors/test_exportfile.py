"""What softflowd exports and nfcapd and nfdump make of it, and what we make of the same."""

import time

import pytest

from collectors import exportfile, inputs, pcap
from collectors.inputs import Kind
from collectors.packet import DecodeError
from tests.collectors import frames
from tests.collectors.programs import softflowd, traffic

IPFIX = b"\0\x0a\0\x10\x6b\0\x8a\x5d\0\0\0\0\0\0\0\1"  # a message without sets


@pytest.fixture(scope="module", params=[5, 9, 10])
def exported(request, tmp_path_factory):
    """A capture of softflowd's datagrams, and how many IP octets were exported."""
    folder = tmp_path_factory.mktemp("exports")
    octets = traffic(folder / "in.pcap")
    datagrams = softflowd(folder, "in.pcap", request.param)
    now = time.time_ns()
    made = [frames.ethernet(frames.ipv4(frames.udp(d, ports=(50_000, 2055)), 17, src="192.168.0.9")) for d in datagrams]
    made.append(frames.ethernet(bytes(28), 0x0806))
    pcap.write(folder / "leaf0.pcap.gz", [(now + i, frame, len(frame)) for i, frame in enumerate(made)])
    (folder / "payloads").write_bytes(b"".join(datagrams))
    return folder, octets, request.param


def test_a_capture_of_exports(exported):
    folder, octets, _ = exported
    path = folder / "leaf0.pcap.gz"
    assert inputs.kind(path) is Kind.exports
    source = inputs.opened(path, exporter="leaf0")
    flows = source.flows()
    assert flows.octets.sum() == octets
    assert flows.packets.sum() == 60
    assert len(flows) == 6
    assert {flows.exporters[code] for code in flows.exporter} == {"192.168.0.9"}
    assert dict(source.skipped)["not ip"] == 1
    assert sum(len(part) for part in inputs.opened(path)) == 6


@pytest.mark.parametrize("exported", [10], indirect=True)
def test_an_ipfix_file(exported):
    folder, octets, _ = exported
    assert inputs.kind(folder / "payloads") is Kind.ipfix
    flows = inputs.opened(folder / "payloads", exporter="spine7").flows()
    assert flows.octets.sum() == octets
    assert {flows.exporters[code] for code in flows.exporter} == {"spine7"}
    cut = (folder / "payloads").read_bytes()[:-5]
    (folder / "cut").write_bytes(cut)
    source = inputs.opened(folder / "cut", exporter="x")
    source.flows()
    assert source.warnings == (f"{folder}/cut: file cut off",)


def test_what_is_no_capture_of_exports(tmp_path):
    traffic(tmp_path / "a.pcap")
    assert inputs.kind(tmp_path / "a.pcap") is Kind.capture
    pcap.write(tmp_path / "empty.pcap", [])
    (tmp_path / "b.pcap").write_bytes(b"none\0")
    for name in ("empty.pcap", "b.pcap", "no.pcap"):
        assert not exportfile.is_capture_of_exports(tmp_path / name)
    with pytest.raises(DecodeError, match=r"b\.pcap"):
        exportfile.Exports(tmp_path / "b.pcap").flows()


def test_an_ipfix_file_of_nothing(tmp_path):
    (tmp_path / "a.ipfix").write_bytes(IPFIX * 3)
    assert inputs.kind(tmp_path / "a.ipfix") is Kind.ipfix
    (part,) = inputs.opened(tmp_path / "a.ipfix")
    assert len(part) == 0
