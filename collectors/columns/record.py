"""Declare the columns of packets, flow records and hop delays, each once.

Many items are a frozen dataclass of NumPy arrays, one per column. Addresses, switches and paths are int codes into a dictionary
beside the arrays, so that codes are graph nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from collectors.addresses.address_list import select_addresses
from collectors.columns.losses import Losses

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]

TCP, UDP = 6, 17
ROCE_PORT = 4791
UET_PORT = 4793  # Ultra Ethernet, IANA
SMALL = 256
FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10


class Column(NamedTuple):
    """One column of a flow record: name, array type, ClickHouse type, meaning."""

    name: str
    dtype: DTypeLike
    clickhouse: str
    meaning: str
    default: int = 0


COLUMNS = (
    Column("start_ns", np.int64, "DateTime64(9)", "first packet, ns since the epoch"),
    Column("end_ns", np.int64, "DateTime64(9)", "last packet, ns since the epoch"),
    Column("src", np.int32, "IPv6", "sender, a code into endpoints"),
    Column("dst", np.int32, "IPv6", "receiver, a code into endpoints"),
    Column("src_port", np.uint16, "UInt16", "TCP or UDP port; 0 for RDMA, whose port only selects a path"),
    Column("dst_port", np.uint16, "UInt16", "TCP or UDP port"),
    Column("protocol", np.uint8, "UInt8", "IP protocol"),
    Column("dst_qp", np.uint32, "UInt32", "RDMA destination: queue pair, or endpoint (Ultra Ethernet); 0: none"),
    Column("octets", np.int64, "UInt64", "payload on the wire, retransmissions not counted"),
    Column("packets", np.int64, "UInt64", "packets with payload, retransmissions not counted"),
    Column("messages", np.int64, "UInt32", "RDMA messages; segments of a control record; 0 where unknown"),
    Column("retransmits", np.int64, "UInt32", "packets whose payload had been sent before"),
    Column("ecn", np.int64, "UInt32", "packets marked congestion experienced, or trimmed by a switch"),
    Column("cnp", np.int64, "UInt32", "congestion notifications"),
    Column("tcp_flags", np.uint8, "UInt8", "union of the TCP flags seen (IPFIX tcpControlBits)"),
    Column("busy_ns", np.int64, "UInt64", "time between start and end in which packets came back to back; 0 where unknown"),
    Column("sampling_rate", np.int64, "UInt32", "sampling rate (one packet in so many); 0 if it is unknown", 1),
    Column("exporter", np.int32, "LowCardinality(String)", "switch nearest to the sender that saw it, a code into exporters"),
    Column("path", np.int32, "LowCardinality(String)", "switches in order, a code into paths"),
    Column("job_id", np.uint32, "UInt32", "job id in the header (Ultra Ethernet, 24 bits); 0 if there is none"),
)


@dataclass(frozen=True, eq=False)
class Flows:
    """Flow records: one per RDMA message, one per TCP burst, one per run of control messages, or as exported.

    Rows are in order of `start_ns` unless a function documents otherwise.

    Attributes
    ----------
    start_ns, end_ns, src, dst, … : arrays
        One entry per record in each array; `COLUMNS` has their meaning.
    endpoints, exporters, paths : sequence
        The dictionaries of the codes in `src` and `dst`, `exporter`, `path`; path 0 is the empty path. `endpoints` is a tuple
        of texts, or an `AddressList`, which makes the texts on demand.
    """

    start_ns: Ints
    end_ns: Ints
    src: Codes
    dst: Codes
    src_port: NDArray[np.uint16]
    dst_port: NDArray[np.uint16]
    protocol: NDArray[np.uint8]
    dst_qp: NDArray[np.uint32]
    octets: Ints
    packets: Ints
    messages: Ints
    retransmits: Ints
    ecn: Ints
    cnp: Ints
    tcp_flags: NDArray[np.uint8]
    busy_ns: Ints
    sampling_rate: Ints
    exporter: Codes
    path: Codes
    job_id: NDArray[np.uint32]
    endpoints: Sequence[str] = ()
    exporters: tuple[str, ...] = ()
    paths: tuple[tuple[str, ...], ...] = ((),)

    def __len__(self) -> int:
        return len(self.start_ns)

    @classmethod
    def build(
        cls,
        columns: Mapping[str, ArrayLike],
        *,
        endpoints: Sequence[str],
        exporters: tuple[str, ...] = (),
        paths: tuple[tuple[str, ...], ...] = ((),),
    ) -> Self:
        """Build flows from known columns; the others take their default. Raises ValueError on unequal lengths."""
        n = len(np.asarray(columns["start_ns"]))
        arrays: dict[str, Any] = {}
        for c in COLUMNS:
            given = columns.get(c.name)
            arrays[c.name] = np.broadcast_to(np.array(c.default, c.dtype), n) if given is None else np.asarray(given, c.dtype)
            if arrays[c.name].shape != (n,):
                raise ValueError(f"column {c.name} has shape {arrays[c.name].shape}, start_ns has {n} rows")
        return cls(**arrays, endpoints=endpoints, exporters=exporters, paths=paths)

    def take(self, rows: NDArray[np.intp] | Mask | slice) -> Flows:
        """Select rows in the given order, with the same dictionaries."""
        columns: dict[str, Any] = {c.name: _taken(getattr(self, c.name), rows) for c in COLUMNS}
        return replace(self, **columns)

    @cached_property
    def sent_ns(self) -> Ints:
        """Return the time at which the first octet of each record was sent, ns.

        A burst's first packet is stamped after its arrival.
        """
        alone = (self.end_ns == self.start_ns) & (self.busy_ns > 0)
        return np.where(alone, self.start_ns - self.busy_ns, self.start_ns) if alone.any() else self.start_ns

    def holds(self, name: str) -> bool:
        """Check whether any record has a nonzero value in a column."""
        column: NDArray[Any] = getattr(self, name)
        parts = range(0, 1 if column.strides == (0,) else len(column), 1 << 16)  # usually the first part has one
        return any(bool(column[low : low + (1 << 16)].any()) for low in parts)

    @property
    def talkers(self) -> int:
        """Count the endpoints that send or receive records."""
        return int(np.count_nonzero(_named(len(self.endpoints), self.src, self.dst)))

    @cached_property
    def window(self) -> tuple[int, int]:
        """Return the first start and the last end, ns; (0, 1) without records."""
        return (int(self.start_ns.min()), int(self.end_ns.max())) if len(self) else (0, 1)

    def among(self, addresses: Collection[str]) -> Mask:
        """Mark the endpoints (not the records) that are among some addresses."""
        asked = frozenset(addresses)
        return np.fromiter((address in asked for address in self.endpoints), np.bool_, len(self.endpoints))

    def narrowed(self) -> Flows:
        """Drop endpoints and paths that no record uses, keeping their order."""
        used, ways = _named(len(self.endpoints), self.src, self.dst), _named(max(len(self.paths), 1), self.path)
        ways[0] = True
        if used.all() and ways.all():
            return self
        code, way = (np.cumsum(mask, dtype=np.int32) - np.int32(1) for mask in (used, ways))
        return replace(
            self,
            src=self.src if used.all() else code.take(self.src),
            dst=self.dst if used.all() else code.take(self.dst),
            path=self.path if ways.all() else way.take(self.path),
            endpoints=select_addresses(self.endpoints, used),
            paths=tuple(compress(self.paths, ways)),
        )

    def control(self) -> Mask:
        """Mark the records with only control messages (readiness, credits, barriers): at most `SMALL` octets per message.

        Without message counts, as in most exports, octets per packet count. A data segment fills the path's MTU, at least 536
        octets (RFC 9293 section 3.7.1), except the last one. Without either, a record is one message.
        """
        return self._control

    @cached_property
    def _control(self) -> Mask:
        parts = np.maximum(np.where(self.messages > 0, self.messages, self.packets), 1)
        return np.asarray((self.octets <= SMALL * parts) | (self.octets == 0), dtype=np.bool_)


def _taken(column: NDArray[Any], rows: NDArray[np.intp] | Mask | slice) -> NDArray[Any]:
    """Select rows of a column; a view if the column is a broadcast single value."""
    if not isinstance(rows, np.ndarray) or rows.dtype == np.bool_:
        return column[rows]
    if column.strides != (0,):
        return column.take(rows)  # faster than column[rows]
    return np.broadcast_to(column[:1] if len(rows) else column[:0], len(rows))


def _named(n: int, *columns: Codes) -> Mask:
    """Mark the codes below `n` that occur in some columns."""
    out = np.zeros(n, np.bool_)
    length = 1 if all(column.strides == (0,) for column in columns) else len(columns[0])
    for low in range(0, length, 1 << 12):  # the first rows usually contain all codes
        for column in columns:
            out[column[low : low + (1 << 12)]] = True
        if out.all():
            break
    return out


def concatenated(parts: Sequence[Flows]) -> Flows:
    """Concatenate flows in order of start, with one dictionary each of endpoints, exporters and paths."""
    parts = [part for part in parts if len(part)] or list(parts[:1])
    if len(parts) == 1:
        return parts[0]
    columns: dict[str, list[Any]] = {c.name: [getattr(part, c.name) for part in parts] for c in COLUMNS}
    endpoints: dict[str, int] = {}
    exporters: dict[str, int] = {}
    paths: dict[tuple[str, ...], int] = {(): 0}
    for i, part in enumerate(parts):
        for names, known, used in (
            (part.endpoints, endpoints, ("src", "dst")),
            (part.exporters, exporters, ("exporter",)),
            (part.paths, paths, ("path",)),
        ):
            place: dict[Any, int] = known
            codes = np.array([place.setdefault(name, len(place)) for name in names] or [0], np.int32)
            for column in used:
                columns[column][i] = codes[columns[column][i]]
    whole = {name: np.concatenate(arrays) for name, arrays in columns.items()}
    order = np.argsort(whole["start_ns"], kind="stable")
    return Flows.build(
        {name: array[order] for name, array in whole.items()},
        endpoints=tuple(endpoints),
        exporters=tuple(exporters),
        paths=tuple(paths),
    )


@dataclass(frozen=True, eq=False)
class Transits:
    """Delays from one switch to the next by link direction and time bin, and losses.

    Only packets that both switches saw count; a hop from a switch to itself has delays reported by the switch. Rows without
    packets describe the queue alone. Clocks may disagree: only changes of a link's delay are meaningful. `losses` has its own
    rows.
    """

    start_ns: Ints
    sender: Codes  # code into exporters
    receiver: Codes
    packets: Ints
    delay_ns: Ints  # mean
    max_delay_ns: Ints
    exporters: tuple[str, ...] = ()
    bin_ns: int = 0
    depth: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # maximum octets in the queue; -1 (default): unknown
    losses: Losses = field(default_factory=Losses.empty)

    def __post_init__(self) -> None:
        """Fill unknown depths."""
        if not len(self.depth):
            object.__setattr__(self, "depth", np.full(len(self.start_ns), -1, np.int64))

    def __len__(self) -> int:
        return len(self.start_ns)

    @classmethod
    def empty(cls, exporters: tuple[str, ...] = ()) -> Self:
        """Return no delays."""
        none, codes = np.zeros(0, np.int64), np.zeros(0, np.int32)
        return cls(none, codes, codes, none, none, none, exporters)


@dataclass(frozen=True, eq=False)
class Packets:
    """Decoded packets of one switch, in order of capture; one entry per IP packet that is no fragment."""

    time_ns: Ints
    src: Codes  # code into the decoder's address book
    dst: Codes
    src_port: NDArray[np.uint16]  # 0 if the protocol has none
    dst_port: NDArray[np.uint16]
    protocol: NDArray[np.uint8]
    octets: Ints  # payload on the wire: after the TCP, UDP or BTH (and RETH, AETH, immediate, pad, ICRC) headers
    ip_id: NDArray[np.uint32]  # IPv4 identification; IPv6 flow label
    ecn: Mask  # congestion experienced
    sequence: NDArray[np.uint32]  # TCP sequence number, PSN
    acknowledgment: NDArray[np.uint32]  # TCP acknowledgment number; for Ultra Ethernet ids of message and PDC, 16 bits each
    tcp_flags: NDArray[np.uint8]
    opcode: NDArray[np.int16]  # BTH opcode, or `packet_kinds.UET` and its type; -1 for other packets
    dst_qp: NDArray[np.uint32]
    dma_length: Ints  # RETH, or octets of the message (Ultra Ethernet); -1 if absent
    syndrome: NDArray[np.int16]  # AETH: type of acknowledgment; -1 if absent
    job_id: NDArray[np.uint32]  # Ultra Ethernet; 0 if absent

    def __len__(self) -> int:
        return len(self.time_ns)

    def take(self, rows: NDArray[np.intp] | Mask) -> Packets:
        """Select rows in the given order."""
        return replace(self, **{f.name: getattr(self, f.name)[rows] for f in fields(self)})
