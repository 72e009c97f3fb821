"""Compare tshark's dissection (through pyshark) of a capture's first packets with our decoder's.

tshark uses a registered UDP source port to choose the protocol, and so misreads RoCE packets whose source port is TFTP's: that
dissector is switched off.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from collectors.aggregation.batch_decoder import Decoder
from collectors.captures import pcap
from collectors.columns.partial_records import hash_columns, run_starts
from collectors.columns.record import TCP, Packets
from collectors.formats import file_types
from collectors.formats.file_types import Kind
from collectors.packets.plain_decoder import DecodeError

NEEDS = "inspect needs {0}: {1}"
LEFT_OUT = ("--disable-protocol", "tftp")


@dataclass
class Dissected:
    """tshark's view of the first packets of a capture; `fault`: how it ended, if it failed."""

    packets: int = 0
    octets: int = 0
    snapped: int = 0
    first_ns: int = 0
    last_ns: int = 0
    links: Counter[str] = field(default_factory=Counter)
    stacks: Counter[tuple[str, ...]] = field(default_factory=Counter)
    octets_of: Counter[tuple[str, ...]] = field(default_factory=Counter)
    talkers: Counter[tuple[str, str]] = field(default_factory=Counter)
    fault: str = ""

    @property
    def protocols(self) -> Counter[str]:
        """Count the packets that contain each protocol."""
        found: Counter[str] = Counter()
        for stack, n in self.stacks.items():
            found.update(dict.fromkeys(stack, n))
        return found


@dataclass(frozen=True)
class Decoded:
    """Our decoder's view of the same packets: number of used ones, and of skipped ones by reason.

    Of the used ones: RDMA packets, and the share behind a gap in the sequence of its flow. `refused`: why the capture could not
    be read at all.
    """

    used: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    rdma: int = 0
    payload: int = 0
    gaps: float = 0.0
    sides: int = 0
    both: int = 0
    warnings: tuple[str, ...] = ()
    refused: str = ""


def dissect(path: str, packets: int) -> Dissected:
    """Dissect at most `packets` packets of a file with tshark. Raises ValueError without pyshark or tshark."""
    try:
        import pyshark
        from pyshark.capture.capture import TSharkCrashException
        from pyshark.tshark.tshark import TSharkNotFoundException
    except ImportError:
        raise ValueError(NEEDS.format("pyshark", "pip install 'llm-prism[inspect]'")) from None
    if shutil.which("tshark") is None:
        raise ValueError(NEEDS.format("tshark", "install it (Debian's package is tshark)"))

    class Closed(pyshark.FileCapture):  # type: ignore[misc]
        """A capture that is closed below, once: pyshark's own destructor restarts the loop."""

        def __del__(self) -> None:
            pass

    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns that tshark ended early
    found, loop = Dissected(), asyncio.new_event_loop()
    arguments = [*LEFT_OUT, "-n", "-c", str(packets)]
    try:
        capture = Closed(path, keep_packets=False, custom_parameters=arguments, eventloop=loop)
    except TSharkNotFoundException as error:
        raise ValueError(NEEDS.format("tshark", str(error).split("\n")[0])) from None
    try:
        for packet in itertools.islice(capture, packets):
            _take(found, packet)
    except TSharkCrashException:
        if found.packets < packets:  # otherwise we did not wait for it
            found.fault = "it stopped early: the file is cut off, damaged, or of an unknown format"
    finally:
        with suppress(TSharkCrashException):
            capture.close()
        loop.close()
    return found


def _take(found: Dissected, packet: Any) -> None:
    frame = packet.frame_info
    octets, captured = int(frame.len), int(frame.cap_len)
    when = _nanoseconds(str(frame.time_epoch))
    found.first_ns = min(found.first_ns or when, when)
    found.last_ns = max(found.last_ns, when)
    found.packets += 1
    found.octets += octets
    found.snapped += captured < octets
    found.links[str(frame.encap_type.showname_value)] += 1
    stack = tuple(layer for layer in str(frame.protocols).split(":") if layer not in ("ethertype", "data"))
    found.stacks[stack] += 1
    found.octets_of[stack] += octets
    addresses = [layer for layer in packet.layers if layer.layer_name in ("ip", "ipv6")]
    if addresses:
        found.talkers[str(addresses[-1].src), str(addresses[-1].dst)] += octets


