"""Reorder rows of many columns, and sum over runs of rows; one pass each, into memory allocated at once.

The kernel clears each page of 4 KiB at its first write, which costs more than filling it. NumPy's allocations of 4 MiB or more
get larger pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Ints
from collectors.compilation.primitives import compiled

Places = NDArray[np.uint32]


def picked(wanted: Mapping[str, tuple[NDArray[Any], NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Compute `values[places]` for each name; places have 4 octets, below 0 means none.

    All results share one allocation, which is freed with the last of them. Raises IndexError.
    """
    block = np.empty(sum(values.itemsize * len(places) for values, places in wanted.values()), np.uint8)
    found, begin = dict[str, NDArray[Any]](), 0
    # largest type first, so that each is aligned
    for name, (values, places) in sorted(wanted.items(), key=lambda one: -one[1][0].itemsize):
        end, kind = begin + values.itemsize * len(places), f"u{values.itemsize}"
        found[name], begin = block[begin:end].view(values.dtype), end
        if not _pick(np.ascontiguousarray(values).view(kind), places.view(np.uint32), found[name].view(kind)):
            raise IndexError(f"column {name}: no such row")
    return {name: found[name] for name in wanted}


def runs(unit: Ints, one: NDArray[np.int32], other: NDArray[np.int32], length: int) -> Ints:
    """Find the starts of runs of rows with equal `one` and `other`, and `unit` in the same interval of `length`."""
    at = np.empty(len(unit), np.int64)
    unit, one, other = map(np.ascontiguousarray, (unit, one, other))  # one variant of each loop is compiled
    return at[: _begin(unit, one, other, length, at)]


def sums(values: Ints, at: Ints) -> NDArray[np.uint64]:
    """Sum over runs that start at `at`; values below 0 count as 0."""
    found = np.empty(len(at), np.uint64)
    _add(np.ascontiguousarray(values), at, found)
    return found


def bounds(lows: Ints, highs: Ints, at: Ints) -> tuple[Ints, Ints]:
    """Compute the minimum of `lows` and the maximum of `highs` in runs that start at `at`."""
    least, most = np.empty(len(at), np.int64), np.empty(len(at), np.int64)
    _bound(np.ascontiguousarray(lows), np.ascontiguousarray(highs), at, least, most)
    return least, most


def sort_keys(start: Ints, ends: tuple[NDArray[Any], NDArray[Any]], rank: Ints, bucket: int, bits: int) -> Ints:
    """Compute a sort key for each row: bucket of `start` (ascending), ranks of its ends, and its position in `bits` bits.

    Raises IndexError for an end without a rank.
    """
    keys = np.empty(len(start), np.int64)
    src, dst = (np.ascontiguousarray(end).view(np.uint32) for end in ends)
    if not _key(np.ascontiguousarray(start), src, dst, rank, bucket, bits, keys):
        raise IndexError("an end without a rank")
    return keys


@compiled
def _pick(values: NDArray[Any], places: Places, found: NDArray[Any]) -> bool:
    for i in range(len(places)):
        if places[i] >= len(values):
            return False
        found[i] = values[places[i]]
    return True


@compiled
def _key(start: Ints, src: Places, dst: Places, rank: Ints, length: int, bits: int, keys: Ints) -> bool:
    many = len(rank)
    bucket, end = np.int64(0), np.int64(0)
    if len(start):
        end = (start[0] // length + 1) * length
    for i in range(len(start)):
        if src[i] >= many or dst[i] >= many:
            return False
        if start[i] >= end:
            passed = (start[i] - end) // length + 1
            bucket, end = bucket + passed, end + passed * length
        keys[i] = ((bucket * many + rank[src[i]]) * many + rank[dst[i]]) << bits | i
    return True


@compiled
def _begin(unit: Ints, one: NDArray[np.int32], other: NDArray[np.int32], length: int, at: Ints) -> int:
    many, low = 0, np.int64(0)
    for i in range(len(unit)):
        same = i > 0 and one[i] == one[i - 1] and other[i] == other[i - 1]
        if i == 0 or not low <= unit[i] < low + length:
            low, same = unit[i] // length * length, False
        if not same:
            at[many] = i
            many += 1
    return many


@compiled
def _add(values: Ints, at: Ints, found: NDArray[np.uint64]) -> None:
    for k in range(len(at)):
        total, end = np.int64(0), at[k + 1] if k + 1 < len(at) else len(values)
        for i in range(at[k], end):
            total += max(values[i], 0)
        found[k] = total


@compiled
def _bound(lows: Ints, highs: Ints, at: Ints, least: Ints, most: Ints) -> None:
    for k in range(len(at)):
        end = at[k + 1] if k + 1 < len(at) else len(lows)
        low, high = lows[at[k]], highs[at[k]]
        for i in range(at[k] + 1, end):
            low, high = min(low, lows[i]), max(high, highs[i])
        least[k], most[k] = low, high
