"""Hash tables with open addressing whose slots contain part of the hash. Compiled.

A slot has 64 bits: the tag, which is the upper half of the hash, and below it the row of the entry plus one; 0 is an empty
slot. Rows are read only if the tag is equal, which avoids a cache miss for nearly every other row. A larger table is filled
from the slots of the smaller one alone. A search begins at the lower bits of the tag and continues slot by slot (linear
probing, Knuth volume 3, section 6.4).
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
    """Allocate slots for so many rows: at least twice as many, a power of two."""
    return large(max(LEAST, 1 << (2 * rows - 1).bit_length()), np.dtype(np.uint64))


def slots_for(slots: Slots, rows: int) -> Slots:
    """Return the same slots if they suffice for so many rows, else more slots with the same entries; the given ones
    become invalid.
    """
    if 2 * rows <= len(slots):
        return slots
    larger = empty_slots(rows)
    refill(slots, larger)
    return larger


@compiled
def refill(slots: Any, larger: Any) -> None:
    """Move the entries of some slots into empty others."""
    mask, n = np.uint64(len(larger) - 1), VACANT
    for k in range(np.uint64(len(slots))):  # without a branch, which would be mispredicted at every other slot
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
    """Return the slot at which the search for a hash begins."""
    return key >> _TAG_AT & np.uint64(len(slots) - 1)


@part
def next_slot(slots: Any, slot: Any) -> Any:
    """Return the slot at which the search continues."""
    return slot + ONE & np.uint64(len(slots) - 1)


@part
def is_tagged(entry: Any, key: Any) -> Any:
    """Check whether an entry has the tag of a hash; then its row is very probably the right one."""
    return (entry ^ key) >> _TAG_AT == VACANT


@part
def row_of(entry: Any) -> Any:
    """Return the row of an entry."""
    return np.int64(entry & _ROW) - 1


@part
def entry_of(key: Any, row: Any) -> Any:
    """Build the entry of a row with a hash."""
    return key >> _TAG_AT << _TAG_AT | np.uint64(row + 1)
