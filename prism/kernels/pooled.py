"""Sets of lanes put together: their records in order, and when any lane of each was busy. Loops over records, compiled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from collectors.compiled import compiled
from collectors.record import Codes
from prism.kernels.edges import Edge, Rows, laid_out
from prism.kernels.intervals import Ints, Union, closed
from prism.kernels.ordered import ascending, rising
from prism.kernels.sums import Places


def pooled(sets: Sequence[Sequence[Edge]]) -> Iterator[tuple[Rows, Union]]:
    """The rows of each of some sets of lanes, ascending, and when any of its lanes was busy; no lane is in two of them."""
    edges = [edge for own in sets for edge in own]
    if not edges:
        return
    of, low, high = laid_out(edges)
    home = np.repeat(np.arange(len(sets), dtype=np.int32), list(map(len, sets)))
    first, last = (np.concatenate(column) for column in zip(*(edge.activity() for edge in edges), strict=True))
    cuts = np.cumsum([0, *(len(edge.activity()[0]) for edge in edges)])
    rows, begins, stretches, opens = _in_order(of.rows, of.start, low, high, home, first, cuts, len(sets))
    start, end, ends = _busy(first[stretches], last[stretches], opens)
    for (a, b), (c, d) in zip(pairwise(begins.tolist()), pairwise(ends.tolist()), strict=True):
        yield rows[a:b], (start[c:d], end[c:d])


@compiled
def _in_order(
    rows: Rows, start: Ints, low: Ints, high: Ints, home: Codes, first: Ints, cuts: Ints, sets: int
) -> tuple[Rows, Places, Places, Places]:
    """The rows of each set, ascending, and where those of each begin; the stretches in which its lanes were busy, too.

    The records of lane k of set `home[k]` are at `low` to before `high`, its stretches, `first` their starts, at `cuts` k to
    k + 1. A stretch comes where the record does with which it begins.
    """
    top = 0
    for k in range(len(low)):
        for i in range(low[k], high[k]):
            top = max(top, rows[i] + 1)
    label, opening = np.zeros(top, np.int32), np.zeros(top, np.int32)  # 0 is none
    begins, opens = np.zeros(sets + 1, np.intp), np.zeros(sets + 1, np.intp)
    for k in range(len(low)):
        at, stop = cuts[k], cuts[k + 1]
        begins[home[k] + 1] += high[k] - low[k]
        opens[home[k] + 1] += stop - at
        for i in range(low[k], high[k]):
            label[rows[i]] = home[k] + 1
            if at < stop and start[i] == first[at]:
                at += 1
                opening[rows[i]] = at
    begins, opens = np.cumsum(begins), np.cumsum(opens)
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
    """The union of the stretches of each set, nearly in order of their starts; where those of each begin."""
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
