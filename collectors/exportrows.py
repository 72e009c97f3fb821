"""Numbers taken from exported records to columns of flow records.

Octets are what the element says: in exports mostly those of whole IP packets with their headers, retransmissions included,
unlike those of records that we made from packets ourselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.compiled import compiled
from collectors.elements import Meaning
from collectors.endpoints import MAPPED, Endpoints
from collectors.record import Ints, Mask
from collectors.templates import Layout

Column = NDArray[Any]
Raw = NDArray[np.uint64]

_1900 = 2_208_988_800  # seconds from NTP's epoch to ours, RFC 7011 section 6.1.10
_MOST = np.uint64((1 << 63) - 1)
_UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_PLAIN = ("src_port", "dst_port", "protocol", "tcp_flags", "dst_qp")
_COUNTS = ("octets", "packets", "messages", "retransmits", "ecn", "cnp", "busy_ns")
REVERSED = {"octets": "reverse_octets", "packets": "reverse_packets", "tcp_flags": "reverse_tcp_flags"}
_SWAPPED = {"src": "dst", "dst": "src", "src_port": "dst_port", "dst_port": "src_port"}


@dataclass(frozen=True, eq=False)
class Context:
    """What the messages around records said: `of` [n] is the message of each; of each message its time, when it was received,
    the exporter's uptime and boot time (-1: not said).
    """

    of: Ints
    export_ns: Ints
    received_ns: Ints
    uptime_ms: Ints
    boot_ns: Ints

    @cached_property
    def sent(self) -> Ints:
        """When the message of each record was sent, as far as is known, [n]."""
        return np.where(self.export_ns > 0, self.export_ns, self.received_ns)[self.of]


class Numbers:
    """The numbers of the records of one layout, by column."""

    def __init__(self, layout: Layout, raw: Raw) -> None:
        self.raw, self.meanings = raw, layout.meanings
        self.rows: dict[tuple[str, str], list[int]] = {}
        for row, meaning in enumerate(layout.meanings):
            part = meaning.unit if meaning.column in ("src", "dst") else ""
            self.rows.setdefault((meaning.column, part), []).append(row)

    def get(self, column: str) -> tuple[Raw, Meaning] | None:
        """The numbers of a column and what they mean; None where the records have none."""
        rows = self.rows.get((column, ""))
        return None if rows is None else (self.raw[rows[0]], self.meanings[rows[0]])

    def count(self, column: str) -> Ints | None:
        """The numbers of a column as counts."""
        found = self.get(column)
        return None if found is None else counts(found[0])

    def address(self, column: str) -> tuple[Raw, Raw] | None:
        """Upper and lower half of addresses: IPv6 where there is one, else IPv4."""
        six, four = self.rows.get((column, "ipv6")), self.rows.get((column, "ipv4"))
        if six is None and four is None:
            return None
        if six is None:
            low = self.raw[four[0]] | np.uint64(MAPPED)  # type: ignore[index]
            return np.zeros_like(low), low
        high, low = self.raw[six[0]], self.raw[six[1]]
        if four is not None:  # a template for both families: the one that is not used is zero
            low = np.where((high | low) == 0, self.raw[four[0]] | np.uint64(MAPPED), low)
        return high, low


def counts(numbers: Raw) -> Ints:
    """Numbers as 64-bit counts; what is more than that is the most there can be."""
    return capped(numbers, _MOST, 1)


@compiled
def capped(numbers: Raw, most: np.uint64, unit: int) -> Ints:
    """Numbers, at most so much, times a unit."""
    out: Ints = np.empty(len(numbers), np.int64)
    for i in range(len(numbers)):
        out[i] = np.int64(min(numbers[i], most)) * unit
    return out


def flow_columns(numbers: Numbers, context: Context, endpoints: Endpoints) -> dict[str, Column]:
    """The columns of flow records that the numbers give: times always; src and dst, if any, as codes into endpoints."""
    columns: dict[str, Column] = dict(zip(("start_ns", "end_ns"), times(numbers, context), strict=True))
    for column in ("src", "dst"):
        address = numbers.address(column)
        if address is not None:
            columns[column] = endpoints.codes(*address)
    for column in _PLAIN:
        found = numbers.get(column)
        if found is not None:
            columns[column] = found[0]
    for column in _COUNTS:
        count = numbers.count(column)
        if count is not None:
            columns[column] = count
    if "octets" not in columns and (count := numbers.count("ip_octets")) is not None:
        columns["octets"] = count
    return columns


def times(numbers: Numbers, context: Context, prefix: str = "") -> tuple[Ints, Ints]:
    """Start and end, ns since the epoch: what is not said is when the message was sent, else when it was received."""
    first, last = (_time(numbers, prefix + name, context) for name in ("start", "end"))
    duration = numbers.get("duration")
    lasted = None if duration is None else _scaled(duration[0], _UNITS[duration[1].unit])
    if last is None:
        last = context.sent if first is None or lasted is None else first + lasted
    if first is None:
        first = last if lasted is None else last - lasted
    first = np.maximum(first, 0)
    return first, np.maximum(first, last)


def _time(numbers: Numbers, column: str, context: Context) -> Ints | None:
    found = numbers.get(column)
    if found is None:
        return None
    value, unit = found[0], found[1].unit
    if unit in ("s", "ms"):
        return _scaled(value, _UNITS[unit])
    if unit == "delta_us":
        return context.sent - _scaled(value, 1000)
    if unit in ("us", "ns"):
        return _ntp(value, _UNITS[unit])
    return _since_boot(numbers, value, context)


def _scaled(value: Raw, unit: int) -> Ints:
    return capped(value, np.uint64(((1 << 62) - 1) // unit), unit)


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
    boot_ns = context.boot_ns[context.of] if boot is None else _scaled(boot[0], 1_000_000)
    last = end[0] if end is not None and end[1].unit == "uptime" else value
    uptime_ms = context.uptime_ms[context.of]
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
        back[column] = np.zeros(numbers.raw.shape[1], np.int64) if known is None else counts(known[0])
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
    rate = np.zeros(numbers.raw.shape[1], np.int64)
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
