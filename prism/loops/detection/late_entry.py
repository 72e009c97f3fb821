"""Detect ranks that enter a collective late (RDMA): peers fill the send window, stall, and resume when the rank starts
to send.
"""

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
    """Find the rows with which a pair resumes after a rest at the moment when its receiver, silent until then, starts to send.

    Parameters
    ----------
    flows : Flows
        Records of the job.
    streams : sequence of row arrays
        Records of collectives. Only sends of the same collective count, and only pairs without traffic in the other direction.
    period : float
        Step time, ns.
    many : float
        Least duration of a rest, in usual durations of the pair's records; shorter rests may be chance.
    fine : float
        Longest usual duration of records, as a share of the step time; longer records are aggregates without exact times.

    Returns
    -------
    row array
        At the moment means within the usual duration of one record.
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
    """Mask of the records of `joined_late`; those of pair k are `begins[k]` to `begins[k + 1]`, sorted by start.

    The receiver of pair k sends on the pairs at places `low[k]` to `high[k]` of an order (`onward`). Pairs with traffic `back`
    have none, nor pairs whose records usually last longer than `widest`, ns.
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
    """Start of the first record of some pairs at or after a time; a far future time if there is none."""
    first = np.iinfo(np.int64).max // 2
    for k in pairs:
        at = begins[k] + np.searchsorted(start[begins[k] : begins[k + 1]], time)
        if at < begins[k + 1]:
            first = min(first, start[at])
    return first