def _nanoseconds(text: str) -> int:
    """Parse seconds since the epoch; later versions of tshark write an ISO time."""
    try:
        return int(Decimal(text) * 10**9)
    except InvalidOperation:
        from collectors.formats.arrow_values import parse_time

        with suppress(ValueError):
            return parse_time(text)
    return 0


def decode(path: str, packets: int) -> Decoded:
    """Decode at most `packets` packets of a file with our own decoder."""
    decoder = Decoder()
    parts: list[Packets] = []
    try:
        with pcap.read(path, batch_octets=1 << 18) as capture:
            for batch in _first_batches(capture, packets):
                part = decoder.decode(batch)
                parts.append(part.take(np.arange(len(part))))  # a copy, because the decoder reuses its arrays
            warnings, damaged = tuple(capture.warnings), capture.skipped
    except DecodeError as error:
        return Decoded(refused=str(error))
    used = sum(len(part) for part in parts)
    gaps, sides, both = _sequences(parts)
    return Decoded(
        used=used,
        skipped={reason: n for reason, n in (decoder.skipped + damaged).items() if n},
        rdma=sum(int(np.count_nonzero(part.opcode >= 0)) for part in parts),
        payload=sum(int(np.count_nonzero(part.octets)) for part in parts),
        gaps=gaps,
        sides=sides,
        both=both,
        warnings=warnings,
    )


def _first_batches(capture: pcap.Capture, packets: int) -> Iterator[Any]:
    """Yield batches with `packets` packets in total."""
    left = packets
    for batch in capture:
        columns = {name: getattr(batch, name)[:left] for name in ("link_type", "time_ns", "offset", "captured", "wire")}
        yield replace(batch, **columns)
        left -= len(batch)
        if left <= 0:
            return


def _sequences(parts: list[Packets]) -> tuple[float, int, int]:
    """Measure the share of packets behind a gap in their flow; count TCP flows, and those seen in both directions."""
    if not parts:
        return 0.0, 0, 0
    names = ("src", "dst", "src_port", "dst_port", "protocol", "opcode", "dst_qp", "sequence", "octets")
    c = {name: np.concatenate([getattr(part, name) for part in parts]).astype(np.int64) for name in names}
    roce, tcp = c["opcode"] >= 0, c["protocol"] == TCP
    port = np.where(roce, 0, c["src_port"])
    flow = hash_columns(c["src"], c["dst"], port, c["dst_port"], c["dst_qp"], c["protocol"])
    back = hash_columns(c["dst"], c["src"], c["dst_port"], port, c["dst_qp"], c["protocol"])
    known = np.unique(flow[tcp])
    both = int(np.count_nonzero(np.isin(np.unique(back[tcp]), known)))
    followed = np.flatnonzero((roce & (c["opcode"] < 0x20)) | (tcp & (c["octets"] > 0)))
    order = followed[np.argsort(flow[followed], kind="stable")]
    if len(order) < 2:
        return 0.0, len(known), both
    same = np.ones(len(order), np.bool_)
    same[run_starts(flow[order])] = False
    length, bits = np.where(roce, 1, c["octets"])[order], np.where(roce, 24, 32)[order]
    ahead = np.zeros(len(order), np.int64)
    ahead[1:] = (c["sequence"][order][1:] - c["sequence"][order][:-1] - length[:-1]) & ((1 << bits[1:]) - 1)
    gap = same & (ahead > 0) & (ahead < 1 << (bits - 1))
    return float(gap.sum() / max(1, same.sum())), len(known), both


