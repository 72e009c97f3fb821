"""Hash tables with open addressing whose slots hold part of the hash. Compiled.

A slot is 64 bits: the tag, which is the upper half of the hash, and below it one more than the row of what is entered; 0 is an
empty slot. Rows are looked at only where the tag is equal, which spares a miss of the cache for nearly every other row, and a
larger table is filled from the slots of the smaller one alone. A search begins at the lower bits of the tag and goes on
slot by slot (linear probing, Knuth volume 3, section 6.4).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.compilation.primitives import compiled, part
from collectors.memory.pages import large

Slots = NDArray[np.uint64]

LEAST = 16
VACANT, ONE = np.uint64(0), np.uint64(1)
_TAG_AT, _ROW = np.uint64(32), np.uint64(0xFFFFFFFF)


def empty_slots(rows: int = 0) -> Slots:
    """Slots for so many rows: at least twice as many, a power of two."""
    return large(max(LEAST, 1 << (2 * rows - 1).bit_length()), np.dtype(np.uint64))


def slots_for(slots: Slots, rows: int) -> Slots:
    """The same slots where there are enough for so many rows, or more of them with the same entries, the given ones spent."""
    if 2 * rows <= len(slots):
        return slots
    larger = empty_slots(rows)
    refill(slots, larger)
    return larger


@compiled
def refill(slots: Any, larger: Any) -> None:
    """Move what is in some slots into others, which are empty."""
    mask, n = np.uint64(len(larger) - 1), VACANT
    for k in range(np.uint64(len(slots))):  # first without a branch, which would be guessed wrong at every other slot
        entry = slots[k]
        slots[n] = entry
        n += np.uint64(entry != VACANT)
    for k in range(n):
        slot = slots[k] >> _TAG_AT & mask
        while larger[slot] != VACANT:
            slot = slot + ONE & mask
        larger[slot] = slots[k]


@part
def first_slot(slots: Any, key: Any) -> Any:
    """Where the search for a hash begins."""
    return key >> _TAG_AT & np.uint64(len(slots) - 1)


@part
def next_slot(slots: Any, slot: Any) -> Any:
    """Where it goes on."""
    return slot + ONE & np.uint64(len(slots) - 1)


@part
def is_tagged(entry: Any, key: Any) -> Any:
    """Whether an entry has the tag of a hash; where it has, its row is most probably the one."""
    return (entry ^ key) >> _TAG_AT == VACANT


@part
def row_of(entry: Any) -> Any:
    """The row of an entry."""
    return np.int64(entry & _ROW) - 1


@part
def entry_of(key: Any, row: Any) -> Any:
    """The entry of a row with a hash."""
    return key >> _TAG_AT << _TAG_AT | np.uint64(row + 1)
