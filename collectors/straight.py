"""Frames that one switch alone saw straight to flows, compiled: a few at a time are unpacked, then followed.

What `unpacking` and `following` do one after the other, so that a packet's row never leaves the processor's nearest cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from collectors.following import AHEAD, follow_some, has_room
from collectors.unpacking import unpack_some
from collectors.wire import compiled

_AHEAD = np.uint64(AHEAD)


@compiled
def follow_frames(
    t: Any,
    data: int,
    frames: Any,
    begin: int,
    rows: Any,
    book: Any,
    places: Any,
    counts: Any,
    alone: Any,
    settings: Any,
    scratch: Any,
    clock: int,
    seed: Any,
) -> Any:
    """Take frames from `begin` on, until one is older than the one before it, or the table has no room for more.

    Up to which frame it came; how many rows it followed; from where to where `rows` holds some that are left; how many
    addresses are known; the time of the last row. `rows`: `AHEAD` of them; `alone`: exporter and path of so many; the others as
    in `unpack_frames` and `follow`.
    """
    keys, slots, known, pairs = book
    many: Any = np.uint64(len(frames[0]))
    start: Any = np.uint64(begin)
    followed: Any = np.int64(0)
    kept, taken = np.int64(0), np.int64(0)
    while start < many and kept == taken and has_room(t) and known + 2 * AHEAD <= len(t.typical):
        stop = min(many, start + _AHEAD)
        n, known = unpack_some(data, frames, start, stop, rows, (keys, slots, known, pairs), places, counts)
        upto, clock = follow_some(t, rows, np.uint64(0), n, alone[0], alone[1], settings, scratch, clock, seed)
        kept, taken = np.int64(n), np.int64(upto)
        followed += taken
        start = stop
    return np.int64(start), followed, taken, kept, known, clock
