"""Pieces of own work, step by step: which is typical, which the largest, and all of them.

A rank's stage does work of a few kinds, by what it says then and to whom: forwards, backwards, words of readiness. Of which
there is more in a step differs with who waits, so that pieces are compared with what is usual of their kind.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collectors.compiled import compiled
from prism.kernels.intervals import Floats, Ints
from prism.kernels.ordered import median
from prism.kernels.shifts import middle


def typical_work(said: Ints, work: Ints, ends: Ints, *, share: float = 0.5) -> tuple[Floats, Floats, Floats]:
    """Per step: a typical piece of own work, the largest, and all of it, ns; float64[len(ends)] each, NaN without any.

    `said` and `work` are as from `waits.own_work`, `ends` the step ends. Typical is the piece with which the larger ones make
    up `share` of all work: short pieces are the turns of a collective, not work.
    """
    return _pieces(said, work, ends, share)


SHARES = (0.3, 0.5, 0.7)
LITTLE, NEARLY = 0.1, 0.8


class ByKind(NamedTuple):
    """How long pieces took `against` what is usual of their kind, by step, NaN without any, float64[steps].

    By kind what is `usual`, ns, 0 where there is none, and with which pieces the larger ones make up other `SHARES`,
    float64[kinds, shares], and what its pieces count in all, ns, float64[kinds].
    """

    against: Floats
    usual: Floats
    counts: Floats


def by_kind(said: Ints, work: Ints, kind: Ints, kinds: int, ends: Ints) -> ByKind:
    """A typical piece of each step as `typical_work` has it, but against what is usual of its `kind`, one of `kinds`.

    No piece counts for more than the largest of a step usually is: it may be as long as all the others because it was a wait.
    """
    return ByKind(*_by_kind(said, work.astype(np.float64), kind, kinds, ends))


def levels(every: list[ByKind], alike: Ints) -> Floats:
    """How long a typical piece of each rank usually takes, ns, float64[ranks]; of ranks that are `alike` kinds count the same.

    So who waits more often over one kind does not seem to work longer. Where pieces are of two lengths either may be in the
    middle, but not at all `SHARES`: a rank is above those like it by what `NEARLY` all of these say, of all kinds but those
    that are `LITTLE` of its work.
    """
    out = np.empty(len(every))
    for group in np.unique(alike):
        own = np.flatnonzero(alike == group)
        usual, counts = (np.stack([getattr(every[rank], name) for rank in own]) for name in ("usual", "counts"))
        known = np.log(np.where(usual > 0, usual, np.nan))
        most = np.nan_to_num(middle(known, axis=0)[0])
        weight = np.median(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0), axis=0)
        above = np.nan_to_num((known - most)[:, weight >= LITTLE]).reshape(len(own), -1)
        above = above if above.size else np.zeros((len(own), 1))
        low, high = np.quantile(above, [1 - NEARLY, NEARLY], axis=1)
        nearly_all_say = np.maximum(low, 0.0) + np.minimum(high, 0.0)
        out[own] = np.exp(most[:, 1] @ weight / max(float(weight.sum()), 1e-9) + nearly_all_say)
    return out


@compiled
def _bounds(said: Ints, ends: Ints) -> Ints:
    """Where the pieces of each step begin, and where those of the last end."""
    out = np.zeros(len(ends) + 1, np.int64)
    out[1:] = np.searchsorted(said, ends, side="right")
    return out


@compiled
def _pieces(said: Ints, work: Ints, ends: Ints, share: float) -> tuple[Floats, Floats, Floats]:
    """`typical_work`; numba is slow to see which loop it is where arguments are left out."""
    bounds, n = _bounds(said, ends), len(ends)
    typical, largest, total = np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan)
    for k in range(n):
        pieces = work[bounds[k] : bounds[k + 1]].astype(np.float64)
        if len(pieces) and pieces.max() > 0:
            largest[k], total[k] = pieces.max(), pieces.sum()
            typical[k] = _middles(pieces, pieces, (share,))[0]
    return typical, largest, total


@compiled
def _by_kind(said: Ints, work: Floats, kind: Ints, kinds: int, ends: Ints) -> tuple[Floats, Floats, Floats]:
    """The fields of `by_kind`."""
    bounds = _bounds(said, ends)
    largest = np.array(
        [work[bounds[k] : bounds[k + 1]].max() if bounds[k + 1] > bounds[k] else 0.0 for k in range(len(bounds) - 1)]
    )
    counts = np.minimum(work, median(largest[largest > 0])) if largest.any() else work
    usual, counted = np.zeros((kinds, len(SHARES))), np.zeros(kinds)
    for one in range(kinds):
        own = kind == one
        if own.any():
            counted[one] = counts[own].sum()
            usual[one] = _middles(work[own], counts[own], SHARES)
    ratio = work / np.maximum(usual[kind, 1], 1.0)
    against = np.full(len(bounds) - 1, np.nan)
    for k in range(len(against)):
        a, b = bounds[k], bounds[k + 1]
        if largest[k] > 0:
            against[k] = _middles(ratio[a:b], counts[a:b], SHARES[1:2])[0]
    known = median(against[~np.isnan(against)])
    return against / max(known, 1e-9), usual, counted


@compiled
def _middles(pieces: Floats, counts: Floats, shares: tuple[float, ...]) -> Floats:
    """The pieces with which the larger ones make up ascending shares of all, by what each counts; 0 where nothing counts."""
    order = np.argsort(-pieces, kind="mergesort")
    out, grown, whole, i = np.empty(len(shares)), counts[order[0]], counts.sum(), 0
    for k in range(len(shares)):
        while i + 1 < len(order) and grown < shares[k] * whole:
            i += 1
            grown += counts[order[i]]
        out[k] = pieces[order[i]]
    return out
