"""Numbers taken from exported records to columns of flow records.

Octets are what the element says: in exports mostly those of whole IP packets with their headers, retransmissions included,
unlike those of records that we made from packets ourselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.elements import Meaning
from collectors.endpoints import MAPPED, Endpoints
from collectors.record import Codes, Ints, Mask
from collectors.templates import PLAIN, Layout

Column = NDArray[Any]
Raw = NDArray[np.uint64]

_1900 = 2_208_988_800  # seconds from NTP's epoch to ours, RFC 7011 section 6.1.10
_UNITS = {"us": 1_000, "ns": 1}
_COUNTS = ("octets", "packets", "messages", "retransmits", "ecn", "cnp", "busy_ns")
REVERSED = {"octets": "reverse_octets", "packets": "reverse_packets", "tcp_flags": "reverse_tcp_flags"}
_SWAPPED = {"src": "dst", "dst": "src", "src_port": "dst_port", "dst_port": "src_port"}


@dataclass(frozen=True, eq=False)
class Members:
    """Which set each record is of: `rows` are sets, and `count` says how many records each has."""

    rows: Ints
    count: Ints

    @cached_property
    def of(self) -> Ints:
        """The set of each record."""
        return np.repeat(self.rows, self.count)

    def spread(self, values: Column) -> Column:
        """What sets have, for each of their records; one value for all (of no strides) where it is the same everywhere."""
        mine = values[self.rows]
        if len(mine) and (mine == mine[0]).all():
            return np.broadcast_to(mine[:1], int(self.count.sum()))
        return np.repeat(mine, self.count)


@dataclass(frozen=True, eq=False)
class Context:
    """What the messages around records said: of each message (set) its time, when it was received, the exporter's uptime and
    boot time (-1: not said).
    """

    members: Members
    export_ns: Ints
    received_ns: Ints
    uptime_ms: Ints
    boot_ns: Ints

    @cached_property
    def sent(self) -> Ints:
        """When the message of each record was sent, as far as is known, [n]."""
        return np.where(self.export_ns > 0, self.export_ns, self.received_ns)[self.members.of]


class Numbers:
    """The numbers of the records of one layout, by column; `values` are those of its slots, [n] each."""

    def __init__(self, layout: Layout, values: Sequence[Column], n: int) -> None:
        self.values, self.meanings, self.n = values, layout.meanings, n
        self.rows: dict[tuple[str, str], list[int]] = {}
        for row, meaning in enumerate(layout.meanings):
            part = meaning.unit if meaning.column in ("src", "dst") else ""
            self.rows.setdefault((meaning.column, part), []).append(row)

    def get(self, column: str) -> tuple[Column, Meaning] | None:
        """The numbers of a column and what they mean; None where the records have none."""
        rows = self.rows.get((column, ""))
        return None if rows is None else (self.values[rows[0]], self.meanings[rows[0]])

    def count(self, column: str) -> Column | None:
        """The numbers of a column; None where the records have none."""
        found = self.get(column)
        return None if found is None else found[0]

    def codes(self, column: str, endpoints: Endpoints) -> Codes | None:
        """Addresses: IPv6 where there is one, else IPv4. None where the records have none."""
        six, four = self.rows.get((column, "ipv6")), self.rows.get((column, "ipv4"))
        if six is None:
            return None if four is None else endpoints.short_codes(self.values[four[0]])
        high, low = self.values[six[0]], self.values[six[1]]
        if four is not None:  # a template for both families: the one that is not used is zero
            low = np.where((high | low) == 0, self.values[four[0]] | np.uint64(MAPPED), low)
        return endpoints.codes(high, low)


def flow_columns(numbers: Numbers, context: Context, endpoints: Endpoints) -> dict[str, Column]:
    """The columns of flow records that the numbers give: times always; src and dst, if any, as codes into endpoints."""
    columns: dict[str, Column] = dict(zip(("start_ns", "end_ns"), times(numbers, context), strict=True))
    for column in ("src", "dst"):
        codes = numbers.codes(column, endpoints)
        if codes is not None:
            columns[column] = codes
    for column in (*PLAIN, *_COUNTS):
        count = numbers.count(column)
        if count is not None:
            columns[column] = count
    if "octets" not in columns and (count := numbers.count("ip_octets")) is not None:
        columns["octets"] = count
    return columns


def times(numbers: Numbers, context: Context, prefix: str = "") -> tuple[Ints, Ints]:
    """Start and end, ns since the epoch: what is not said is when the message was sent, else when it was received."""
    first, last = (_time(numbers, prefix + name, context) for name in ("start", "end"))
    lasted = numbers.count("duration")
    if last is None:
        last = context.sent if first is None or lasted is None else first + lasted
    if first is None:
        first = last if lasted is None else last - lasted
    begin = numbers.get(prefix + "start")
    if begin is None or begin[1].unit not in ("s", "ms"):  # those cannot be before the epoch
        first = np.maximum(first, 0)
    return first, np.maximum(first, last)


def _time(numbers: Numbers, column: str, context: Context) -> Ints | None:
    found = numbers.get(column)
    if found is None:
        return None
    value, unit = found[0], found[1].unit
    if unit in ("s", "ms"):
        return value
    if unit == "delta_us":
        return context.sent - value
    if unit in ("us", "ns"):
        return _ntp(value, _UNITS[unit])
    return _since_boot(numbers, value, context)


def _scaled(value: Raw, unit: int) -> Ints:
    return np.minimum(value, np.uint64(((1 << 62) - 1) // unit)).astype(np.int64) * unit


def _ntp(value: Raw, unit: int) -> Ints:
    """NTP's 32 bits of seconds and 32 of their fraction; some exporters count µs or ns since our epoch, which is less."""
    seconds = (value >> np.uint64(32)).astype(np.int64) - _1900
    fraction = ((value & np.uint64(0xFFFFFFFF)) * np.uint64(1_000_000_000) >> np.uint64(32)).astype(np.int64)
    return np.where(seconds >= 0, seconds * 1_000_000_000 + fraction, _scaled(value, unit))


