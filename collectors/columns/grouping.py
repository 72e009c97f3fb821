"""Group rows by an integer key: the distinct keys, and the rows of each, in one or two passes."""

from __future__ import annotations

import numpy as np

from collectors.columns.record import Ints
from collectors.compilation.primitives import SEED, compiled, hashed


def numbered(keys: Ints) -> tuple[Ints, Ints]:
    """Return the distinct keys in order of appearance, and the index of each row's key."""
    distinct, which = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    slots = np.full(1 << max(2 * len(keys) - 1, 1).bit_length(), -1, np.int64)
    return distinct[: _number(keys, slots, distinct, which, SEED)], which


def numbered_pairs(one: Ints, other: Ints) -> tuple[Ints, Ints]:
    """Number distinct pairs of keys; return the first row of each pair, and the index of each row's pair."""
    (_, first), (_, second) = numbered(one), numbered(other)
    distinct, which = numbered(first << 32 | second)
    rows = np.empty(len(distinct), np.int64)
    rows[which[::-1]] = np.arange(len(which) - 1, -1, -1)
    return rows, which


def grouped(which: Ints, many: int) -> tuple[Ints, Ints]:
    """Return the rows of each of `many` groups, concatenated in order, and the start of each group [many + 1]."""
    rows, bounds = np.empty(len(which), np.int64), np.zeros(many + 1, np.int64)
    _group(which, rows, bounds)
    return rows, bounds


@compiled
def _number(keys: Ints, slots: Ints, distinct: Ints, which: Ints, seed: np.uint64) -> np.int64:
    many, last, mask = np.int64(0), np.int64(-1), np.uint64(len(slots) - 1)
    for i in range(len(keys)):
        if last < 0 or distinct[last] != keys[i]:
            slot = hashed(np.uint64(keys[i]), np.uint64(0), seed) & mask
            while slots[slot] >= 0 and distinct[slots[slot]] != keys[i]:
                slot = slot + np.uint64(1) & mask
            last = slots[slot]
            if last < 0:
                last = slots[slot] = many
                distinct[many] = keys[i]
                many += 1
        which[i] = last
    return many


@compiled
def _group(which: Ints, rows: Ints, bounds: Ints) -> None:
    for i in range(len(which)):
        bounds[which[i] + 1] += 1
    for k in range(1, len(bounds)):
        bounds[k] += bounds[k - 1]
    for i in range(len(which)):
        rows[bounds[which[i]]] = i
        bounds[which[i]] += 1
    for k in range(len(bounds) - 1, 0, -1):
        bounds[k] = bounds[k - 1]
    bounds[0] = 0
