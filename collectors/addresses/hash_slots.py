"""Hash tables with open addressing whose slots contain part of the hash. Compiled.

A slot has 64 bits: the tag, which is the upper half of the hash, and below it the row of the entry plus one; 0 is an empty
slot. Rows are read only if the tag is equal, which avoids a cache miss for nearly every other row. A larger table is filled
from the slots of the smaller one alone. A search begins at the lower bits of the tag, continues around the eight slots of one
line of the cache, and goes on with the next line where all are taken (open addressing with buckets, Knuth volume 3, section
6.4). Where half of all slots are taken, the most that there are, one line in twenty is full: a search almost never waits
for a second line.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.compilation.primitives import compiled, part
from collectors.memory.pages import LINE, lengthened

Slots = NDArray[np.uint64]

LEAST = 16
VACANT, ONE = np.uint64(0), np.uint64(1)
_TAG_AT, _ROW = np.uint64(32), np.uint64(0xFFFFFFFF)
_LINE = np.uint64(LINE // 8)  # slots of a line of the cache
_IN_LINE = _LINE - ONE
_OTHER_LINES = ~_IN_LINE


def empty_slots(rows: int = 0) -> Slots:
    """Allocate slots for so many rows: at least twice as many, a power of two."""
    return lengthened(np.zeros(0, np.uint64), max(LEAST, 1 << (2 * rows - 1).bit_length()))


def slots_for(slots: Slots, rows: int) -> Slots:
    """Return the same slots if they suffice for so many rows, else more slots with the same entries, mostly in the same
    memory; the given ones become invalid.
    """
    while 2 * rows > len(slots):
        slots = lengthened(slots, 2 * len(slots))
        split(slots, np.zeros(_LINE, np.uint64))
    return slots


@compiled
def split(slots: Any, moving: Any) -> None:
    """Move the entries of the first half of some slots to their places among all, line by line; the second half is empty.

    Begins behind a line with a vacant slot: every entry is then in its line or behind it. The entries of the lines emptied so
    far had room in these, so that none goes past a line still to be emptied, where a search would end. `moving`: memory for
    a line.
    """
    last, start = np.uint64(len(slots)) // _LINE // np.uint64(2) - ONE, VACANT
    while _is_full(slots, start + last & last):
        start += ONE
    for done in range(last + ONE):
        n, first = VACANT, (start + done & last) * _LINE
        for k in range(first, first + _LINE):  # without a branch, which would be mispredicted at every other slot
            entry = slots[k]
            moving[n], slots[k] = entry, VACANT
            n += np.uint64(entry != VACANT)
        for k in range(n):
            slot = first_slot(slots, moving[k])
            while slots[slot] != VACANT:
                slot = next_slot(slots, slot, moving[k])
            slots[slot] = moving[k]


@part
def _is_full(slots: Any, line: Any) -> Any:
    """Check whether a line has no vacant slot."""
    taken = VACANT
    for k in range(line * _LINE, (line + ONE) * _LINE):
        taken += np.uint64(slots[k] != VACANT)
    return taken == _LINE


@part
def first_slot(slots: Any, key: Any) -> Any:
    """Return the slot at which the search for a hash begins."""
    return key >> _TAG_AT & np.uint64(len(slots) - 1)


@part
def next_slot(slots: Any, slot: Any, key: Any) -> Any:
    """Return the slot at which the search for a hash continues: first around its line of the cache, then in the next line."""
    following = slot & _OTHER_LINES | slot + ONE & _IN_LINE
    if (following ^ key >> _TAG_AT) & _IN_LINE == VACANT:
        following = following + _LINE & np.uint64(len(slots) - 1)
    return following


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
