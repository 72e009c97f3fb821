"""Group records by small codes: sort by counting, sum by hashing. Compiled loops over all records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Ints
from collectors.compilation.compiled import compiled
from prism.loops import constants as c
from prism.loops.arrays.orders import in_order

Places = NDArray[np.intp]


@compiled
def counted(keys: NDArray[Any], n: int, order: Places) -> tuple[Places, Places]:
    """Sort `order` by the keys (0 … n − 1) at its places, stable; also return where each key begins, [n + 1]."""
    begins = np.zeros(n + 1, np.intp)
    for i in order:
        begins[np.uint64(keys[np.uint64(i)]) + np.uint64(1)] += 1
    for k in range(n):
        begins[k + 1] += begins[k]
    at = begins.copy()
    out = np.empty(len(order), np.intp)
    for i in order:
        key = np.uint64(keys[np.uint64(i)])
        out[np.uint64(at[key])] = i
        at[key] += 1
    return out, begins


def by_group(group: NDArray[Any], n: int, values: Ints) -> tuple[Places, Places]:
    """Order records by group (0 … n − 1) and within it by value, stable; also return where each group begins, [n + 1]."""
    return counted(group, n, in_order(values))


@compiled
def _numbered(one: NDArray[Any], other: NDArray[Any], most: int) -> tuple[NDArray[np.int32], Places, int]:
    """Compute `numbered` for at most `most` keys; the third result is the number of keys, −1 if more."""
    size = 1
    while size < 4 * most:
        size *= 2
    table, mask = np.full(size, -1, np.int32), np.uint64(size - 1)
    known, first = np.empty((most, 2), np.uint64), np.empty(most, np.intp)
    out, n = np.empty(len(one), np.int32), 0
    for i in range(len(one)):
        left, right = np.uint64(one[i]), np.uint64(other[i])
        mixed = left * np.uint64(0x9E3779B97F4A7C15) ^ right * np.uint64(0xC2B2AE3D27D4EB4F)
        at = (mixed ^ mixed >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(33) & mask
        k = table[at]
        while k >= 0 and (known[np.uint64(k), 0] != left or known[np.uint64(k), 1] != right):
            at = at + np.uint64(1) & mask
            k = table[at]
        if k < 0:
            if n == most:
                return out, first, -1
            k = table[at] = n
            known[n, 0], known[n, 1], first[n] = left, right, i
            n += 1
        out[i] = k
    return out, first[:n], n


@compiled
def _looked_up(one: NDArray[Any], other: NDArray[Any], width: int, size: int) -> tuple[NDArray[np.int32], Places]:
    """Compute `numbered` for keys that index a table of `size`; the second number is below `width`."""
    table, first = np.full(size, -1, np.int32), np.empty(size, np.intp)
    out, n = np.empty(len(one), np.int32), 0
    for i in range(len(one)):
        at = np.uint64(one[i]) * np.uint64(width) + np.uint64(other[i])
        k = table[at]
        if k < 0:
            k = table[at] = n
            first[n] = i
            n += 1
        out[i] = k
    return out, first[:n].copy()


def numbered(one: NDArray[Any], other: NDArray[Any], *, room: int = c.KEYS) -> tuple[NDArray[np.int32], Places]:
    """Number the key (two integers) of each record from 0 in order of appearance; also return the first record of each key."""
    if len(one) and one.min() >= 0 and other.min() >= 0:
        height, width = int(one.max()) + 1, int(other.max()) + 1
        if height * width <= len(one):
            return _looked_up(one, other, width, height * width)
    while True:
        number, first, n = _numbered(one, other, room)
        if n >= 0:
            return number, first
        room *= 8


def numbered_pairs(src: NDArray[Any], dst: NDArray[Any], n: int) -> tuple[Ints, Places]:
    """Return the codes `src · n + dst` of the pairs of records, ascending, and the place of each record's pair among them."""
    number, first = numbered(src, dst)
    codes = src[first].astype(np.int64) * n + dst[first]
    order = np.argsort(codes)
    place = np.empty(len(order), np.intp)
    place[order] = np.arange(len(order))
    return codes[order], place[number]


def ranges(low: Ints, high: Ints) -> Places:
    """Concatenate the ranges from each `low` to before each `high`."""
    size = high - low
    return np.repeat(high - np.cumsum(size), size) + np.arange(int(size.sum()))


def distinct(values: Ints) -> Ints:
    """Return the distinct values, ascending."""
    values = np.sort(values)
    return values[np.concatenate([[True], values[1:] != values[:-1]])] if len(values) else values


def latest(groups: Ints, times: Ints, asked: Ints, at: Ints) -> Ints:
    """Last time of a group up to each of the `at` moments; −1 if there is none. int64[len(asked)]."""
    every = np.concatenate([groups, asked])
    number, first = numbered(every, every)
    order, begins = by_group(number[: len(groups)], len(first), times)
    own, sought = np.asarray(times)[order], number[len(groups) :].astype(np.intp)
    place = places_from(own, begins, sought, at + 1)
    return np.append(own, -1)[np.where(place > begins[sought], place - 1, -1)]


def places_in(rows: Sequence[Ints], which: Ints, times: Ints) -> Ints:
    """Count the sorted times of a row before each time; `which` selects the row. int64[len(times)]."""
    flat, begins = on_end(rows)
    return places_from(flat, begins, which, times) - begins[which]


def preceding(places: Ints, moments: Ints, same: bool) -> Ints:
    """Count the ascending places before each of the mostly ascending moments, including equal ones if `same`."""
    return places_from(places, np.array([0, len(places)]), np.zeros(len(moments), np.intp), moments + same)


def on_end(rows: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Concatenate rows of numbers; also return where each begins and the last ends."""
    return np.concatenate([np.zeros(0, np.int64), *rows]), np.cumsum([0, *map(len, rows)])


@compiled
def places_from(flat: NDArray[Any], begins: Places, which: Places, goals: NDArray[Any]) -> Places:
    """Find the first of the ascending numbers of a row that is at least each goal, or the row's end; `which` selects the row.

    Row k is `flat[begins[k]:begins[k + 1]]`. Goals in a row are mostly ascending: one pass instead of a search for each.
    """
    out, cursor = np.empty(len(goals), np.intp), begins.copy()
    for i in range(len(goals)):
        row, goal = which[i], goals[i]
        place, low, high = cursor[row], begins[row], begins[row + 1]
        while place < high and flat[place] < goal:
            place += 1
        while place > low and flat[place - 1] >= goal:
            place -= 1
        out[i] = cursor[row] = place
    return out
