"""Who joins a collective late: what is sent to it rests when it fills a window, and goes on when it begins to send itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows, Mask
from collectors.compilation.compiled import compiled
from prism.loops.arrays.edges import sending
from prism.loops.arrays.group_sums import numbered
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.medians import median
from prism.loops.arrays.record_groups import by_group

Rows = NDArray[np.intp]


def joined_late(flows: Flows, streams: Sequence[Rows], period: float, *, many: float = 20.0, fine: float = 0.01) -> Rows:
    """The rows with which a pair goes on after a rest at the moment its receiver, silent all along, begins to send.

    `streams` are the records of collectives; only what is sent in the same one counts, and only pairs between which nothing
    comes back are told of. At the moment is within what one record usually lasts, which is no more than the share `fine` of the
    steps' `period`, ns, or records are sums that tell no moments; a rest lasts `many` times as long, lest chance does it.
    """
    rows, n = np.concatenate([np.zeros(0, np.intp), *streams]), len(flows.endpoints)
    stream = np.repeat(np.arange(len(streams)), [len(own) for own in streams])
    src, dst = flows.src.take(rows), flows.dst.take(rows)
    number, at = numbered(src, stream << 32 | dst)
    sender, receiver = (stream[at] * n + side[at] for side in (src, dst))
    back = np.isin(sender * n + dst[at], receiver * n + src[at])
    if back.all():
        return rows[:0]
    start, end = sending(flows).take(rows), flows.end_ns.take(rows)
    order, begins = by_group(number, len(at), start)
    by = np.argsort(sender, kind="stable")
    low, high = (np.searchsorted(sender[by], receiver, side) for side in ("left", "right"))
    on = _joined(start.take(order), end.take(order), begins, back, (by, low, high), fine * period, many)
    return rows[order[on]]


@compiled
def _joined(
    start: Ints, end: Ints, begins: Rows, back: Mask, onward: tuple[Rows, Rows, Rows], widest: float, many: float
) -> Mask:
    """Which of the records of pairs, those of pair k at `begins` k to k + 1 and in order of start, are `joined_late`.

    What the receiver of pair k sends, `onward`, are the pairs at places `low` k to `high` k of an order. Where something comes
    `back` none is; nor where records usually last longer than the `widest` that tell moments, ns.
    """
    by, low, high = onward
    out = np.zeros(len(start), np.bool_)
    for k in range(len(back)):
        if back[k] or low[k] == high[k]:
            continue
        first = begins[k]
        wide = int(median(end[first : begins[k + 1]] - start[first : begins[k + 1]]))
        done = end[first]
        for i in range(first + 1, begins[k + 1] if wide <= widest else 0):
            if start[i] - done > many * wide:
                out[i] = abs(_first(start, begins, by[low[k] : high[k]], done) - start[i]) <= wide
            done = max(done, end[i])
    return out


@compiled
def _first(start: Ints, begins: Rows, pairs: Rows, time: int) -> int:
    """When the first record of some pairs starts that does not start before a time; a time that is far off if none does."""
    first = np.iinfo(np.int64).max // 2
    for k in pairs:
        at = begins[k] + np.searchsorted(start[begins[k] : begins[k + 1]], time)
        if at < begins[k + 1]:
            first = min(first, start[at])
    return first
