"""Compute pieces of own work by step: a typical piece, the largest, and the sum.

A pipeline stage works in few kinds of pieces, by the message it sends afterwards and the receiver: forward, backward,
readiness. The number of pieces of each kind in a step depends on which rank waits; therefore pieces are compared with the usual
one of their kind.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collectors.compilation.compiled import compiled
from prism.loops.arrays.change_points import middle
from prism.loops.arrays.intervals import Floats, Ints
from prism.loops.arrays.medians import arrange, median, rising


def typical_work(said: Ints, work: Ints, ends: Ints, *, share: float = 0.5) -> tuple[Floats, Floats, Floats]:
    """Compute by step: a typical piece of own work, the largest, and the sum, ns; float64[len(ends)] each, NaN if there is
    none.

    `said` and `work` are the results of `own_work.own_work`, `ends` the step ends, ns. A piece is typical if it and the larger
    ones make up `share` of all work: short pieces are rounds of a collective, not work.
    """
    return _pieces(said, work, ends, share)


def typical_works(said: Ints, work: Ints, begins: Ints, ends: Ints, cuts: Ints, *, share: float = 0.5) -> Floats:
    """Compute `typical_work` of many ranks; those of rank k are at `begins[k]` to `begins[k + 1]`, its step ends at `cuts[k]`.

    float64[3, ranks, steps], with the largest number of steps of any rank.
    """
    return _works(said, work, begins, ends, cuts, share)


SHARES = (0.3, 0.5, 0.7)
LITTLE, NEARLY = 0.1, 0.8


class ByKind(NamedTuple):
    """Duration of each rank's pieces relative to the usual one of their kind (`against`), NaN if none, float64[ranks, steps].

    For each kind the `usual` piece, ns, 0 if none, at each of `SHARES`, float64[ranks, kinds, shares], and the sum of its
    pieces, ns, float64[ranks, kinds].
    """

    against: Floats
    usual: Floats
    counts: Floats


def by_kind(said: Ints, work: Ints, kind: Ints, kinds: int, begins: Ints, ends: Ints, cuts: Ints) -> ByKind:
    """Compute a typical piece of each step as in `typical_works`, relative to the usual piece of its `kind`, one of `kinds`.

    Each piece counts at most as much as the usual largest of a step: a longer one may be a wait.
    """
    return ByKind(*_by_kinds(said, work, kind, kinds, begins, ends, cuts))


@compiled
def kinds_of(what: Ints, begins: Ints, own: Ints, stages: Ints, pp: int) -> Ints:
    """Compute the kind, of 4 · `pp` + 2, of messages (`own_work.work_at`): payload or control, and number of stages to the
    receiver.

    Messages of rank k are at `begins[k]` to `begins[k + 1]`. `own` are the stages of ranks, `stages` those of all codes; -1 if
    unknown.
    """
    out = np.empty(len(what), np.int64)
    for k in range(len(own)):
        for i in range(begins[k], begins[k + 1]):
            other = stages[what[i] // 2]
            further = 0 if own[k] < 0 or other < 0 else other - own[k]
            out[i] = 2 * (further + pp) + what[i] % 2
    return out


def levels(every: ByKind, alike: Ints) -> Floats:
    """Compute the usual duration of a typical piece of each rank, ns, float64[ranks]; ranks with equal `alike` use equal
    weights.

    So a rank that waits more often in one kind does not seem to work longer. If pieces have two lengths, either may be the
    median, but not at all `SHARES`: a rank exceeds its peers by the value that the share `NEARLY` of these agree on, over all
    kinds with at least the share `LITTLE` of its work.
    """
    out = np.empty(len(alike))
    for group in np.unique(alike):
        own = np.flatnonzero(alike == group)
        usual, counts = every.usual[own], every.counts[own]
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
def no_more_than_the_least(work: Floats, members: Ints, begins: Ints) -> None:
    """Reduce the work of the ranks of each group, `members[begins[k]:begins[k + 1]]`, to the least of them, step by step.

    `work` is float64[ranks, steps], NaN if unknown.
    """
    for k in range(len(begins) - 1):
        own = members[begins[k] : begins[k + 1]]
        for step in range(work.shape[1]):
            least = np.inf
            for rank in own:
                if work[rank, step] < least:
                    least = work[rank, step]
            for rank in own:
                work[rank, step] = least if least < np.inf else np.nan


@compiled
def _bounds(said: Ints, ends: Ints) -> Ints:
    """Begin of the pieces of each step, and the end of the last."""
    out = np.zeros(len(ends) + 1, np.int64)
    out[1:] = np.searchsorted(said, ends, side="right")
    return out


@compiled
def _pieces(said: Ints, work: Ints, ends: Ints, share: float) -> tuple[Floats, Floats, Floats]:
    """`typical_work`; separate because numba dispatches slowly if arguments are left out."""
    bounds, n = _bounds(said, ends), len(ends)
    typical, largest, total = np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan)
    room = np.empty(len(work), np.int64)
    for k in range(n):
        pieces = _positive(work, bounds[k], bounds[k + 1], room)
        if len(pieces):
            arrange(pieces)
            whole = float(pieces.sum())
            typical[k], largest[k], total[k] = _middle(pieces, whole, whole, share), pieces[-1], whole
    return typical, largest, total


@compiled
def _positive(work: Ints, low: int, high: int, room: Ints) -> Ints:
    """Positive pieces from `low` to `high`, copied to `room`."""
    n = 0
    for i in range(low, high):
        room[n] = work[i]
        n += work[i] > 0
    return room[:n]


@compiled
def _works(said: Ints, work: Ints, begins: Ints, ends: Ints, cuts: Ints, share: float) -> Floats:
    """`typical_works`; separate because numba dispatches slowly if arguments are left out."""
    n = len(cuts) - 1
    out = np.full((3, n, np.diff(cuts).max() if n else 0), np.nan)
    for k in range(n):
        own = slice(begins[k], begins[k + 1])
        typical, largest, total = _pieces(said[own], work[own], ends[cuts[k] : cuts[k + 1]], share)
        steps = len(total)
        out[0, k, :steps], out[1, k, :steps], out[2, k, :steps] = typical, largest, total
    return out


@compiled
def _by_kinds(
    said: Ints, work: Ints, kind: Ints, kinds: int, begins: Ints, ends: Ints, cuts: Ints
) -> tuple[Floats, Floats, Floats]:
    """Fields of `by_kind`."""
    n = len(cuts) - 1
    against = np.full((n, np.diff(cuts).max() if n else 0), np.nan)
    usual, counted = np.zeros((n, kinds, len(SHARES))), np.zeros((n, kinds))
    for k in range(n):
        own = slice(begins[k], begins[k + 1])
        bounds = _bounds(said[own], ends[cuts[k] : cuts[k + 1]])
        most = _usual_most(work[own], bounds)
        _usual_of_kinds(work[own], kind[own], most, usual[k], counted[k])
        ratios = _against(work[own], kind[own], most, usual[k], bounds)
        against[k, : len(ratios)] = ratios
    return against, usual, counted


@compiled
def _usual_most(work: Ints, bounds: Ints) -> float:
    """Median over steps of the largest piece; infinite if there is none."""
    largest, n = np.empty(len(bounds) - 1, np.int64), 0
    for k in range(len(largest)):
        most = 0
        for i in range(bounds[k], bounds[k + 1]):
            most = max(most, work[i])
        if most > 0:
            largest[n] = most
            n += 1
    return median(largest[:n]) if n else np.inf


@compiled
def _usual_of_kinds(work: Ints, kind: Ints, most: float, usual: Floats, counted: Floats) -> None:
    """Write the usual piece of each kind and the sum of its pieces to `usual` and `counted`; no piece counts more than
    `most`.
    """
    begins = np.zeros(len(counted) + 1, np.int64)
    for i in range(len(work)):
        begins[kind[i] + 1] += work[i] > 0
    for one in range(len(counted)):
        begins[one + 1] += begins[one]
    at, pieces = begins.copy(), np.empty(begins[-1], np.int64)
    for i in range(len(work)):
        if work[i] > 0:
            pieces[at[kind[i]]] = work[i]
            at[kind[i]] += 1
    for one in range(len(counted)):
        own = pieces[begins[one] : begins[one + 1]]
        if len(own):
            arrange(own)
            for piece in own:
                counted[one] += min(float(piece), most)
            for k in range(len(SHARES)):
                usual[one, k] = _middle(own, most, counted[one], SHARES[k])


@compiled
def _middle(pieces: Ints, most: float, whole: float, share: float) -> float:
    """The ascending piece at which it and the larger ones make up a share of the `whole`; none counts more than `most`."""
    i = len(pieces) - 1
    grown = min(float(pieces[i]), most)
    while i > 0 and grown < share * whole:
        i -= 1
        grown += min(float(pieces[i]), most)
    return float(pieces[i])


@compiled
def _against(work: Ints, kind: Ints, most: float, usual: Floats, bounds: Ints) -> Floats:
    """Typical piece of each step relative to the usual one of its kind, divided by the median of these ratios; NaN if none."""
    out, known = np.full(len(bounds) - 1, np.nan), 0
    typical, every, counts = np.empty(len(out)), np.empty(len(work)), np.empty(len(work))
    for k in range(len(out)):
        n, whole = 0, 0.0
        for i in range(bounds[k], bounds[k + 1]):
            if work[i] > 0:
                every[n], counts[n] = work[i] / max(usual[kind[i], 1], 1.0), min(float(work[i]), most)
                whole += counts[n]
                n += 1
        if n == 0:
            continue
        ratios, j = every[:n], n - 1
        order = rising(ratios)
        grown = counts[order[j]]
        while j > 0 and grown < SHARES[1] * whole:
            j -= 1
            grown += counts[order[j]]
        out[k] = typical[known] = ratios[order[j]]
        known += 1
    return out / max(median(typical[:known]), 1e-9)
