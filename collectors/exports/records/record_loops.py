"""Walk the records of NetFlow and IPFIX sets, compiled: count them, and write their numbers to columns.

Nothing here reads outside of the given bounds. Slots define the conversion of numbers (`templates.Layout`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Ints
from collectors.compilation import primitives
from collectors.compilation.compiled import compiled
from collectors.compilation.primitives import part
from collectors.exports.records.message_loops import Octets, number, short
from collectors.exports.records.templates import COUNT, FIELD, LENGTH, MOST, PLACE, SKIP, STORE, TAKE, UNIT, WHAT, WITHIN

_8 = np.uint64(8)


def columns_of(slots: Ints, rows: int) -> list[NDArray[Any]]:
    """Allocate columns for slots: signed for `COUNT`, else unsigned with the slot's octets."""
    return [np.empty(rows, np.int64 if store == COUNT else f"u{store}") for store in slots[STORE].tolist()]


def addresses_of(columns: list[NDArray[Any]]) -> Ints:
    """Return the memory addresses of columns."""
    return np.array([column.ctypes.data for column in columns], np.int64)


@primitives.compiled
def fixed_records(data: int, begin: Ints, count: Ints, size: int, slots: Ints, columns: Ints) -> None:
    """Read the numbers of fixed-size records into columns: `count` records from each `begin`."""
    row = np.int64(0)
    for s in range(len(begin)):
        many = count[s]
        for k in range(slots.shape[1]):
            step = np.int64(8) if slots[STORE, k] == COUNT else slots[STORE, k]
            _numbers(data, begin[s], many, size, slots, k, columns[k] + row * step)
        row += many


@part
def _numbers(data: Any, begin: Any, many: Any, size: Any, slots: Any, k: Any, to: Any) -> None:
    """Read one number of each of many records: most have 4, 8, 2 octets or 1."""
    what, take, store, unit, most = slots[WHAT, k], slots[TAKE, k], slots[STORE, k], slots[UNIT, k], slots[MOST, k]
    at = data + begin + slots[WITHIN, k]
    if what in (PLACE, LENGTH):
        for r in range(many):
            primitives.store_double(to + 8 * r, np.uint64(at - data + r * size if what == PLACE else take))
    elif take == store:
        _copied(at, many, size, take, to)
    elif store == COUNT and take == 4:
        for r in range(many):
            primitives.store_double(
                to + 8 * r, min(np.uint64(primitives.long(at + r * size)), np.uint64(most)) * np.uint64(unit)
            )
    elif store == COUNT and take == 8:
        for r in range(many):
            primitives.store_double(to + 8 * r, min(primitives.double(at + r * size), np.uint64(most)) * np.uint64(unit))
    else:
        for r in range(many):
            value = np.uint64(0)
            for octet in range(take):
                value = (value << _8) | np.uint64(primitives.octet(at + r * size + octet))
            _keep(value, store, np.uint64(most), np.uint64(unit), to, r)


@part
def _copied(at: Any, many: Any, size: Any, octets: Any, to: Any) -> None:
    """Copy numbers that are stored in their own size."""
    if octets == 4:
        for r in range(many):
            primitives.store_long(to + 4 * r, np.uint64(primitives.long(at + r * size)))
    elif octets == 2:
        for r in range(many):
            primitives.store_short(to + 2 * r, np.uint64(primitives.short(at + r * size)))
    elif octets == 1:
        for r in range(many):
            primitives.store_octet(to + r, np.uint64(primitives.octet(at + r * size)))
    else:
        for r in range(many):
            primitives.store_double(to + 8 * r, primitives.double(at + r * size))


@part
def _keep(value: Any, store: Any, most: Any, unit: Any, to: Any, row: Any) -> None:
    """Store a number in a row of a column."""
    if store == COUNT:
        primitives.store_double(to + 8 * row, min(value, most) * unit)
    elif store == 8:
        primitives.store_double(to + 8 * row, value)
    elif store == 4:
        primitives.store_long(to + 4 * row, value)
    elif store == 2:
        primitives.store_short(to + 2 * row, value)
    else:
        primitives.store_octet(to + row, value)


@compiled
def locate(data: Octets, at: int, end: int, lengths: Ints, starts: Ints, sizes: Ints) -> int:
    """Find the fields of a variable-length record; return its end, -1 if that is beyond `end`."""
    for f in range(len(lengths)):
        size = lengths[f]
        if size < 0:  # RFC 7011 section 7
            if at >= end:
                return -1
            size = np.int64(data[at])
            at += 1
            if size == 255:
                if at + 2 > end:
                    return -1
                size = short(data, at)
                at += 2
        if at + size > end:
            return -1
        starts[f], sizes[f] = at, size
        at += size
    return at


@compiled
def count_records(data: Octets, begin: Ints, end: Ints, lengths: Ints, least: int, count: Ints, cut: Ints) -> None:
    """Count the complete records of each set, and whether the last one is truncated; fewer octets than `least` are padding."""
    starts, sizes = np.zeros(len(lengths), np.int64), np.zeros(len(lengths), np.int64)
    for s in range(len(begin)):
        at = begin[s]
        while end[s] - at >= least:
            at = locate(data, at, end[s], lengths, starts, sizes)
            if at < 0:
                cut[s] = 1
                break
            count[s] += 1


@compiled
def varying_records(data: Octets, begin: Ints, end: Ints, count: Ints, lengths: Ints, slots: Ints, columns: Ints) -> None:
    """Read the numbers of variable-length records, as in `fixed_records`; one longer than 8 octets becomes 0."""
    starts, sizes = np.zeros(len(lengths), np.int64), np.zeros(len(lengths), np.int64)
    row = 0
    for s in range(len(begin)):
        at = begin[s]
        for _ in range(count[s]):
            at = locate(data, at, end[s], lengths, starts, sizes)
            for k in range(slots.shape[1]):
                place, size = starts[slots[FIELD, k]] + slots[SKIP, k], sizes[slots[FIELD, k]]
                what, take, store = slots[WHAT, k], slots[TAKE, k], slots[STORE, k]
                octets = size if take < 0 else take
                value = np.uint64(0)
                if what == PLACE:
                    value = np.uint64(place)
                elif what == LENGTH:
                    value = np.uint64(size)
                elif octets <= 8:
                    value = number(data, place, octets)
                _keep(value, store, np.uint64(slots[MOST, k]), np.uint64(slots[UNIT, k]), columns[k], row)
            row += 1
