"""Payload of TCP and UDP per pair of addresses: ours and tshark's, on odd captures of other projects where they are there.

Both count the innermost TCP or UDP packet of a frame. Where they differ, `DIFFERENCES` says why, and for which captures.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from struct import pack

import pytest

from collectors.aggregation import capture_reader
from collectors.aggregation.batch_decoder import Decoder
from collectors.aggregation.flow_table import flows_of
from collectors.captures import pcap
from collectors.packets.plain_decoder import DecodeError
from tests.collectors.builders import frames

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("tshark", "mergecap", "capinfos"))), reason="tshark is not installed"
)
ODD = Path(__file__).parents[4] / "shared" / "formats" / "odd"

NAMES = (
    "frame.protocols",
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "tcp.len",
    "udp.length",
    "ip.flags.mf",
    "ip.frag_offset",
)
NAMES += ("ipv6.fraghdr.nxt", "tcp.analysis.retransmission", "tcp.analysis.keep_alive")
OPTIONS = ("-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE")
QUOTED = ("icmp", "icmpv6", "sflow", "openflow")  # what is inside of these is told, not sent
INNER = ("ip", "ipv6", "eth_withoutfcs", "ethertype")

DIFFERENCES = {
    # no flow records of this link type: PKTAP, ARCNET, Juniper, PPP, NFLOG
    "link type": ("LINKTYPE_PKTAP", "arcnet-rfc1051-arp-icmp-http", "bgp-aigp", "bgp_vpn_attrset", "lspping-fec-ldp", "nflog"),
    # an IP length of 0 stands for all of a frame of more than 65,535 octets (Linux, BIG TCP); tshark counts nothing
    "IP length 0": ("bigtcp-ipv4-geneve-ipv6", "bigtcp-ipv4-vxlan-ipv6", "bigtcp-ipv6-geneve-ipv4", "bigtcp-ipv6-vxlan-ipv6"),
    # payload of UDP ends with the IP packet; tshark believes the length in the UDP header, larger or smaller as it may be
    "UDP length": (
        *("cve-2014-8767-OLSR", "dns-zlip-1", "dns-zlip-3", "hoobr_nfs_xid_map_enter", "hoobr_ripng_print"),
        *("ipv4_invalid_total_length", "ipv6_invalid_length_2", "isakmp-delete-segfault", "kh-timed-002-oobr"),
        *("l2tp-avp-overflow", "ldp_tlv_print-oobr", "lisp_invalid_length", "lwres_with_extra", "quic_32_bit_pointer_overflow"),
        *("rtp-seg-fault-2", "rx_ubik-oobr", "snmp-heapoverflow-1", "udp-length-heapoverflow"),
    ),
    # an IP packet longer than its frame was on the wire is refused
    "beyond the frame": ("cve-2014-8769-AODV", "hoobr_bfd_print"),
    # tunnels are recognised by what is in them, on any port; tshark goes by the port
    "tunnel": ("vxlan_port_8472",),
}


def ours(path: Path) -> Counter[tuple[str, str, int]]:
    """Octets by source, destination and protocol."""
    decoder, found = Decoder(), Counter[tuple[str, str, int]]()
    try:
        flows = flows_of({"a": capture_reader.read(pcap.read(path), decoder)}, decoder.endpoints)[0]
    except DecodeError:
        return found
    columns = (flows.src.tolist(), flows.dst.tolist(), flows.protocol.tolist(), flows.octets.tolist())
    for src, dst, protocol, octets in zip(*columns, strict=True):
        if protocol in (6, 17):
            found[flows.endpoints[src], flows.endpoints[dst], protocol] += octets
    return +found


def lines(path: Path) -> list[str]:
    """What tshark says of each frame."""
    fields = [word for name in NAMES for word in ("-e", name)]
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", "-E", "occurrence=a", "-E", "separator=|", *OPTIONS, *fields]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()


def theirs(path: Path) -> Counter[tuple[str, str, int]]:
    """The same of what tshark says, without fragments, what was sent before, and the outer packets of tunnels."""
    return payload(lines(path))


def theirs_together(paths: list[Path], folder: Path) -> dict[Path, Counter[tuple[str, str, int]]]:
    """The same for many captures, read one after another by one tshark, whose start takes most of the time.

    Captures that it cannot read are left out. It takes connections of several captures for one where addresses and ports are
    the same: where the answer matters, ask for the capture alone.
    """
    asked = subprocess.run(["capinfos", "-T", "-r", "-m", "-c", *map(str, paths)], capture_output=True, text=True, check=False)
    rows = (line.rsplit(",", 1) for line in asked.stdout.splitlines())
    counts = {Path(name): int(count) for name, count in rows}
    merged, found, at = folder / "merged.pcapng", {}, 0
    subprocess.run(["mergecap", "-a", "-w", str(merged), *map(str, counts)], check=True, capture_output=True)
    said = lines(merged)
    assert len(said) == sum(counts.values())
    for path, count in counts.items():
        found[path] = payload(said[at : at + count])
        at += count
    return found


def payload(said: list[str]) -> Counter[tuple[str, str, int]]:
    """Octets of what tshark says of some frames."""
    found: Counter[tuple[str, str, int]] = Counter()
    for line in said:
        row = dict(zip(NAMES, line.split("|"), strict=True))
        layers = row["frame.protocols"].split(":")
        layers = layers[: min([layers.index(name) for name in QUOTED if name in layers], default=len(layers))]
        upper = max((i for i, name in enumerate(layers) if name in ("tcp", "udp")), default=-1)
        if upper < 0 or any(name in INNER for name in layers[upper:]) or fragmented(row) or sent_again(row):
            continue
        tcp = layers[upper] == "tcp"
        below = max(i for i, name in enumerate(layers[:upper]) if name in ("ip", "ipv6"))
        at = layers[: below + 1].count(layers[below]) - 1
        src, dst = (row[f"{layers[below]}.{end}"].split(",")[at] for end in ("src", "dst"))
        lengths = row["tcp.len" if tcp else "udp.length"].split(",")
        length = lengths[min(layers[: upper + 1].count(layers[upper]), len(lengths)) - 1] or ("0" if tcp else "8")
        found[src, dst, 6 if tcp else 17] += int(length) - (0 if tcp else 8)
    return +found


def fragmented(row: dict[str, str]) -> bool:
    """Whether a frame holds a part of an IP packet."""
    bits = (row["ip.flags.mf"] + "," + row["ip.frag_offset"]).split(",")
    return bool(row["ipv6.fraghdr.nxt"]) or any(bit not in ("", "0", "False") for bit in bits)


def sent_again(row: dict[str, str]) -> bool:
    """Whether a segment holds what was sent before."""
    return bool(row["tcp.analysis.retransmission"] or row["tcp.analysis.keep_alive"])


@pytest.fixture(scope="module")
def odd(
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, tuple[Counter[tuple[str, str, int]], Counter[tuple[str, str, int]]]]:
    """What both say of each capture in the folder."""
    if not ODD.is_dir():
        pytest.skip("no captures of other projects here")
    known = {name for names in DIFFERENCES.values() for name in names}
    paths = sorted(ODD.iterdir())
    together = theirs_together(paths, tmp_path_factory.mktemp("merged"))
    us = {path: ours(path) for path in paths}
    alone = [path for path in paths if path.stem in known or us[path] != together.get(path)]
    with ThreadPoolExecutor(2) as pool:
        them = together | dict(zip(alone, pool.map(theirs, alone), strict=True))
    assert len(alone) < len(paths) / 4
    return {path.stem: (us[path], them[path]) for path in paths}


def test_odd_captures_hold_as_much_as_tshark_says(odd):
    known = {name for names in DIFFERENCES.values() for name in names}
    differing = {name: (us - them, them - us) for name, (us, them) in odd.items() if us != them and name not in known}
    assert differing == {}
    assert len(odd) > len(known)


@pytest.mark.parametrize("kind", DIFFERENCES)
def test_differences_are_as_documented(odd, kind):
    for name in DIFFERENCES[kind]:
        us, them = odd[name]
        assert us != them, name


def test_a_capture_of_many_kinds(tmp_path):
    """TCP and UDP of several pairs, with what was sent again, fragments, quotes in ICMP, and a tunnel."""
    tcp = []
    for n, sequence in ((100, 1000), (50, 1100), (100, 1000), (0, 1150), (70, 1150)):
        segment = bytearray(frames.tcp(b"x" * n))
        segment[4:8] = pack(">I", sequence)
        tcp.append(bytes(segment))
    sent = [frames.ethernet(frames.ipv4(segment, 6)) for segment in tcp]
    udp = pack(">HHHH", 5000, 6000, 8 + 33, 0) + bytes(33)
    sent += [
        frames.ethernet(frames.ipv4(udp, 17, src="10.0.0.3", dst="10.0.0.4")),
        frames.ethernet(frames.ipv6(udp, 17), 0x86DD),
    ]
    quote = frames.ipv4(bytes(8), 17, src="10.0.0.4", dst="10.0.0.3")
    sent.append(frames.ethernet(frames.ipv4(pack(">BBHI", 3, 3, 0, 0) + quote, 1, src="10.0.0.3", dst="10.0.0.4")))
    wrapped = pack(">HHHHII", 5000, 4789, 16 + len(sent[5]), 0, 0x08000000, 0) + sent[5]
    sent.append(frames.ethernet(frames.ipv4(wrapped, 17, src="192.168.0.1", dst="192.168.0.2")))
    path = tmp_path / "a.pcap"
    pcap.write(path, [(1_795_000_000_000_000_000 + i * 10**9, frame, len(frame)) for i, frame in enumerate(sent)])
    found = ours(path)
    assert found == theirs(path)
    assert sorted(found.values()) == [33, 66, 220]
