"""Evidence from exporters besides flows: interface counters, delays, queue depths, drops, notices.

Each kind is arrays of one entry per row; `COLUMNS` declares each column once. Switches and addresses are codes into
dictionaries of names beside the arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from collectors.columns.record import Codes, Column, Ints

UNKNOWN = -1

_SEEN = (
    Column("time_ns", np.int64, "DateTime64(9)", "arrival, or time by the switch's clock, ns since the epoch"),
    Column("exporter", np.int32, "LowCardinality(String)", "the switch, a code into names"),
)
_PORTS = (
    Column("in_interface", np.int64, "Int64", "ifIndex it came in by; -1 where unknown", UNKNOWN),
    Column("out_interface", np.int64, "Int64", "ifIndex it was to go out by; -1 where unknown", UNKNOWN),
    Column("queue", np.int64, "Int64", "egress queue; -1 where unknown", UNKNOWN),
)
_PACKET = (
    Column("src", np.int32, "IPv6", "sender, a code into endpoints; -1 where the packet is not known", UNKNOWN),
    Column("dst", np.int32, "IPv6", "receiver, a code into endpoints; -1 where the packet is not known", UNKNOWN),
    Column("dst_qp", np.uint32, "UInt32", "RDMA destination queue pair; 0 if there is none"),
)
_COUNTED = (
    Column("octets", np.int64, "UInt64", "octets"),
    Column("packets", np.int64, "UInt64", "unicast, multicast and broadcast packets"),
    Column("discards", np.int64, "UInt64", "packets discarded"),
    Column("errors", np.int64, "UInt64", "packets with errors"),
)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one kind of evidence."""

    COLUMNS: ClassVar[tuple[Column, ...]] = ()

    @classmethod
    def build(cls, columns: Mapping[str, ArrayLike], **names: Sequence[str]) -> Self:
        """Build rows from known columns; the others take their default. Raises ValueError on unequal lengths."""
        n = len(np.asarray(columns["time_ns"]))
        arrays: dict[str, Any] = {}
        for c in cls.COLUMNS:
            given = columns.get(c.name)
            arrays[c.name] = np.full(n, c.default, c.dtype) if given is None else np.asarray(given, c.dtype)
            if arrays[c.name].shape != (n,):
                raise ValueError(f"column {c.name} has shape {arrays[c.name].shape}, time_ns has {n} rows")
        return cls(**arrays, **names)

    def __len__(self) -> int:
        return len(getattr(self, self.COLUMNS[0].name))


