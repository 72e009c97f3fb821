"""Classify gaps on the line of `interval_lines` by their end, and compute medians by kind."""

from __future__ import annotations

import numpy as np

from collectors.columns.record import Ints, Mask
from prism.loops.arrays.group_sums import Places, by_group, preceding
from prism.loops.arrays.interval_lines import NOTHING


def ended(
    begin: Ints, end: Ints, slot: Ints, rows: Places, start: Ints, ready: Ints, word: Ints, ends: Ints
) -> tuple[Mask, Mask]:
    """Return whether gaps, in order, end with their rank being ready or sending, and whether it sends after its peer was ready.

    `rows`: records that ranks send, in order of `ready`. `start`: their begin. `word`: when the receiver was ready (empty if
    there are no ready messages). `ends`: ends of steps; the first ready rank after a gap's begin must be in its step. The
    peer's message comes shortly before the gap's end, or the rank sends soon after it.
    """
    if not len(rows):
        return np.zeros(len(begin), np.bool_), np.zeros(len(begin), np.bool_)
    after, length = preceding(ready[rows], begin, True), end - begin
    one = rows[np.minimum(after, len(rows) - 1)]
    known = (after < len(rows)) & (ready[one] <= ends[slot])
    speaks = known & (ready[one] <= end)
    called = known & ~speaks & (ready[one] <= begin + length * 11 // 10)
    if len(word):
        called |= speaks & (start[one] == end) & (word[one] > begin) & (end - word[one] < length / 10)
    return speaks, called


def medians(group: Ints, values: Ints, n: int) -> Ints:
    """Lower median of the values of each of `n` groups; `NOTHING` if there are none."""
    order, begins = by_group(group, n, values)
    middle = begins[:-1] + (np.diff(begins) - 1) // 2
    return np.where(np.diff(begins) > 0, np.append(values[order], NOTHING)[middle], NOTHING)
