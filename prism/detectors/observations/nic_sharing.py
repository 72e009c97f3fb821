"""Check whether edges are slow because they share one NIC: each is slower the more send at a time, but not in sum."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from prism.graph.job_view import Floats, View
from prism.loops.arrays.change_points import middle, usual
from prism.loops.arrays.edges import Pair
from prism.loops.arrays.intervals import length_before, union


def shared(view: View, edges: Sequence[Pair], start: int, stop: int, *, slower: float) -> bool:
    """Check whether edges of one endpoint moved in sum, in the steps `start` to `stop`, as fast as one edge does alone.

    That is, less than `slower` times more slowly, together with others there that were as slow meanwhile, if that is usual for
    them. An edge that is alone at both ends shares nothing.
    """
    keys, rates = view.rates
    place = {key: i for i, key in enumerate(keys)}
    alone, now = 1 / usual(1 / rates)[:, 0], middle(rates[:, start:stop], axis=1)[:, 0]
    at: dict[tuple[int, int], list[Pair]] = defaultdict(list)
    for key in keys:
        for way in (0, 1):
            at[way, key[way]].append(key)
    asked, taking_turns = set(edges), set[Pair]()
    for way, end in {(way, key[way]) for key in asked for way in (0, 1)}:
        most = max(float(alone[place[key]]) for key in at[way, end])
        own = [key for key in at[way, end] if key in asked or now[place[key]] * slower <= most]
        if len(own) > 1 and float(middle(_together(view, own)[start:stop])) * slower > most:
            taking_turns.update(own)
    return asked <= taking_turns


def as_fast_in_sum(view: View, edges: Sequence[Pair], others: Sequence[Pair], *, slower: float) -> bool:
    """Check whether edges of one endpoint move in sum as fast as `others` of another endpoint do: less than `slower` times more
    slowly.

    Then each is slow because more send at a time, as to the root of a gather.
    """
    for way in (0, 1):
        ends = {key[way] for key in edges}
        if len(ends) == 1 and len(edges) > 1:
            elsewhere = defaultdict[int, list[Pair]](list)
            for key in others:
                elsewhere[key[way]].append(key)
            sums = [float(np.nanmedian(_together(view, own))) for own in elsewhere.values()]
            own = float(np.nanmedian(_together(view, edges)))
            return bool(sums) and own * slower > float(np.median(sums))
    return False


def _together(view: View, keys: Sequence[Pair]) -> Floats:
    """Rate of some edges in sum while any of them sends, bit/s, by step; NaN if none does."""
    rows = np.concatenate([view.edges[key].rows for key in keys])
    begun = view.flows.start_ns[rows]
    busy = np.diff(length_before(view.ends, union(begun, begun + view.busy[rows])), prepend=0)
    moved = view.per_steps(keys, view.flows.octets).sum(axis=0)
    return np.where(busy > 0, moved * 8e9 / np.maximum(busy, 1), np.nan)
