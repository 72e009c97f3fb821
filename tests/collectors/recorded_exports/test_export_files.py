"""What softflowd exports and nfcapd and nfdump make of it, and what we make of the same."""

import struct
import time

import pytest

from collectors.captures import pcap
from collectors.formats import file_types
from collectors.formats.file_types import Kind
from collectors.packets.plain_decoder import DecodeError
from collectors.recorded_exports import export_files
from tests.collectors.builders import exports as x
from tests.collectors.builders import frames
from tests.collectors.builders.exports import ipfix, set_, template
from tests.collectors.builders.programs import softflowd, traffic

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
    assert file_types.recognise_file(path) is Kind.exports
    source = file_types.open_records(path, exporter="leaf0")
    flows = source.flows()
    assert flows.octets.sum() == octets
    assert flows.packets.sum() == 60
    assert len(flows) == 6
    assert {flows.exporters[code] for code in flows.exporter} == {"192.168.0.9"}
    assert dict(source.skipped)["not IP"] == 1
    assert sum(len(part) for part in file_types.open_records(path)) == 6


@pytest.mark.parametrize("exported", [10], indirect=True)
def test_an_ipfix_file(exported):
    folder, octets, _ = exported
    assert file_types.recognise_file(folder / "payloads") is Kind.ipfix
    flows = file_types.open_records(folder / "payloads", exporter="spine7").flows()
    assert flows.octets.sum() == octets
    assert {flows.exporters[code] for code in flows.exporter} == {"spine7"}
    cut = (folder / "payloads").read_bytes()[:-5]
    (folder / "cut").write_bytes(cut)
    source = file_types.open_records(folder / "cut", exporter="x")
    source.flows()
    (warning,) = source.warnings
    assert warning.startswith(f"{folder}/cut: offset ")
    assert warning.endswith(": the file ends inside this message; the records before it were read")


def test_what_is_no_capture_of_exports(tmp_path):
    traffic(tmp_path / "a.pcap")
    assert file_types.recognise_file(tmp_path / "a.pcap") is Kind.capture
    pcap.write(tmp_path / "empty.pcap", [])
    (tmp_path / "b.pcap").write_bytes(b"none\0")
    for name in ("empty.pcap", "b.pcap", "no.pcap"):
        assert not export_files.is_capture_of_exports(tmp_path / name)
    with pytest.raises(DecodeError, match=r"b\.pcap"):
        export_files.Exports(tmp_path / "b.pcap").flows()


def test_how_exports_came_is_reported(tmp_path):
    """Fragments, a port of no collector, an unknown sampling rate, a total that starts anew."""
    path = tmp_path / "a.pcap"
    fields = ((x.SRC, 4), (x.DST, 4), (85, 4), (48, 2))
    bodies = [set_(300, bytes(8) + struct.pack(">IH", octets, 3)) for octets in (900, 50)]
    messages = [ipfix(template(300, fields), body, when=x.WHEN + i) for i, body in enumerate(bodies)]
    whole = frames.udp(messages[1], ports=(1, 2100))
    parts = [(whole[:24], 0x2000), (whole[24:], 3)]
    made = [frames.ethernet(frames.ipv4(frames.udp(messages[0], ports=(1, 2100)), 17, src="192.0.2.9"))]
    made += [frames.ethernet(frames.ipv4(part, 17, src="192.0.2.9", fragment=at)) for part, at in parts]
    pcap.write(path, [(i, frame, len(frame)) for i, frame in enumerate(made)])
    assert file_types.recognise_file(path) is Kind.exports
    source = file_types.open_records(path)
    assert source.flows().octets.sum() == 950
    usual = "2055, 4739, 9995, 9996, 6343"
    hint = "announce the sampling rate in options records"
    assert source.warnings == (
        f"{path}: datagrams of IPFIX to UDP port 2100 (2): recognised by their content; the usual ports are {usual}",
        f"{path}: datagrams reassembled from IP fragments (1, of 2 fragments)",
        f"{path}: exporter 192.0.2.9: sampling rate unknown (2 records): it samples, but announces no rate for them; {hint}",
        f"{path}: exporter 192.0.2.9: running totals restarted from 0 (1 times)",
    )


def test_a_capture_by_port_has_the_first_fragments_alone(tmp_path):
    """No traffic is made of them, nor of a file of other fragments an export."""
    whole = frames.udp(ipfix(template(300), bytes(900)), ports=(1, 4739))
    first = frames.ethernet(frames.ipv4(whole[:480], 17, fragment=0x2000))
    later = frames.ethernet(frames.ipv4(whole[480:], 17, fragment=60))
    for some, kind in (([first], Kind.exports), ([later], Kind.capture)):
        pcap.write(tmp_path / "a.pcap", [(i, frame, len(frame)) for i, frame in enumerate(some)])
        assert file_types.recognise_file(tmp_path / "a.pcap") is kind
    pcap.write(tmp_path / "a.pcap", [(0, first, len(first))])
    source = file_types.open_records(tmp_path / "a.pcap")
    assert len(source.flows()) == 0
    assert dict(source.skipped) == {"IP fragment: others missing": 1}


def test_an_ipfix_file_of_nothing(tmp_path):
    (tmp_path / "a.ipfix").write_bytes(IPFIX * 3)
    assert file_types.recognise_file(tmp_path / "a.ipfix") is Kind.ipfix
    (part,) = file_types.open_records(tmp_path / "a.ipfix")
    assert len(part) == 0
