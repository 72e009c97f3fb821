"""A batch of frames to rows at once: the same answers as `packet.unpack`, vectorised.

The common shapes (tags, IPv4, IPv6 without extension headers, TCP, UDP, RoCEv2) are decoded in arrays, the few others one by
one by `packet.unpack`. Headers are gathered as records of fixed size; such a record may reach past the end of its frame, so
every step asks whether the frame was captured that far.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors import headers, packet
from collectors.addresses import AddressBook
from collectors.batch import PAD, Batch, gather
from collectors.record import ROCE_PORT, TCP, UDP, Ints, Mask, Packets

Rows = NDArray[np.intp] | slice  # rows of the batch; a slice where it is all of them, which costs nothing

_SHORT, _LONG, _TAG = np.dtype(">u2"), np.dtype(">u4"), np.dtype([("control", ">u2"), ("ethertype", ">u2")])
_IPV4 = np.dtype(
    {
        "names": ("version_ihl", "tos", "length", "identification", "fragment", "protocol", "src", "dst"),
        "formats": ("u1", "u1", ">u2", ">u2", ">u2", "u1", ">u4", ">u4"),
        "offsets": (0, 1, 2, 4, 6, 9, 12, 16),
    }
)
_IPV6 = np.dtype(
    {
        "names": ("label", "length", "protocol", "src_high", "src_low", "dst_high", "dst_low"),
        "formats": (">u4", ">u2", "u1", ">u8", ">u8", ">u8", ">u8"),
        "offsets": (0, 4, 6, 8, 16, 24, 32),
    }
)
_TCP = np.dtype(
    [
        ("src_port", ">u2"),
        ("dst_port", ">u2"),
        ("sequence", ">u4"),
        ("acknowledgment", ">u4"),
        ("offset", "u1"),
        ("flags", "u1"),
    ]
)
_PORTS = np.dtype([("src_port", ">u2"), ("dst_port", ">u2")])
_BTH = np.dtype([("opcode", "u1"), ("flags", "u1"), ("partition", ">u2"), ("dst_qp", ">u4"), ("psn", ">u4")])
_GRE = np.dtype([("flags", ">u2"), ("protocol", ">u2")])
_RETH = np.dtype([("address", ">u8"), ("key", ">u4"), ("dma_length", ">u4")])
_EXTENDED_OCTETS, _RETH_AT = np.array(headers.EXTENDED_OCTETS), np.array(headers.RETH_AT)

_CARRIED = (TCP, UDP, headers.GRE)

# Verdicts on a row. From _NOT_IP on, the reasons of packet.REASONS.
_KEPT, _COUNTED, _ODD, _NOT_IP, _FRAGMENT, _TRUNCATED, _BAD, _NOT_TCP_OR_UDP, _NESTED = range(9)
_MOST_TAGS = 4  # a frame with more is odd

_MAPPED = np.uint64(0xFFFF << 32)


class _Columns:
    """The rows of a batch while they are decoded: where each stands, the verdict on it, and the columns of the answer."""

    def __init__(self, batch: Batch) -> None:
        n = len(batch)
        self.data = batch.data
        self.begin, self.end = batch.offset, batch.offset + batch.captured
        if int(self.end.max(initial=0)) + len(PAD) > len(self.data):
            self.data += PAD
        self.wire_end = batch.offset + np.maximum(batch.captured, batch.wire)
        self.verdict = np.zeros(n, np.uint8)
        self.version = np.zeros(n, np.uint8)
        self.at: Ints = np.zeros(n, np.int64)
        self.room: Ints = np.zeros(n, np.int64)
        self.src_high, self.src_low, self.dst_high, self.dst_low = (np.zeros(n, np.uint64) for _ in range(4))
        self.src_port, self.dst_port = np.zeros(n, np.uint16), np.zeros(n, np.uint16)
        self.protocol, self.tcp_flags, self.ecn = np.zeros(n, np.uint8), np.zeros(n, np.uint8), np.zeros(n, np.bool_)
        self.ip_id, self.sequence, self.acknowledgment, self.dst_qp = (np.zeros(n, np.uint32) for _ in range(4))
        self.octets: Ints = np.zeros(n, np.int64)
        self.opcode = np.full(n, -1, np.int16)
        self.dma_length: Ints = np.full(n, -1, np.int64)

    def gather(self, at: Ints, layout: np.dtype[Any]) -> NDArray[Any]:
        """The header of the given layout at each place, [n]."""
        return gather(self.data, at, layout)

    def where(self, mask: Mask) -> Rows:
        """The rows of a mask on which there is no verdict yet."""
        mask = mask & (self.verdict == _KEPT)
        return slice(None) if mask.all() else np.flatnonzero(mask)

    def judge(self, rows: Rows, *cases: tuple[Mask, int]) -> None:
        """Give each of the rows the verdict of the first case it is in."""
        verdict = self.verdict[rows]
        for mask, case in reversed(cases):
            verdict[mask] = case
        self.verdict[rows] = verdict


class Decoder:
    """Decodes batches into `Packets`; keeps the codes of addresses and the count of packets without a row, by reason."""

    def __init__(self, book: AddressBook | None = None) -> None:
        self.book = AddressBook() if book is None else book
        self.skipped: Counter[str] = Counter()

    @property
    def endpoints(self) -> list[str]:
        """The addresses as text; codes of packets point into it. It grows with every batch."""
        return self.book.endpoints

    def decode(self, batch: Batch) -> Packets:
        """The rows of the frames that have one, in order; the others are counted in `skipped`. Raises nothing."""
        columns = _Columns(batch)
        for link_type in np.unique(batch.link_type).tolist():
            rows = columns.where(batch.link_type == link_type)
            if not _unpack_link(columns, rows, link_type):
                self.skipped[f"link type {link_type}"] += int(np.sum(columns.verdict[rows] == _COUNTED))
        _unpack_network(columns)
        _unpack_tcp(columns, columns.where(columns.protocol == TCP))
        _unpack_udp(columns, columns.where(columns.protocol == UDP))
        _unpack_roce(columns, columns.where((columns.protocol == UDP) & (columns.dst_port == ROCE_PORT)))
        for row in np.flatnonzero(columns.verdict == _ODD).tolist():
            self._unpack_odd(columns, batch, row)
        for verdict, count in enumerate(np.bincount(columns.verdict).tolist()):
            if count and verdict >= _NOT_IP:
                self.skipped[packet.REASONS[verdict - _NOT_IP]] += count
        return self._rows(columns, batch.time_ns)

    def _unpack_odd(self, columns: _Columns, batch: Batch, row: int) -> None:
        begin, end = int(columns.begin[row]), int(columns.end[row])
        found = packet.unpack(bytes(columns.data[begin:end]), int(batch.wire[row]), int(batch.link_type[row]))
        columns.verdict[row] = _COUNTED if isinstance(found, str) else _KEPT
        if isinstance(found, str):
            self.skipped[found] += 1
            return
        for name, value in found._asdict().items():
            if name in ("src", "dst"):
                getattr(columns, name + "_high")[row] = int.from_bytes(value[:8], "big")
                getattr(columns, name + "_low")[row] = int.from_bytes(value[8:], "big")
            else:
                getattr(columns, name)[row] = value

    def _rows(self, columns: _Columns, time_ns: Ints) -> Packets:
        c, kept = columns, columns.where(np.ones(len(time_ns), np.bool_))
        return Packets(
            time_ns=time_ns[kept],
            src=self.book.codes(c.src_high[kept], c.src_low[kept]),
            dst=self.book.codes(c.dst_high[kept], c.dst_low[kept]),
            src_port=c.src_port[kept],
            dst_port=c.dst_port[kept],
            protocol=c.protocol[kept],
            octets=c.octets[kept],
            ip_id=c.ip_id[kept],
            ecn=c.ecn[kept],
            sequence=c.sequence[kept],
            acknowledgment=c.acknowledgment[kept],
            tcp_flags=c.tcp_flags[kept],
            opcode=c.opcode[kept],
            dst_qp=c.dst_qp[kept],
            dma_length=c.dma_length[kept],
        )


def _unpack_link(c: _Columns, rows: Rows, link_type: int) -> bool:
    """Find IP version and header; whether the link type is known."""
    begin, end = c.begin[rows], c.end[rows]
    if link_type in packet.ETHERTYPE_AT:
        type_at, header = packet.ETHERTYPE_AT[link_type]
        _unpack_tagged(c, rows, begin + type_at, begin + header)
        return True
    if link_type in packet.RAW:
        at = begin
        version = c.gather(at, np.dtype("u1")) >> 4
        if packet.RAW[link_type]:
            version[:] = packet.RAW[link_type]
        short = begin == end
    elif link_type in packet.LOOPBACK:
        at, family, version = begin + 4, c.gather(begin, _LONG), np.zeros(len(begin), np.uint8)
        for number, ip in packet.FAMILIES.items():
            version[(family == number) | (family == number << 24)] = ip
        short = at > end
    else:
        c.judge(rows, (np.ones(len(begin), np.bool_), _COUNTED))
        return False
    c.at[rows], c.version[rows] = at, version
    c.judge(rows, (short, _TRUNCATED), ((version != 4) & (version != 6), _NOT_IP))
    return True


def _unpack_tagged(c: _Columns, rows: Rows, type_at: Ints, at: Ints) -> None:
    """An ethertype and any tags after it; `at`: where the link header ends."""
    end = c.end[rows]
    ethertype = c.gather(type_at, _SHORT).astype(np.int64)
    short = at > end
    for _ in range(_MOST_TAGS):
        tagged = np.flatnonzero(_is_tag(ethertype) & ~short)
        if not len(tagged):
            break
        ethertype[tagged] = c.gather(at[tagged], _TAG)["ethertype"]
        at[tagged] += 4
        short = at > end
    version = np.zeros(len(at), np.uint8)
    version[ethertype == headers.IPV4], version[ethertype == headers.IPV6] = 4, 6
    c.at[rows], c.version[rows] = at, version
    c.judge(rows, (short, _TRUNCATED), (_is_tag(ethertype), _ODD), (version == 0, _NOT_IP))


def _is_tag(ethertype: Ints) -> Mask:
    first, second, third = headers.TAGS
    return np.asarray((ethertype == first) | (ethertype == second) | (ethertype == third), np.bool_)


def _unpack_network(c: _Columns) -> None:
    """IP headers, and those inside tunnels."""
    outer = np.ones(len(c.at), np.bool_)
    for depth in range(packet.MOST_TUNNELS + 1):
        _unpack_ipv4(c, c.where(outer & (c.version == 4)))
        _unpack_ipv6(c, c.where(outer & (c.version == 6)))
        outer = (c.protocol == headers.GRE) & (c.verdict == _KEPT)
        if not outer.any():
            return
        rows = np.flatnonzero(outer)
        if depth < packet.MOST_TUNNELS:
            _unpack_gre(c, rows)
        c.protocol[rows] = 0
    c.judge(rows, (np.ones(len(rows), np.bool_), _NESTED))


def _unpack_gre(c: _Columns, rows: NDArray[np.intp]) -> None:
    """Find the IP header inside GRE: of the packet it carries, or of the frame, plain or mirrored."""
    at, end, until = c.at[rows], c.end[rows], c.at[rows] + c.room[rows]
    gre = c.gather(at, _GRE)
    flags, kind = gre["flags"].astype(np.int64), gre["protocol"].astype(np.int64)
    inside = at + 4 + 4 * np.bitwise_count(flags & headers.GRE_OPTIONS)
    third = kind == headers.ERSPAN_III
    long = third & (c.gather(inside + 11, np.dtype("u1")) & 1 > 0)
    short = third & (inside + 12 > end)
    second = (kind == headers.ERSPAN) & (flags & headers.GRE_SEQUENCE > 0)
    inside += np.where(third, np.where(long, 20, 12), np.where(second, 8, 0))
    packets = (kind == headers.IPV4) | (kind == headers.IPV6)
    frames = third | (kind == headers.ERSPAN) | (kind == headers.BRIDGED)
    c.judge(
        rows,
        (at + 4 > end, _TRUNCATED),
        (flags & headers.GRE_REFUSED > 0, _BAD),
        (~packets & ~frames, _NOT_TCP_OR_UDP),
        (short, _TRUNCATED),
        (inside > until, _BAD),
    )
    c.at[rows], c.version[rows] = inside, np.where(kind == headers.IPV4, 4, 6)
    whole = rows[frames & (c.verdict[rows] == _KEPT)]
    _unpack_tagged(c, whole, c.at[whole] + 12, c.at[whole] + 14)


def _unpack_ipv4(c: _Columns, rows: Rows) -> None:
    at, end = c.at[rows], c.end[rows]
    ip = c.gather(at, _IPV4)
    header = (ip["version_ihl"] & 0x0F).astype(np.int64) * 4
    length = ip["length"].astype(np.int64)
    length = np.where(length == 0, c.wire_end[rows] - at, length)
    wrong = (ip["version_ihl"] >> 4 != 4) | (header < 20) | (length < header)
    other = ~np.isin(ip["protocol"], _CARRIED)
    fragment = ip["fragment"] & 0x3FFF != 0
    c.judge(rows, (at + 20 > end, _TRUNCATED), (wrong, _BAD), (fragment, _FRAGMENT), (other, _NOT_TCP_OR_UDP))
    c.at[rows], c.room[rows] = at + header, length - header
    c.protocol[rows], c.ip_id[rows] = ip["protocol"], ip["identification"]
    c.ecn[rows] = ip["tos"] & 3 == headers.CONGESTION_EXPERIENCED
    c.src_low[rows], c.dst_low[rows] = ip["src"] | _MAPPED, ip["dst"] | _MAPPED
    c.src_high[rows] = c.dst_high[rows] = 0  # IPv6 may have carried it


def _unpack_ipv6(c: _Columns, rows: Rows) -> None:
    at, end = c.at[rows], c.end[rows]
    ip = c.gather(at, _IPV6)
    label, protocol = ip["label"].astype(np.uint32), ip["protocol"]
    wrong = label >> 28 != 6
    other = ~np.isin(protocol, _CARRIED)
    extended = np.isin(protocol, headers.EXTENSIONS)
    c.judge(rows, (at + 40 > end, _TRUNCATED), (wrong, _BAD), (extended, _ODD), (other, _NOT_TCP_OR_UDP))
    length = ip["length"].astype(np.int64)
    c.at[rows], c.room[rows] = at + 40, np.where(length == 0, c.wire_end[rows] - at - 40, length)
    c.protocol[rows], c.ip_id[rows] = protocol, label & 0xFFFFF
    c.ecn[rows] = label >> 20 & 3 == headers.CONGESTION_EXPERIENCED
    for name in ("src_high", "src_low", "dst_high", "dst_low"):
        getattr(c, name)[rows] = ip[name]


def _unpack_tcp(c: _Columns, rows: Rows) -> None:
    at, room = c.at[rows], c.room[rows]
    tcp = c.gather(at, _TCP)
    header = (tcp["offset"] >> 4).astype(np.int64) * 4
    c.judge(rows, (at + 14 > c.end[rows], _TRUNCATED), ((header < 20) | (header > room), _BAD))
    c.src_port[rows], c.dst_port[rows], c.octets[rows] = tcp["src_port"], tcp["dst_port"], room - header
    c.sequence[rows], c.acknowledgment[rows], c.tcp_flags[rows] = tcp["sequence"], tcp["acknowledgment"], tcp["flags"]


def _unpack_udp(c: _Columns, rows: Rows) -> None:
    at, room = c.at[rows], c.room[rows] - 8
    ports = c.gather(at, _PORTS)
    c.judge(rows, (at + 4 > c.end[rows], _TRUNCATED), (room < 0, _BAD))
    c.src_port[rows], c.dst_port[rows], c.octets[rows] = ports["src_port"], ports["dst_port"], room


def _unpack_roce(c: _Columns, rows: Rows) -> None:
    at, end, room = c.at[rows] + 8, c.end[rows], c.room[rows] - 8
    bth = c.gather(at, _BTH)
    opcode = bth["opcode"]
    c.judge(rows, (room < headers.BTH_OCTETS, _BAD), (at + headers.BTH_OCTETS > end, _TRUNCATED))
    rest = room - headers.BTH_OCTETS - _EXTENDED_OCTETS[opcode] - (bth["flags"] >> 4 & 3) - headers.ICRC_OCTETS
    c.octets[rows], c.opcode[rows] = np.maximum(rest, 0), opcode
    c.sequence[rows], c.dst_qp[rows] = bth["psn"] & 0xFFFFFF, bth["dst_qp"] & 0xFFFFFF
    reth_at = at + headers.BTH_OCTETS + _RETH_AT[opcode]
    announced = (_RETH_AT[opcode] >= 0) & (reth_at + headers.RETH_OCTETS <= end)
    c.dma_length[rows] = np.where(announced, c.gather(reth_at, _RETH)["dma_length"].astype(np.int64), -1)
