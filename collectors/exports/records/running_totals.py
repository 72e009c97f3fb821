"""Convert running totals of flows (octetTotalCount and others, RFC 7012 section 5.10) to increases since the last record.

An exporter sends the total of a flow repeatedly while the flow lives. A record that starts after the last one of its flow ended
belongs to a new flow with the same key. A decreasing total is a reset, unless its 8, 16, 24 or 32 bits wrapped, or the record
is an old one that arrived late.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from collectors.columns.partial_records import hash_columns
from collectors.columns.record import Ints
from collectors.compilation.compiled import compiled
from collectors.compilation.primitives import SEED
from collectors.exports.records.elements import TOTAL
from collectors.exports.records.flow_columns import Column, Numbers

MOST_FLOWS = 1 << 19  # 40 MiB
LEAST_FLOWS = 1 << 10
KEY, END, OCTETS, PACKETS, SEEN, COLUMNS = range(6)  # of the table; SEEN: 0 for an empty row
COUNTS = ("octets", "packets")
FIRST, ADDED, RESET, OLD = range(4)  # kinds of records


@compiled
def follow_totals(key: Ints, times: Ints, counts: Ints, bits: Ints, table: Ints, clock: int, found: Ints) -> int:
    """Replace totals by their increase, and starts by the end of the previous record; return the number of new flows.

    `times` [2, n]: start, -1 if absent, and end. `counts` [2, n]: octets and packets. `bits` [2]: bits of their totals, 0 if
    they are no totals. `table` [flows, COLUMNS]: see `Totals`; has room for all new flows. `found`: kind of each record.
    """
    mask, many = len(table) - 1, 0
    for i in range(len(key)):
        slot = key[i] & mask
        while table[slot, SEEN] != 0 and table[slot, KEY] != key[i]:
            slot = (slot + 1) & mask
        row, end = table[slot], times[1, i]
        many += row[SEEN] == 0
        what = kind_of(times[0, i], end, counts[:, i], bits, row)
        if what in (ADDED, RESET):
            times[0, i] = min(max(times[0, i], row[END]), end)
        for k in range(2):
            if bits[k]:
                counts[k, i] = take_total(counts[k, i], bits[k], what, row, OCTETS + k)
        if what != OLD:
            row[KEY], row[END] = key[i], end if what == FIRST else max(end, row[END])
        row[SEEN], found[i] = clock, what
    return many


@compiled
def kind_of(start: int, end: int, totals: Ints, bits: Ints, row: Ints) -> int:
    """Classify a record by the state of its flow."""
    if row[SEEN] == 0 or start > row[END]:
        return FIRST
    for k in range(2):
        if fallen(totals[k], row[OCTETS + k], bits[k]):
            return OLD if end <= row[END] else RESET
    return ADDED


@compiled
def take_total(total: int, bits: int, what: int, row: Ints, place: int) -> int:
    """Store a total in the row of its flow; return its increase."""
    before = row[place]
    if what == OLD:
        return 0
    row[place] = total
    if what != ADDED:
        return total
    gain: int = total - before
    return gain if gain >= 0 else gain + (1 << bits)


@compiled
def fallen(now: int, before: int, bits: int) -> bool:
    """Check whether a total decreased, except by wrapping."""
    if bits == 0 or now >= before:
        return False
    if bits > 32:
        return True
    quarter = (1 << bits) // 4
    return before < 3 * quarter or now >= quarter


def warm() -> None:
    """Compile the loops of this file."""
    totals, one = Totals(most=1), np.ones(1, np.int64)
    for _ in range(2):
        totals.add(one, one, one, np.ones((2, 1), np.int64), np.zeros(2, np.int64))


@dataclass(frozen=True, eq=False)
class Increase:
    """Increases of records: starts and counts [2, n] from `follow_totals`, and the kind of each."""

    start_ns: Ints
    counts: Ints
    bits: Ints
    found: Ints


class Totals:
    """Last totals of flows, in a table of at most `most` flows; above it the least recent half is dropped."""

    def __init__(self, *, most: int = MOST_FLOWS) -> None:
        self.most, self.used, self.forgotten = most, 0, 0
        self._table = _table(min(LEAST_FLOWS, most))
        self._clock = 0

    def __len__(self) -> int:
        return self.used

    def add(self, key: Ints, start_ns: Ints, end_ns: Ints, counts: Ints, bits: Ints) -> Increase:
        """Add records in order and compute their increases; `start_ns` is -1 if absent."""
        times, counts = np.stack([start_ns, end_ns]).astype(np.int64), counts.astype(np.int64)
        found: Ints = np.zeros(len(key), np.int64)
        step = max(self.most // 2, 1)
        for begin in range(0, len(key), step):
            rows = slice(begin, begin + step)
            self._make_room(len(key[rows]))
            self._clock += 1
            when, many = np.ascontiguousarray(times[:, rows]), np.ascontiguousarray(counts[:, rows])
            self.used += follow_totals(key[rows], when, many, bits, self._table, self._clock, found[rows])
            times[:, rows], counts[:, rows] = when, many
        return Increase(times[0], counts, bits, found)

    def _make_room(self, more: int) -> None:
        """Keep the table at most half full with `more` flows."""
        if self.used + more > self.most:
            seen = self._table[self._table[:, SEEN] > 0]
            kept = seen[np.argsort(-seen[:, SEEN], kind="stable")[: max(self.most - more, 0) // 2]]
            self.forgotten += len(seen) - len(kept)
            self._move(kept, len(kept) + more)
        elif 2 * (self.used + more) > len(self._table):
            self._move(self._table[self._table[:, SEEN] > 0], self.used + more)

    def _move(self, rows: Ints, flows: int) -> None:
        """Make a table for `flows` flows, with these rows."""
        self._table = _table(flows)
        put_rows(rows, self._table)
        self.used = len(rows)


def _table(flows: int) -> Ints:
    return np.zeros((1 << (2 * max(flows, LEAST_FLOWS) - 1).bit_length(), COLUMNS), np.int64)


@compiled
def put_rows(rows: Ints, table: Ints) -> None:
    """Insert rows into a table with room for them."""
    mask = len(table) - 1
    for i in range(len(rows)):
        slot = rows[i, KEY] & mask
        while table[slot, SEEN] != 0:
            slot = (slot + 1) & mask
        table[slot] = rows[i]


def added(
    totals: Totals, numbers: Numbers, columns: dict[str, Column], who: Callable[[], Ints], *, prefix: str = ""
) -> Increase | None:
    """Compute the increases of the records of one layout; None if their counts are no running totals.

    `who` returns the observation domain of each. `prefix`: of the columns of the direction, as in `elements`.
    """
    bits = np.zeros(2, np.int64)
    for k, name in enumerate(COUNTS):
        found = numbers.get(prefix + name)
        if found is not None and found[1].unit == TOTAL:
            bits[k] = 8 * (numbers.octets(prefix + name) or 8)
    if not bits.any():
        return None
    counts = np.stack([columns[name] if n else np.zeros(numbers.n, np.int64) for name, n in zip(COUNTS, bits, strict=True)])
    said = any(numbers.get(name) for name in (prefix + "start", "duration"))
    start = columns["start_ns"] if said else np.full(numbers.n, -1, np.int64)
    return totals.add(_keys(numbers, who(), bool(prefix)), start, columns["end_ns"], counts, bits)


def _keys(numbers: Numbers, who: Ints, back: bool) -> Ints:
    """Hash all identifying fields of each flow to a key, with a secret seed."""
    names = ("src", "dst", "src_port", "dst_port", "protocol", "dst_qp", "in_interface", "key")
    own = [value for value, meaning in zip(numbers.values, numbers.meanings, strict=True) if meaning.column in names]
    seed = np.full(numbers.n, SEED & np.uint64((1 << 63) - 1), np.int64)
    return hash_columns(seed, np.full(numbers.n, back), who, *own).view(np.int64)
