"""Convert numbers of exported records to columns of flow records.

Octets are as exported: usually those of whole IP packets with headers and retransmissions, unlike those of records made from
packets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.addresses.bounded_address_book import MAPPED, BoundedAddressBook
from collectors.columns.record import Codes, Ints
from collectors.exports.records import time_formats as clocks
from collectors.exports.records.elements import Meaning
from collectors.exports.records.templates import PLAIN, TAKE, Layout
from collectors.exports.records.time_formats import Clocks, Field, Formats

Column = NDArray[Any]
Raw = NDArray[np.uint64]

_UNITS = {"us": 1_000, "ns": 1}
_COUNTS = ("octets", "packets", "messages", "retransmits", "ecn", "cnp", "busy_ns")
REVERSED = {"octets": "reverse_octets", "packets": "reverse_packets", "tcp_flags": "reverse_tcp_flags"}
_SWAPPED = {"src": "dst", "dst": "src", "src_port": "dst_port", "dst_port": "src_port"}


@dataclass(frozen=True, eq=False)
class Members:
    """Set of each record: `rows` are sets, `count` is their number of records."""

    rows: Ints
    count: Ints

    @cached_property
    def of(self) -> Ints:
        """Return the set of each record."""
        return np.repeat(self.rows, self.count)

    def spread(self, values: Column) -> Column:
        """Repeat a set's value for each of its records; a broadcast value if it is the same everywhere."""
        mine = values[self.rows]
        if len(mine) and (mine == mine[0]).all():
            return np.broadcast_to(mine[:1], int(self.count.sum()))
        return np.repeat(mine, self.count)


@dataclass(frozen=True, eq=False)
class Context:
    """Message values of the records, one per message (set).

    `export_ns`, `received_ns`: times of the message; `uptime_ms`, `boot_ns`: uptime and boot time of the exporter (-1: unknown;
    needed only for times since boot); `exporter`, `clocks`: senders and their time formats; `raw`: raw numbers of a slot.
    """

    members: Members
    export_ns: Ints
    received_ns: Ints
    uptime_ms: Ints
    boot_ns: Ints
    exporter: Codes
    clocks: Clocks
    raw: Callable[[int], Raw]

    @cached_property
    def exporters(self) -> Codes:
        """Return the exporter of each record, [n]."""
        return self.exporter[self.members.of]

    @cached_property
    def firsts(self) -> Ints:
        """Return the first record of each nonempty set."""
        return (np.cumsum(self.members.count) - self.members.count)[self.members.count > 0]

    @property
    def first_exporter(self) -> Codes:
        """Return the exporter of each nonempty set."""
        return self.exporter[self.members.rows[self.members.count > 0]]

    @property
    def first_sent(self) -> Ints:
        """Return the sending time of each nonempty set's message, as far as known."""
        rows = self.members.rows[self.members.count > 0]
        return np.where(self.export_ns[rows] > 0, self.export_ns[rows], self.received_ns[rows])

    @cached_property
    def sent(self) -> Ints:
        """Return the sending time of each record's message, as far as known, [n]."""
        return np.where(self.export_ns > 0, self.export_ns, self.received_ns)[self.members.of]


class Numbers:
    """Numbers of the records of one layout, by column; `values` are those of its slots, [n] each."""

    def __init__(self, layout: Layout, values: Sequence[Column], n: int) -> None:
        self.values, self.meanings, self.n = values, layout.meanings, n
        self._taken: list[int] = layout.slots[TAKE].tolist()
        self.rows: dict[tuple[str, str], list[int]] = {}
        for row, meaning in enumerate(layout.meanings):
            part = meaning.unit if meaning.column in ("src", "dst") else ""
            self.rows.setdefault((meaning.column, part), []).append(row)

    def get(self, column: str) -> tuple[Column, Meaning] | None:
        """Return the numbers of a column and their meaning; None if the records have none."""
        rows = self.rows.get((column, ""))
        return None if rows is None else (self.values[rows[0]], self.meanings[rows[0]])

    def count(self, column: str) -> Column | None:
        """Return the numbers of a column; None if the records have none."""
        found = self.get(column)
        return None if found is None else found[0]

    def octets(self, column: str) -> int:
        """Return the octets of a column's field; 0 if each record has its own."""
        return max(self._taken[self.rows[column, ""][0]], 0)

    def codes(self, column: str, endpoints: BoundedAddressBook) -> Codes | None:
        """Return addresses as codes: IPv6 if present, else IPv4. None if the records have none."""
        six, four = self.rows.get((column, "ipv6")), self.rows.get((column, "ipv4"))
        if six is None:
            return None if four is None else endpoints.short_codes(self.values[four[0]])
        high, low = self.values[six[0]], self.values[six[1]]
        if four is not None:  # a template for both families leaves the unused address zero
            low = np.where((high | low) == 0, self.values[four[0]] | np.uint64(MAPPED), low)
        return endpoints.codes(high, low)


def flow_columns(numbers: Numbers, context: Context, endpoints: BoundedAddressBook) -> dict[str, Column]:
    """Convert numbers to columns of flow records: always times; src and dst, if any, as codes into endpoints."""
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
    """Return start and end, ns since the epoch; missing times are the message's sending time, else its arrival."""
    first, last = _record_times(numbers, context, (prefix + "start", prefix + "end"))
    lasted = numbers.count("duration")
    if last is None:
        last = context.sent if first is None or lasted is None else first + lasted
    if first is None:
        first = last if lasted is None else last - lasted
    begin = numbers.get(prefix + "start")
    if begin is None or begin[1].unit not in ("s", "ms"):  # those cannot be before the epoch
        first = np.maximum(first, 0)
    return first, np.maximum(first, last)