@dataclass(frozen=True, eq=False)
class Counters(Rows):
    """Counters of an interface (RFC 2863; sFlow's if_counters): they only grow, until they wrap or restart.

    -1: the switch does not count it.
    """

    COLUMNS = (
        *_SEEN,
        Column("interface", np.int64, "Int64", "ifIndex"),
        Column("speed", np.int64, "UInt64", "bits per second"),
        Column("up", np.int64, "Int8", "1 if admitted and operating, else 0"),
        *(c._replace(name=f"{way}_{c.name}", default=UNKNOWN) for way in ("in", "out") for c in _COUNTED),
        Column(
            "neighbour",
            np.int32,
            "IPv6",
            "source of the incoming packets, a code into endpoints; -1: several, or unknown",
            UNKNOWN,
        ),
    )
    time_ns: Ints
    exporter: Codes
    interface: Ints
    speed: Ints
    up: Ints
    in_octets: Ints
    in_packets: Ints
    in_discards: Ints
    in_errors: Ints
    out_octets: Ints
    out_packets: Ints
    out_discards: Ints
    out_errors: Ints
    neighbour: Codes
    exporters: tuple[str, ...] = ()
    endpoints: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Delays(Rows):
    """Delays of sampled packets through a switch, and the queue before them (sflow_transit.txt)."""

    COLUMNS = (
        *_SEEN,
        *_PORTS,
        *_PACKET,
        Column("delay_ns", np.int64, "Int64", "from in to out; -1 where unknown", UNKNOWN),
        Column("depth", np.int64, "Int64", "octets in the queue when the packet came; -1 where unknown", UNKNOWN),
    )
    time_ns: Ints
    exporter: Codes
    in_interface: Ints
    out_interface: Ints
    queue: Ints
    src: Codes
    dst: Codes
    dst_qp: NDArray[np.uint32]
    delay_ns: Ints
    depth: Ints
    exporters: tuple[str, ...] = ()
    endpoints: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Drops(Rows):
    """Packets that a switch dropped, with the reason (sflow_drops.txt): one of `REASONS`, or another number."""

    COLUMNS = (
        *_SEEN,
        *_PORTS,
        *_PACKET,
        Column("reason", np.int64, "UInt32", "why, a key of REASONS"),
        Column("suppressed", np.int64, "UInt64", "notifications that the switch had to leave out since it started"),
        Column("octets", np.int64, "UInt64", "of the frame"),
    )
    time_ns: Ints
    exporter: Codes
    in_interface: Ints
    out_interface: Ints
    queue: Ints
    src: Codes
    dst: Codes
    dst_qp: NDArray[np.uint32]
    reason: Ints
    suppressed: Ints
    octets: Ints
    exporters: tuple[str, ...] = ()
    endpoints: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Notices(Rows):
    """Notices from an exporter's options: one number each, such as ignored packets or flows that could not be sent."""

    COLUMNS = (
        *_SEEN,
        Column("domain", np.int64, "UInt32", "observation domain"),
        Column("element", np.int32, "LowCardinality(String)", "subject of the notice, a code into elements"),
        Column("value", np.int64, "UInt64", "the number"),
    )
    time_ns: Ints
    exporter: Codes
    domain: Ints
    element: Codes
    value: Ints
    exporters: tuple[str, ...] = ()
    elements: tuple[str, ...] = ()


# sflow_drops.txt: codes of ICMP unreachable (RFC 1812 section 5.2.7.1), then those of devlink traps; the first that matter
# to a fabric. The full list is that document's enum drop_reason.
REASONS: Mapping[int, str] = {
    0: "net unreachable",
    1: "host unreachable",
    2: "protocol unreachable",
    3: "port unreachable",
    4: "fragmentation needed",
    5: "source route failed",
    6: "destination network unknown",
    7: "destination host unknown",
    8: "source host isolated",
    9: "communication with destination network prohibited",
    10: "communication with destination host prohibited",
    11: "destination network unreachable for type of service",
    12: "destination host unreachable for type of service",
    13: "communication administratively prohibited",
    14: "host precedence violation",
    15: "precedence cutoff in effect",
    256: "unknown",
    257: "time to live exceeded",
    258: "access list",
    259: "no buffer space",
    260: "random early discard",
    261: "traffic shaping",
    262: "packet too big",
    275: "IP header corrupted",
    287: "no buffer space, of whatever kind",
}


@dataclass
class Evidence:
    """Evidence of all kinds, in parts, as it arrived."""

    counters: list[Counters] = field(default_factory=list)
    delays: list[Delays] = field(default_factory=list)
    drops: list[Drops] = field(default_factory=list)
    notices: list[Notices] = field(default_factory=list)

    def add(self, rows: Rows, max_rows: int) -> int:
        """Add rows, unless the total would exceed `max_rows`; return the number of refused rows."""
        if len(self) + len(rows) > max_rows:
            return len(rows)
        kinds: dict[type, list[Any]] = {
            Counters: self.counters,
            Delays: self.delays,
            Drops: self.drops,
            Notices: self.notices,
        }
        if len(rows):
            kinds[type(rows)].append(rows)
        return 0

    def __iter__(self) -> Iterator[Rows]:
        yield from (*self.counters, *self.delays, *self.drops, *self.notices)

    def __len__(self) -> int:
        return sum(map(len, (*self.counters, *self.delays, *self.drops, *self.notices)))
