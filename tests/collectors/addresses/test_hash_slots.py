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
            slot = next_slot(slots, slot)
        slots[slot] = entry_of(keys[k], rows[k])


@compiled
def looked_up(slots, key, found):
    n, slot = 0, first_slot(slots, key)
    while slots[slot] != VACANT:
        if is_tagged(slots[slot], key):
            found[n] = row_of(slots[slot])
            n += 1
        slot = next_slot(slots, slot)
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
