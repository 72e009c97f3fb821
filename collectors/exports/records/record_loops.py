"""Walk the records of NetFlow and IPFIX sets, compiled: count them, and write their numbers to columns.

Nothing here reads outside of what it is told to be within. What a column gets of a number its slot says (`templates.Layout`).
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
    """Empty columns for slots: signed where a slot says `COUNT`, else unsigned of as many octets as it says."""
    return [np.empty(rows, np.int64 if store == COUNT else f"u{store}") for store in slots[STORE].tolist()]


def addresses_of(columns: list[NDArray[Any]]) -> Ints:
    """Where in memory columns begin."""
    return np.array([column.ctypes.data for column in columns], np.int64)


@primitives.compiled
def fixed_records(data: int, begin: Ints, count: Ints, size: int, slots: Ints, columns: Ints) -> None:
    """The numbers of records of one size: `count` of them from each `begin` of the octets at an address, into columns."""
    row = np.int64(0)
    for s in range(len(begin)):
        many = count[s]
        for k in range(slots.shape[1]):
            step = np.int64(8) if slots[STORE, k] == COUNT else slots[STORE, k]
            _numbers(data, begin[s], many, size, slots, k, columns[k] + row * step)
        row += many


@part
def _numbers(data: Any, begin: Any, many: Any, size: Any, slots: Any, k: Any, to: Any) -> None:
    """One number of each of many records: most have 4, 8, 2 octets or 1."""
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
    """Numbers that are stored in as many octets as they have."""
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
    """Put a number into a row of a column."""
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
    """Find the fields of a record whose length varies; where it ends, -1 where it does not before `end`."""
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
    """How many whole records each set has, and whether the last one is cut off; fewer octets than `least` are padding."""
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
    """The numbers of records whose length varies, as `fixed_records` has them; one longer than 8 octets is 0."""
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
