"""Classify gaps on the line of `interval_lines` by their end, and compute medians by kind. Compiled loops."""

from __future__ import annotations

import numpy as np

from collectors.columns.record import Ints, Mask
from collectors.compilation.compiled import compiled
from prism.loops.arrays.group_sums import Places, counted
from prism.loops.arrays.interval_lines import NOTHING


@compiled
def ended(
    begin: Ints, end: Ints, slot: Ints, rows: Places, start: Ints, ready: Ints, word: Ints, ends: Ints
) -> tuple[Mask, Mask]:
    """Return whether gaps, in order, end with their rank being ready or sending, and whether it sends after its peer was ready.

    `rows`: records that ranks send, in order of `ready`. `start`: their begin. `word`: when the receiver was ready (empty if
    there are no ready messages). `ends`: ends of steps; the first ready rank after a gap's begin must be in its step. The
    peer's message comes shortly before the gap's end, or the rank sends soon after it.
    """
    speaks, called, k = np.zeros(len(begin), np.bool_), np.zeros(len(begin), np.bool_), 0
    for i in range(len(begin)):
        while k < len(rows) and ready[rows[k]] <= begin[i]:
            k += 1
        if k == len(rows):
            break
        one, length = rows[k], end[i] - begin[i]
        if ready[one] > ends[slot[i]]:
            continue
        speaks[i] = ready[one] <= end[i]
        if not speaks[i]:
            called[i] = ready[one] <= begin[i] + length * 11 // 10
        elif len(word):
            called[i] = start[one] == end[i] and word[one] > begin[i] and end[i] - word[one] < length / 10
    return speaks, called


@compiled
def medians(group: Ints, values: Ints, n: int) -> Ints:
    """Lower median of the values of each of `n` groups; `NOTHING` if there are none."""
    order, begins = counted(group, n, np.arange(len(group)))
    ordered, out = values[order], np.full(n, NOTHING, np.int64)
    for k in range(n):
        own = ordered[begins[k] : begins[k + 1]]
        if len(own):
            out[k] = np.partition(own, (len(own) - 1) // 2)[(len(own) - 1) // 2]
    return out