def _since_boot(numbers: Numbers, value: Raw, context: Context) -> Ints:
    """Milliseconds since the exporter booted.

    Next to its uptime they may have wrapped, after 49 days: hence the difference. Where the boot time is not known, the
    last packet counts as seen when the message was sent, so that the duration at least is right.
    """
    boot, end = numbers.get("boot"), numbers.get("end")
    boot_ns = context.boot_ns[context.members.of] if boot is None else boot[0]
    last = end[0] if end is not None and end[1].unit == "uptime" else value
    uptime_ms = context.uptime_ms[context.members.of]
    now = np.where(uptime_ms >= 0, uptime_ms, last.astype(np.int64))
    ago = (now - value.astype(np.int64)).astype(np.int32).astype(np.int64) * 1_000_000
    return np.where((uptime_ms < 0) & (boot_ns >= 0), boot_ns + _scaled(value, 1_000_000), context.sent - ago)


def reverse_columns(numbers: Numbers, columns: dict[str, Column], context: Context) -> tuple[dict[str, Column], Mask] | None:
    """The other direction of biflows (RFC 5103), and which records have any traffic in it; None where none can have."""
    found = {column: numbers.get(name) for column, name in REVERSED.items()}
    if found["octets"] is None and found["packets"] is None:
        return None
    back = {_SWAPPED.get(name, name): column for name, column in columns.items()}
    for column, known in found.items():
        back[column] = np.zeros(numbers.n, np.int64) if known is None else known[0]
    for name in ("dst_qp", "messages", "retransmits", "ecn", "cnp", "busy_ns"):
        back.pop(name, None)  # they are not the other direction's
    if numbers.get("reverse_start"):
        back["start_ns"], back["end_ns"] = times(numbers, context, "reverse_")
    return back, (back["octets"] > 0) | (back["packets"] > 0)


def rates(numbers: Numbers, told: Ints) -> Ints:
    """One packet in so many: what the record itself says, else what was told."""
    size, population = numbers.count("sampling_size"), numbers.count("sampling_population")
    space, interval = numbers.count("sampling_space"), numbers.count("sampling_interval")
    probability, plain = numbers.get("sampling_probability"), numbers.count("sampling_rate")
    if plain is None and interval is None and size is None and probability is None:
        return told
    rate = np.zeros(numbers.n, np.int64)
    if plain is not None:
        rate = plain
    elif interval is not None:  # RFC 5477 section 8.2: so many sampled, so many not; or the interval alone is one in so many
        rate = interval if space is None else np.where(space > 0, 1 + space // np.maximum(interval, 1), interval)
    elif size is not None and population is not None:
        rate = population // np.maximum(size, 1)
    elif probability is not None:
        chance = _reals(probability[0])
        rate = np.rint(1 / np.where(chance > 1e-9, np.minimum(chance, 1), np.inf)).astype(np.int64)
    return np.where(rate > 0, np.minimum(rate, 1 << 32), told)


def _reals(raw: Raw) -> NDArray[np.float64]:
    """IEEE 754 numbers of 4 octets, or of 8 where they need that many; 0 where it is no number."""
    wide = raw.view(np.float64)
    narrow = raw.astype(np.uint32).view(np.float32).astype(np.float64)
    value = np.where(raw >> np.uint64(32) > 0, wide, narrow)
    return np.where(np.isfinite(value), value, 0.0)
