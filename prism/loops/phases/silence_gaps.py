"""Silences on the line of `interval_lines`: with what they end, and how long those of one kind mostly are. Loops over them,
compiled.
"""

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
    """Whether silences, in order, end with their rank's being ready or speaking, and whether it speaks when its peer has.

    `rows` are of talk that ranks send, in order of who was `ready`; `start` and `word` (empty where nobody said any) tell when
    it began, and when the receiver said that it was ready. `ends` are those of steps: who was ready first after a silence began
    must have been so in its step. A peer has spoken where the word comes shortly before the silence ends, or the rank speaks
    soon after.
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
    """The lower median of the values of each of `n` groups; `NOTHING` where there is none."""
    order, begins = counted(group, n, np.arange(len(group)))
    ordered, out = values[order], np.full(n, NOTHING, np.int64)
    for k in range(n):
        own = ordered[begins[k] : begins[k + 1]]
        if len(own):
            out[k] = np.partition(own, (len(own) - 1) // 2)[(len(own) - 1) // 2]
    return out