def _record_times(numbers: Numbers, context: Context, columns: tuple[str, str]) -> list[Ints | None]:
    """Return start and end from the records, in the formats of their exporters."""
    fields = [_field(numbers, name, context, columns[1]) for name in columns]
    corrected = iter(context.clocks.corrected([field for field in fields if field is not None], context))
    return [None if field is None else next(corrected) for field in fields]


def _field(numbers: Numbers, column: str, context: Context, last: str) -> Field | None:
    """Return times in the template's format, with alternative formats of the same numbers."""
    found = numbers.get(column)
    if found is None:
        return None
    value, unit = found[0], found[1].unit

    def others() -> Formats:
        if unit == "uptime":
            made = {name: partial(_since_boot, numbers, value, context, last, n) for name, n in clocks.SINCE_BOOT.items()}
            return clocks.uptimes({**made, clocks.S: partial(clocks.scaled, value, clocks.SECOND)})
        raw = context.raw(numbers.rows[column, ""][0]) if unit in ("s", "ms") else value
        return clocks.formats_of(unit, raw, context.sent)

    if unit in ("s", "ms"):
        time_ns: Ints = value
    elif unit == "delta_us":
        time_ns = context.sent - value
    elif unit in ("us", "ns"):
        time_ns = _ntp(value, _UNITS[unit])
    else:
        time_ns = _since_boot(numbers, value, context, last)
    return Field(unit, time_ns, value, others)


def _ntp(value: Raw, unit: int) -> Ints:
    """Convert NTP times (32 bits of seconds, 32 of fraction); some exporters count µs or ns since 1970, which is less."""
    seconds = (value >> np.uint64(32)).astype(np.int64) - clocks.SINCE_1900
    return np.where(seconds >= 0, seconds * clocks.SECOND + clocks.binary(value), clocks.scaled(value, unit))


def _since_boot(numbers: Numbers, value: Raw, context: Context, last: str, factor: int = 1) -> Ints:
    """Convert milliseconds since the exporter's boot, which wrap after 49.7 days (RFC 7011 section 8.1, RFC 3954 section 5.1).

    The message's header has the sending time on that clock; else the boot time and the wrap that puts the last packet nearest
    to the sending time. If neither is known, the last packet counts as seen at the sending time, so that at least the duration
    is right. `last`: the column of the last packet's time. `factor`: milliseconds per unit.
    """
    boot, end = numbers.get("boot"), numbers.get(last)
    boot_ns = context.boot_ns[context.members.of]
    if boot is not None:
        boot_ns = np.where(boot[0] > 0, boot[0], boot_ns)
    ended = (end[0] if end is not None and end[1].unit == "uptime" else value).astype(np.int64) * factor
    uptime_ms = context.uptime_ms[context.members.of]
    plain = boot_ns + (ended & 0xFFFFFFFF) * 1_000_000
    said = uptime_ms > 0  # 0: not set
    anchor = np.where(said | (boot_ns <= 0), context.sent, clocks.nearest(plain, context.sent))
    ago = (np.where(said, uptime_ms, ended) - value.astype(np.int64) * factor).astype(np.int32).astype(np.int64)
    return anchor - ago * 1_000_000


def reverse_columns(numbers: Numbers, columns: dict[str, Column], context: Context) -> dict[str, Column] | None:
    """Return the reverse direction of biflows (RFC 5103); None if no record can have traffic in it."""
    found = {column: numbers.get(name) for column, name in REVERSED.items()}
    if found["octets"] is None and found["packets"] is None:
        return None
    back = {_SWAPPED.get(name, name): column for name, column in columns.items()}
    for column, known in found.items():
        back[column] = np.zeros(numbers.n, np.int64) if known is None else known[0]
    for name in ("dst_qp", "messages", "retransmits", "ecn", "cnp", "busy_ns"):
        back.pop(name, None)  # they belong to the forward direction
    if numbers.get("reverse_start") or numbers.get("reverse_end"):
        back["start_ns"], back["end_ns"] = times(numbers, context, "reverse_")
    return back


def rates(numbers: Numbers, announced: Ints) -> Ints:
    """Return the sampling rate from the record itself, else the announced one."""
    size, population = numbers.count("sampling_size"), numbers.count("sampling_population")
    space, interval = numbers.count("sampling_space"), numbers.count("sampling_interval")
    probability, plain = numbers.get("sampling_probability"), numbers.count("sampling_rate")
    if plain is None and interval is None and size is None and probability is None:
        return announced
    rate = np.zeros(numbers.n, np.int64)
    if plain is not None:
        rate = plain
    # RFC 5477 section 8.2: interval sampled, space not sampled; or the interval alone is one in so many
    elif interval is not None:
        rate = interval if space is None else np.where(space > 0, 1 + space // np.maximum(interval, 1), interval)
    elif size is not None and population is not None:
        rate = population // np.maximum(size, 1)
    elif probability is not None:
        chance = _reals(probability[0])
        rate = np.rint(1 / np.where(chance > 1e-9, np.minimum(chance, 1), np.inf)).astype(np.int64)
    return np.where(rate > 0, np.minimum(rate, 1 << 32), announced)


def _reals(raw: Raw) -> NDArray[np.float64]:
    """Convert IEEE 754 numbers of 4 or 8 octets; 0 for no number."""
    wide = raw.view(np.float64)
    narrow = raw.astype(np.uint32).view(np.float32).astype(np.float64)
    value = np.where(raw >> np.uint64(32) > 0, wide, narrow)
    return np.where(np.isfinite(value), value, 0.0)
