"""Pool sets of lanes: their records in order, and the activity of any lane of each. Compiled loops over records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

import numpy as np

from collectors.compilation.compiled import compiled
from prism.loops.arrays.edges import Rows
from prism.loops.arrays.group_sums import Places
from prism.loops.arrays.intervals import Ints, Union, closed
from prism.loops.arrays.medians import ascending, rising
from prism.loops.communicators.lane_order import Lanes


def pooled(lanes: Lanes, sets: Sequence[Sequence[int]]) -> Iterator[tuple[Rows, Union]]:
    """Yield the rows of each set of lanes, ascending, and its activity; no lane is in two sets."""
    own, sizes = np.array(list(chain.from_iterable(sets)), np.int64), np.cumsum([0, *map(len, sets)])
    rows, begins, stretches, opens = _in_order(lanes, own, sizes)
    start, end, ends = _busy(lanes.first[stretches], lanes.last[stretches], opens)
    for (a, b), (c, d) in zip(pairwise(begins.tolist()), pairwise(ends.tolist()), strict=True):
        yield rows[a:b], (start[c:d], end[c:d])


@compiled
def _in_order(lanes: Lanes, own: Ints, sizes: Ints) -> tuple[Places, Places, Places, Places]:
    """Rows of each set, ascending, with their begins; and the active intervals of its lanes.

    The lanes of set n are `own` at `sizes` n to n + 1. An interval takes the place of the record with which it begins.
    """
    rows, low, high, first, cuts, top, sets = lanes.rows, lanes.low, lanes.high, lanes.first, lanes.cuts, 0, len(sizes) - 1
    for k in own:
        for i in range(low[k], high[k]):
            top = max(top, rows[i] + 1)
    label, opening = np.zeros(top, np.int32), np.zeros(top, np.int32)  # 0: none
    begins, opens = np.zeros(sets + 1, np.intp), np.zeros(sets + 1, np.intp)
    for n in range(sets):
        begins[n + 1], opens[n + 1] = begins[n], opens[n]
        for k in own[sizes[n] : sizes[n + 1]]:
            at, stop = cuts[k], cuts[k + 1]
            begins[n + 1] += high[k] - low[k]
            opens[n + 1] += stop - at
            for i in range(low[k], high[k]):
                label[rows[i]] = n + 1
                if at < stop and lanes.start[i] == first[at]:
                    at += 1
                    opening[rows[i]] = at
    out, stretches = np.empty(begins[-1], np.intp), np.empty(opens[-1], np.intp)
    place, open_place = begins.copy(), opens.copy()
    for row in range(top):
        if label[row]:
            one = label[row] - 1
            out[place[one]] = row
            place[one] += 1
            if opening[row]:
                stretches[open_place[one]] = opening[row] - 1
                open_place[one] += 1
    return out, begins, stretches, opens


@compiled
def _busy(first: Ints, last: Ints, opens: Places) -> tuple[Ints, Ints, Places]:
    """Union of the intervals of each set, nearly in order of start; and where those of each begin."""
    start, end, cuts = np.empty_like(first), np.empty_like(last), np.zeros_like(opens)
    for k in range(len(opens) - 1):
        begun, over, n = first[opens[k] : opens[k + 1]], last[opens[k] : opens[k + 1]], 0
        if len(begun):
            if not ascending(begun):
                order = rising(begun)
                begun, over = begun[order], over[order]
            one, other = closed(begun, over, 0.0)
            n = len(one)
            start[cuts[k] : cuts[k] + n], end[cuts[k] : cuts[k] + n] = one, other
        cuts[k + 1] = cuts[k] + n
    return start[: cuts[-1]].copy(), end[: cuts[-1]].copy(), cuts
