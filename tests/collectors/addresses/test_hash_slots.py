import numpy as np
import pytest

from collectors.addresses.hash_slots import (
    VACANT,
    empty_slots,
    entry_of,
    first_slot,
    is_tagged,
    next_slot,
    row_of,
    slots_for,
)
from collectors.compilation.primitives import compiled


@compiled
def entered(slots, keys, rows):
    for k in range(len(keys)):
        slot = first_slot(slots, keys[k])
        while slots[slot] != VACANT:
            slot = next_slot(slots, slot, keys[k])
        slots[slot] = entry_of(keys[k], rows[k])


@compiled
def looked_up(slots, key, found):
    n, slot = 0, first_slot(slots, key)
    while slots[slot] != VACANT:
        if is_tagged(slots[slot], key):
            found[n] = row_of(slots[slot])
            n += 1
        slot = next_slot(slots, slot, key)
    return n


@compiled
def missing(slots, keys):
    """Count the keys whose row, their number, is not found."""
    n = 0
    for k in range(np.uint64(len(keys))):
        slot = first_slot(slots, keys[k])
        while slots[slot] != VACANT and slots[slot] != entry_of(keys[k], np.int64(k)):
            slot = next_slot(slots, slot, keys[k])
        n += slots[slot] == VACANT
    return n


def rows_of(slots, key):
    found = np.zeros(16, np.int64)
    return set(found[: looked_up(slots, key, found)].tolist())


@pytest.mark.parametrize("tags", [1 << 5, 1 << 32])  # of few tags many rows have the same one
def test_rows_are_found_before_and_after_growing(tags):
    rng = np.random.default_rng(tags)
    keys = rng.integers(0, tags, 300, np.uint64) << np.uint64(32) | rng.integers(0, 1 << 32, 300, np.uint64)
    slots, wanted = empty_slots(), dict[int, set[int]]()
    for row in range(300):
        slots = slots_for(slots, row + 1)
        assert len(slots) >= 2 * (row + 1)
        entered(slots, keys[row : row + 1], np.array([row]))
        wanted.setdefault(int(keys[row]) >> 32, set()).add(row)
        if row % 60 == 0 or row == 299:
            for tag, rows in wanted.items():
                if len(rows) <= 16:
                    assert rows_of(slots, np.uint64(tag << 32)) == rows
    assert slots_for(slots, 5) is slots
    assert np.count_nonzero(slots) == 300


@pytest.mark.parametrize("crowd", [0, 1, 9, 31])  # lines where the tags of all rows begin, counted from the last
@pytest.mark.parametrize("lines", [1, 3, 1 << 24])
def test_growing_keeps_rows_of_crowded_lines_that_go_on_in_others(crowd, lines):
    rng = np.random.default_rng([crowd, lines])
    at = rng.integers(0, 8 * lines, 2000, np.uint64) + rng.integers(0, 1 << 20, 2000, np.uint64) * np.uint64(256)
    keys = (at - np.uint64(8 * crowd) & np.uint64(0xFFFFFFFF)) << np.uint64(32)
    slots, known = empty_slots(), 0
    while known < len(keys):
        more = min(int(rng.integers(1, 100)), len(keys) - known)
        slots = slots_for(slots, known + more)
        entered(slots, keys[known : known + more], np.arange(known, known + more))
        known += more
        assert missing(slots, keys[:known]) == 0
    assert np.count_nonzero(slots) == known
