"""Fit the tables of offsets between members of one host (`prism.layout.constants`: OFFSETS, BOUND, ALL_BOUND, NONE_BOUND).

    python -m benchmarks.offsets DIR... [--grid SEED:COUNT]...

A capture is a folder as `benchmarks.accuracy` reads it; its origin is that of `benchmarks.origins`. The true groups tell the
relation of two members of one host. Each origin counts as the root of its number of jobs, and each job's pairs as one pair.

Rows: by relation, the jobs that have it, median and sigma of the offset and of the ratio of jitter to offset, and the share of
jobs whose members start at the same instant. Then the fitted tables. Medians and quantiles rather than moments: overlap and
stragglers move single pairs far. Jobs whose steps do not vary are left out.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.true_jobs import asked_cases, evidence, nothing_found, places
from prism.evidence.host_lockstep import Lockstep
from prism.evidence.member_graphs import connected
from prism.layout import constants as c
from prism.layout.features.message_times import at_once
from prism.layout.search.problem import Problem

Floats = NDArray[np.float64]
RELATIONS = {
    1: "twins",
    c.REPLICAS: "replicas",
    3: "stages",
    4: "twins of replicas",
    c.RAILS: "rails",
    6: "twins that hand over",
    7: "replicas that hand over",
    c.WAITING: "waiting replicas",
}
ONE_SIGMA = (0.16, 0.84)  # quantiles of a normal distribution, a sigma from the median


class Pairs(NamedTuple):
    """The pairs of one relation in one job: log10 of offsets, and of jitters over offsets; which start together."""

    origin: str
    relation: int
    offset: Floats
    ratio: Floats
    bound: NDArray[np.bool_]


def relations(problem: Problem, job: Mapping[str, Any], seen: Lockstep) -> NDArray[np.int64]:
    """Return the relation of each pair of members of one host; 0 for those that a truth does not place."""
    rank, n = places(problem, job), len(problem.members)
    of = {kind: [[rank[r] for r in own if r in rank] for own in groups] for kind, groups in job["groups"].items()}
    twins, plane, stage = (
        connected(n, _links([own for kind in kinds for own in of.get(kind, ())]))
        for kinds in (("tp",), ("dp", "cp", "ep"), ("tp", "dp", "cp", "ep"))
    )
    placed = np.isin(np.arange(n), list(rank.values()))
    twin, replica, other = (part[seen.first] == part[seen.second] for part in (twins, plane, stage))
    reducing = [family for family in problem.families if problem.likeliest(family) == "dp"]
    joined = connected(n, np.concatenate([np.zeros((0, 2), np.int64), *(family.joins for family in reducing)]))
    rails = replica & (joined[seen.first] != joined[seen.second])
    values = [0, c.STAGE, 1, c.RAILS, c.REPLICAS]
    return np.select([~(placed[seen.first] & placed[seen.second]), ~other, twin, rails, replica], values, 4)


def _links(groups: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    return np.array([pair for own in groups for pair in pairwise(own)], np.int64).reshape(-1, 2)


def pairs_of(problem: Problem, job: Mapping[str, Any], origin: str) -> Iterator[Pairs]:
    """Yield the pairs of a job by relation; none if its steps do not vary."""
    whole = np.diff(problem.steps.bounds[1:-1])
    if len(whole) < 2 or np.median(np.abs(whole - np.median(whole))) <= c.FINEST * problem.steps.period:
        return
    reducing = [family for family in problem.families if problem.likeliest(family) == "dp"]
    waiting = np.arange(len(RELATIONS) + 1)
    if any(at_once(family, problem.steps.period) for family in reducing):
        waiting[[c.REPLICAS, c.RAILS]] = c.WAITING
    for seen, instead in ((problem.lockstep, waiting), (problem.handed, np.array(c.HANDED))):
        relation = instead[relations(problem, job, seen)]
        offset, jitter = (np.log10(np.maximum(column, c.FINEST)) for column in (seen.offset, seen.jitter))
        ratio = np.maximum(jitter - offset, c.STEADIEST)
        for one in set(instead.tolist()) & set(relation.tolist()) & RELATIONS.keys():
            of = relation == one
            yield Pairs(origin, one, offset[of], ratio[of], seen.together[of] >= c.TOGETHER)


def quantiles(values: Sequence[Floats], counts: Sequence[float]) -> tuple[float, float]:
    """Return median and sigma, the wider of both sides, of values of several jobs.

    Each job counts as given, however many values it has.
    """
    every = np.concatenate(values)
    weight = np.concatenate([np.full(len(own), count / len(own)) for own, count in zip(values, counts, strict=True)])
    order = np.argsort(every)
    share = np.cumsum(weight[order]) / weight.sum()
    low, middle, high = (float(every[order][np.searchsorted(share, part)]) for part in (ONE_SIGMA[0], 0.5, ONE_SIGMA[1]))
    return middle, max(high - middle, middle - low)


class Fitted(NamedTuple):
    """Figures of one relation. `bound`: share of jobs in which its members start together."""

    jobs: int
    offsets: tuple[float, float, float, float]
    bound: float


def fitted(known: Sequence[Pairs]) -> tuple[dict[int, Fitted], tuple[float, float]]:
    """Fit the tables: by relation, and the shares of pairs that start together in jobs that are bound, and in others."""
    out = {}
    for relation in RELATIONS:
        own = [one for one in known if one.relation == relation]
        alike = {c.REPLICAS, c.WAITING} if relation in (c.REPLICAS, c.WAITING) else {relation}
        loose = [(one, ~one.bound) for one in known if one.relation in alike and not one.bound.all()]
        if own and loose:
            counts = _counts([one for one, _ in loose])
            offset = quantiles([one.offset[rest] for one, rest in loose], counts)
            ratio = quantiles([one.ratio[rest] for one, rest in loose], counts)
            out[relation] = Fitted(len(own), (*offset, *ratio), _share(own))
    within = [[one for one in known if _is_bound(one) is bound] for bound in (True, False)]
    every, none = (float(np.average([one.bound.mean() for one in own], weights=_counts(own))) if own else 0.5 for own in within)
    return out, (every, none)


def _counts(own: Sequence[Pairs]) -> list[float]:
    number = Counter(one.origin for one in own)
    return [number[one.origin] ** -0.5 for one in own]


def _is_bound(one: Pairs) -> bool:
    return bool(one.bound.mean() > 1 / 2)


def _share(own: Sequence[Pairs]) -> float:
    """Share of jobs that are bound, with half a job added on each side: no share is 0 or 1."""
    counts = _counts(own)
    return float((np.dot(counts, [_is_bound(one) for one in own]) + 1 / 2) / (sum(counts) + 1))


def lines(known: Sequence[Pairs]) -> Iterator[str]:
    """Format the rows by relation, then the tables."""
    table, (every, none) = fitted(known)
    titles = ("offset", "sigma", "ratio", "sigma", "bound")
    yield f"{'relation':18}{'jobs':>6}" + "".join(f"{title:>9}" for title in titles)
    for relation, own in table.items():
        yield f"{RELATIONS[relation]:18}{own.jobs:>6}" + "".join(f"{x:>9.2f}" for x in (*own.offsets, own.bound))
    yield ""
    rows = {k: ", ".join(f"{x:.2f}" for x in own.offsets) for k, own in table.items() if k in c.OFFSETS}
    yield from ("OFFSETS = {", *(f"    {k}: ({row})," for k, row in rows.items()), "}")
    yield f"BOUND = {{{', '.join(f'{k}: {own.bound:.2f}' for k, own in table.items())}}}"
    yield f"ALL_BOUND, NONE_BOUND = {every:.3f}, {none:.3f}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables; return 2 without input."""
    _, cases = asked_cases("offsets", __doc__ or "", argv)
    problems = ((case, evidence(case)) for case in cases)
    known = [one for case, problem in problems if problem is not None for one in pairs_of(problem, case.job, case.origin)]
    if not known:
        return nothing_found()
    for text in lines(known):
        print(text, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
