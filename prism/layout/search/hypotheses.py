"""Enumerate hypotheses: complete layouts of a job, each scored against all evidence.

A hypothesis fixes the division of each host's endpoints, and the dimension that each family of communicators
serves. The groups follow: members joined by the traffic of a dimension, or inside a host if the division says so. The paper
(arXiv 2505.00342) decides pair by pair instead.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from prism.evidence.families import Family
from prism.evidence.member_graphs import connected
from prism.layout import constants as c
from prism.layout.constants import Kind
from prism.layout.features.likelihood import usual
from prism.layout.search._scoring import Scored
from prism.layout.search.complete_layout import Hypothesis
from prism.layout.search.placement import Placing, cuts, in_order, place, scattered
from prism.layout.search.problem import Problem


def hypotheses(problem: Problem, hopeless: float = c.HOPELESS) -> list[Hypothesis]:
    """Return hypotheses: each division of the hosts, each likely assignment of the families.

    Those whose score is lower than that of the best one so far by `hopeless` or more are left out. So that these are many, the
    likeliest assignment of each division comes first, then the others of the division that fits best, and so on.
    """
    likely, divisions = _assignments(problem.families, problem), []
    for placing in _placings(problem):
        found = problem.through(placing)
        own = likely if found is problem.families else _assignments(found, problem)
        divisions.append((placing, found, [(kinds, fits, c.WEIGHTS["fit"] * fits + usual(kinds)) for kinds, fits in own]))
    best = [-np.inf] * len(divisions)
    out: dict[tuple[int, int, bool], Hypothesis] = {}

    def add(division: int, number: int) -> None:
        placing, found, own = divisions[division]
        kinds, fits, most = own[number]
        for within in (False, True)[: 1 + (placing.cut[1] > 1 and bool({"cp", "ep"} & set(kinds)))]:
            if most >= (least := max(best) - hopeless):
                one = Scored(problem, placing, found, kinds, fits, within).hypothesis(least)
                if one is not None:
                    out[division, number, within] = one
                    best[division] = max(best[division], one.score)

    orders = [sorted(range(len(own)), key=[-most for _, _, most in own].__getitem__) for _, _, own in divisions]
    for division, order in enumerate(orders):
        for number in order[:1]:
            add(division, number)
    for division in sorted(range(len(divisions)), key=lambda i: -best[i]):
        for number in orders[division][1:]:
            add(division, number)
    return [out[place] for place in sorted(out)]


def _placings(problem: Problem) -> Iterator[Placing]:
    several = max(Counter(problem.hosts).values()) > 1
    for cut in cuts(problem.per_host):
        if len(set(problem.hosts)) == 1 and cut[0] == cut[1] == 1 < cut[2]:
            continue
        for stages_first in (False, True)[: 1 + (min(cut[1:]) > 1)]:
            yield place(problem.hosts, problem.rails, cut, stages_first)
    if several:
        yield scattered(len(problem.hosts))
        octets = np.concatenate([family.weights for family in problem.families])
        ends = np.concatenate([family.ends.T for family in problem.families], axis=1)
        number = np.repeat(np.arange(len(problem.families)), [len(family.weights) for family in problem.families])
        yield from in_order(problem.hosts, lambda at: _along_axes(ends, octets, number, at))


def _along_axes(ends: NDArray[np.int64], octets: NDArray[np.float64], number: NDArray[np.intp], at: NDArray[np.int64]) -> bool:
    """Check whether nearly all octets of edges move along one axis of their family (`number`) or another.

    `ends`: both ends of each edge, int[2, edges]. `at`: coordinates of the members, int[3, members].
    """
    packed = at[0] | at[1] << 20 | at[2] << 40
    apart = packed.take(ends[0]) ^ packed.take(ends[1])
    axes = sum((((apart & (1 << 20) - 1 << 20 * axis) != 0).view(np.int8) << axis for axis in range(3)), 8 * number)
    moved = np.bincount(axes, octets, 8 * (int(number[-1]) + 1)).reshape(-1, 8)
    return float(moved[:, [1, 2, 4]].max(axis=1).sum()) >= c.ALONG_AXES * float(octets.sum())


def _assignments(found: Sequence[Family], problem: Problem) -> list[tuple[tuple[Kind, ...], float]]:
    """Return the likeliest assignments of kinds to families, each with the sum of its fits.

    Families that divide the members in the same way usually serve one dimension, which issues several kinds of traffic. That
    all serve one is always examined: an algorithm whose rounds differ has many families.
    """
    fits = [problem.fits(family) for family in found]
    by: dict[bytes, list[int]] = defaultdict(list)
    for i, family in enumerate(found):
        by[connected(len(problem.members), family.joins).tobytes()].append(i)
    beam: list[tuple[tuple[tuple[int, Kind], ...], float]] = [((), 0.0)]
    for same in by.values():
        uses = _uses([fits[i] for i in same])
        more = [((*kept, *zip(same, kinds, strict=True)), so_far + value) for kept, so_far in beam for kinds, value in uses]
        limited = (one for one in more if sum(kind == "pp" for _, kind in one[0]) <= c.PIPELINES)
        beam = sorted(limited, key=lambda one: -one[1] - usual(kind for _, kind in one[0]))[: c.BEAM]
    ordered = [(tuple(kind for _, kind in sorted(kept)), value) for kept, value in beam]
    ordered += _of_few_kinds(fits)
    return [one for one in dict(ordered).items() if "edp" not in one[0] or {"ep", "dp"} & set(one[0])]


def _of_few_kinds(fits: Sequence[Mapping[Kind, float]]) -> Iterator[tuple[tuple[Kind, ...], float]]:
    """Yield the assignments in which all families are of one kind, or all but one or two reduce gradients and these have their
    likeliest other kind. Traffic that is likelier of no kind is left to others.
    """
    every = range(len(fits))
    likeliest = [max((kind for kind in c.KINDS if kind not in ("dp", "edp")), key=own.__getitem__) for own in fits]
    for kind in c.DIMENSIONS:
        for number in range(c.BESIDE + 1 if kind == "dp" else 1):
            for few in combinations(every, number):
                rest = [fits[i] for i in every if i not in few]
                if rest and all(own[kind] > own["none"] for own in rest):
                    value = _together(kind, rest) + sum(fits[i][likeliest[i]] for i in few)
                    yield tuple(likeliest[i] if i in few else kind for i in every), value


def _uses(fits: Sequence[Mapping[Kind, float]]) -> list[tuple[tuple[Kind, ...], float]]:
    """Return the likeliest kinds of families that divide the members alike: one kind for all, or several."""
    likely = [[kind for kind in own if own[kind] >= max(own.values()) - c.HELD_BY_MOST] for own in fits]
    out = [((kind,) * len(fits), _together(kind, fits)) for kind in dict.fromkeys(kind for own in likely for kind in own)]
    apart: list[tuple[tuple[Kind, ...], float]] = [((), 0.0)]
    for own, kinds in zip(fits, likely, strict=True):
        more = [((*kept, kind), so_far + own[kind]) for kept, so_far in apart for kind in kinds]
        apart = sorted(more, key=lambda one: -one[1] - usual(one[0]))[: c.BEAM]
    out += [(kinds, value - c.TWO_USES * (len(set(kinds)) - 1)) for kinds, value in apart if len(set(kinds)) > 1]
    return sorted(out, key=lambda one: -one[1] - usual(one[0]))[: c.BEAM]


def _together(kind: Kind, fits: Sequence[Mapping[Kind, float]]) -> float:
    """Fit of families of one kind. The best counts in full; others may be further traffic of the dimension, which costs at most
    as much as traffic that no hypothesis explains.
    """
    ordered = sorted(fits, key=lambda own: -own[kind])
    beside = (max(own[kind], own["none"]) if kind in c.DIMENSIONS else own[kind] for own in ordered[1:])
    return ordered[0][kind] + sum(beside)
