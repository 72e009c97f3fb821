"""Pieces of own work, step by step: which is typical, which the largest, and all of them.

A rank's stage does work of a few kinds, by what it says then and to whom: forwards, backwards, words of readiness. Of which
there is more in a step differs with who waits, so that pieces are compared with what is usual of their kind.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collectors.compilation.compiled import compiled
from prism.loops.arrays.change_points import middle
from prism.loops.arrays.intervals import Floats, Ints
from prism.loops.arrays.medians import arrange, median, rising


def typical_work(said: Ints, work: Ints, ends: Ints, *, share: float = 0.5) -> tuple[Floats, Floats, Floats]:
    """Per step: a typical piece of own work, the largest, and all of it, ns; float64[len(ends)] each, NaN without any.

    `said` and `work` are as from `own_work.own_work`, `ends` the step ends. Typical is the piece with which the larger ones
    make up `share` of all work: short pieces are the turns of a collective, not work.
    """
    return _pieces(said, work, ends, share)


def typical_works(said: Ints, work: Ints, begins: Ints, ends: Ints, cuts: Ints, *, share: float = 0.5) -> Floats:
    """`typical_work` of many ranks, those of the k-th at `begins` k to k + 1, its step ends at `cuts` k to k + 1.

    float64[3, ranks, steps], as many steps as most have.
    """
    return _works(said, work, begins, ends, cuts, share)


SHARES = (0.3, 0.5, 0.7)
LITTLE, NEARLY = 0.1, 0.8


class ByKind(NamedTuple):
    """How long pieces of each rank took `against` what is usual of their kind, NaN without any, float64[ranks, steps].

    By kind what is `usual`, ns, 0 where there is none, and with which pieces the larger ones make up other `SHARES`,
    float64[ranks, kinds, shares], and what its pieces count in all, ns, float64[ranks, kinds].
    """

    against: Floats
    usual: Floats
    counts: Floats


def by_kind(said: Ints, work: Ints, kind: Ints, kinds: int, begins: Ints, ends: Ints, cuts: Ints) -> ByKind:
    """A typical piece of each step as `typical_works` has it, but against what is usual of its `kind`, one of `kinds`.

    No piece counts for more than the largest of a step usually is: it may be as long as all the others because it was a wait.
    """
    return ByKind(*_by_kinds(said, work, kind, kinds, begins, ends, cuts))


@compiled
def kinds_of(what: Ints, begins: Ints, own: Ints, stages: Ints, pp: int) -> Ints:
    """The kind, of 4 · `pp` + 2, of `what` ranks said (`own_work.work_at`): payload or a word, and to how many stages further.

    What the k-th said is at `begins` k to k + 1. `own` are the stages of ranks, `stages` those of all codes; -1: of none.
    """
    out = np.empty(len(what), np.int64)
    for k in range(len(own)):
        for i in range(begins[k], begins[k + 1]):
            other = stages[what[i] // 2]
            further = 0 if own[k] < 0 or other < 0 else other - own[k]
            out[i] = 2 * (further + pp) + what[i] % 2
    return out


def levels(every: ByKind, alike: Ints) -> Floats:
    """How long a typical piece of each rank usually takes, ns, float64[ranks]; of ranks that are `alike` kinds count the same.

    So who waits more often over one kind does not seem to work longer. Where pieces are of two lengths either may be in the
    middle, but not at all `SHARES`: a rank is above those like it by what `NEARLY` all of these say, of all kinds but those
    that are `LITTLE` of its work.
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
    """Work of the ranks of each group, the k-th of them `members` at `begins` k to k + 1: no more than the least of them.

    `work` is float64[ranks, steps], NaN where it is not known.
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
    """Where the pieces of each step begin, and where those of the last end."""
    out = np.zeros(len(ends) + 1, np.int64)
    out[1:] = np.searchsorted(said, ends, side="right")
    return out


@compiled
def _pieces(said: Ints, work: Ints, ends: Ints, share: float) -> tuple[Floats, Floats, Floats]:
    """`typical_work`; numba is slow to see which loop it is where arguments are left out."""
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
    """Pieces from `low` to `high` without those that are none, which no share of all work has in it; in `room` for them."""
    n = 0
    for i in range(low, high):
        room[n] = work[i]
        n += work[i] > 0
    return room[:n]


@compiled
def _works(said: Ints, work: Ints, begins: Ints, ends: Ints, cuts: Ints, share: float) -> Floats:
    """`typical_works`; numba is slow to see which loop it is where arguments are left out."""
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
    """The fields of `by_kind`."""
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
    """How long the largest piece of a step usually is; infinite where there is none."""
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
    """Into `usual` and `counted` what is usual of each kind and what its pieces count, none for more than the `most`."""
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
    """Of ascending pieces the one with which the larger make up a share of the `whole`, none counting for more than `most`."""
    i = len(pieces) - 1
    grown = min(float(pieces[i]), most)
    while i > 0 and grown < share * whole:
        i -= 1
        grown += min(float(pieces[i]), most)
    return float(pieces[i])


@compiled
def _against(work: Ints, kind: Ints, most: float, usual: Floats, bounds: Ints) -> Floats:
    """A typical piece of each step, against what is usual of its kind, by how that usually is; NaN where there is none."""
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