@dataclass(frozen=True)
class Records:
    """Content of a file of flow records; `whole`: the whole file was read."""

    rows: int
    octets: int
    first_ns: int
    last_ns: int
    talkers: Counter[tuple[str, str]]
    exporters: tuple[str, ...]
    skipped: Mapping[str, int]
    whole: bool


def read_records(path: str, kind: Kind, rows: int) -> Records:
    """Read at least `rows` records of a file that is no capture, if it has them. Raises DecodeError."""
    source = file_types.open_records(path, kind_=kind)
    talkers: Counter[tuple[str, str]] = Counter()
    exporters: dict[str, None] = {}
    count = octets = last = 0
    first = whole = None
    for part in source:
        if not len(part):
            continue
        count, octets, last = count + len(part), octets + int(part.octets.sum()), max(last, int(part.end_ns.max()))
        first = int(part.start_ns.min()) if first is None else min(first, int(part.start_ns.min()))
        exporters |= dict.fromkeys(part.exporters[code] for code in np.unique(part.exporter).tolist() if part.exporters)
        pairs = part.src.astype(np.int64) << 32 | part.dst
        known, which = np.unique(pairs, return_inverse=True)
        sums = np.bincount(which, part.octets).astype(np.int64)
        for pair, n in zip(known.tolist(), sums.tolist(), strict=True):
            talkers[part.endpoints[pair >> 32], part.endpoints[pair & 0xFFFFFFFF]] += n
        if count >= rows:
            whole = False
            break
    names = tuple(name for name in exporters if name)
    return Records(count, octets, first or 0, last, talkers, names, dict(source.skipped), whole is not False)


def hints(dissected: Dissected, decoded: Decoded) -> list[str]:
    """List hints for the user, most important first."""
    protocols = dissected.protocols
    there = [text for names, text in HINTS if any(name in protocols for name in names)]
    found = (
        ["Prism cannot read this format; convert it: editcap -F pcap FILE FILE.pcap"]
        if decoded.refused and dissected.packets
        else []
    )
    if not dissected.packets and not decoded.used:
        return ["the capture contains no packets"]
    if set(protocols) <= LINK_ONLY:
        found.append(f"only {', '.join(sorted(set(protocols) - {'eth', 'sll', 'vlan'}))}: this port sees no host traffic")
    if "infiniband" in protocols and not decoded.rdma:
        found.append("RDMA that Prism does not decode: it reads RoCE, InfiniBand (link types 247 and 197) and Ultra Ethernet")
    if dissected.snapped:
        share = dissected.snapped / max(1, dissected.packets)
        found.append(
            f"{share:.0%} of the packets are cut off by the snap length; keep the headers (54 octets for TCP, 96 for RoCEv2)"
        )
    if decoded.gaps > GAPPED:
        found.append(
            f"{decoded.gaps:.0%} of the packets follow a gap in their flow: the capture is sampled, filtered, or lost packets"
        )
    if decoded.sides > 1 and decoded.both < decoded.sides / 10:
        found.append("most connections are seen in one direction only: mirror both directions")
    if decoded.used and not decoded.payload:
        found.append("no packet carries payload")
    return found + there


GAPPED = 0.1
LINK_ONLY = {"eth", "sll", "vlan", "arp", "lldp", "stp", "cdp", "llc", "lacp", "slow", "loop", "rarp", "ieee8021ad"}
HINTS = (
    (("erspan",), "ERSPAN: Prism decodes the mirrored packets inside, types I, II and III"),
    (("vxlan", "geneve", "gtp", "mpls", "l2tp", "nsh"), "tunnels or labels: Prism decodes the packets inside"),
    (("sflow",), "sFlow datagrams: replay and convert read them if most packets of the capture are exports"),
    (("cflow",), "NetFlow or IPFIX datagrams: replay and convert read them if most packets of the capture are exports"),
    (("esp",), "IPsec: encrypted, so Prism cannot read it"),
    (("wlan", "radiotap"), "wireless frames: this is not the network of a cluster"),
)
