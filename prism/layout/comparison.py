"""Compare the layout of `prism.layout.labels.parallelism` with all hypotheses: its probability and the alternatives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from collectors.columns.record import Flows
from prism.inventory.operator_hints import Hints
from prism.layout import constants as c
from prism.layout._explained_traffic import Explained, explained
from prism.layout._hint_priors import prior
from prism.layout.posterior import Answer, alternatives, answers
from prism.layout.problem import Problem, problem_of
from prism.model import Alternative, Job, Layout, Parallelism
from prism.topology import Topology

NOT_EXPLAINED = "no layout explains all of the traffic; this one explains part of it"


@dataclass(frozen=True, eq=False)
class Weighed:
    """Confidence in the reported layout, and the alternatives. `instead` is set if another layout replaces the inferred one."""

    confidence: float
    alternatives: tuple[Alternative, ...]
    instead: Explained | None = None


def weigh(
    flows: Flows, job: Job, labelled: Parallelism, topology: Topology | None, hints: Hints | None = None
) -> Weighed | None:
    """Compute the probability of an inferred layout. None if the records do not allow it.

    Parameters
    ----------
    flows : Flows
        Records of the job, or of more jobs; at most `MOST_RECORDS`.
    job : Job
        The job with at most `MOST_MEMBERS` ranks.
    labelled : Parallelism
        The layout that `prism.layout.labels.parallelism` inferred from the same records.
    topology : Topology or None
        Host and rail of the ranks.
    hints : Hints or None
        What the operator knows; used as a prior.

    Returns
    -------
    Weighed or None
        The likeliest hypothesis replaces the labelled layout if it, or its groups, explain the records better. For sampled
        records and for records of several messages the labelled layout stays, with less confidence: their messages cannot be
        counted.
    """
    if len(job.endpoints) > c.MOST_MEMBERS or not 0 < len(flows) <= c.MOST_RECORDS:
        return None
    if 2 * np.count_nonzero(flows.messages > 1) > len(flows) or np.any(flows.sampling_rate != 1):
        return Weighed(min(labelled.layout.confidence, c.UNCOUNTED), ())
    problem = problem_of(flows, job.endpoints, topology)
    if problem is None:
        return None
    layout = labelled.layout
    sizes = _of(layout)
    in_bursts = all(s.bursts for s in problem.streams)
    hint_prior = None if hints is None else lambda layout: prior(hints, layout, job.endpoints)
    ranked = _agreeing(answers(problem, hint_prior), labelled, c.AGREES_IN_BURSTS if in_bursts else c.AGREES)
    if not ranked:
        return None
    first, most = ranked[0], _most(job, topology)
    confidence = min(first.probability * first.explains, most)
    if _sizes(first) == sizes and (_is_whole(labelled, len(job.endpoints)) or _groups_of(labelled) == _groups(problem, first)):
        return Weighed(min(first.probability * max(first.explains, c.EVEN), most), _alternatives(ranked))
    absent = in_bursts and confidence < c.SURE and all(_sizes(one) != sizes for one in ranked)
    if absent and layout.dp * layout.pp * layout.tp * layout.cp == len(job.endpoints):
        others = (one for one in _alternatives([first, *ranked]) if _of(one.layout) != sizes)
        return Weighed(min(layout.confidence, c.EVEN), tuple(replace(one, why=NOT_EXPLAINED) for one in others))
    if first.explains < c.EVEN:
        less = tuple(replace(one, why=NOT_EXPLAINED) for one in _alternatives(ranked))
        return Weighed(confidence, less, explained(problem, first.best, confidence, flows))
    return Weighed(confidence, _alternatives(ranked), explained(problem, first.best, confidence, flows))


def _most(job: Job, topology: Topology | None) -> float:
    """Return the highest confidence. Where a host has fewer ranks than another, and GPUs left, ranks may be missing."""
    if topology is None:
        return 1.0
    ranks = Counter(topology.host(endpoint) for endpoint in job.endpoints)
    gpus = Counter(one.host for one in topology.endpoints.values())
    missing = any(number < min(max(ranks.values()), gpus[host]) for host, number in ranks.items() if host is not None)
    return c.RANKS_MISSING if missing else 1.0


def _agreeing(ranked: Sequence[Answer], labelled: Parallelism, odds: float) -> list[Answer]:
    """Multiply the odds of answers that agree with the labelled layout, which is one more piece of evidence.

    `labels` compares the pace of ranks in one host only at hand-overs. It cannot see other traffic inside hosts. Answers that
    differ only in that keep their odds.
    """
    layout = labelled.layout
    sizes = _of(layout)
    tensor = any(group.kind == "tp" and group.evidence == "traffic" for group in labelled.groups)
    wire = layout.pp, layout.ep, layout.cp, tensor
    inside = c.AGREES_INSIDE if layout.pp > 1 else 1.0
    factors = [(odds if _on_wire(one) == wire else 1.0) * (inside if _sizes(one) == sizes else 1.0) for one in ranked]
    weights = [one.probability * factor for one, factor in zip(ranked, factors, strict=True)]
    whole = sum(weights) or 1.0
    updated = [one._replace(probability=weight / whole) for one, weight in zip(ranked, weights, strict=True)]
    return sorted(updated, key=lambda one: -one.probability)


def _on_wire(one: Answer) -> tuple[int, int, int, bool]:
    layout = one.best.layout
    return layout["pp"], layout["ep"], layout["cp"], "tp" in one.best.kinds


def _is_whole(labelled: Parallelism, ranks: int) -> bool:
    """Check whether every rank is in a group of each dimension, and the group has the dimension's size."""
    sizes = {kind: getattr(labelled.layout, kind) for kind in ("dp", "pp", "tp", "cp")}
    count: Counter[str] = Counter()
    for group in labelled.groups:
        count[group.kind] += len(group.members) * (len(group.members) == sizes.get(group.kind))
    return all(count[kind] >= ranks for kind, size in sizes.items() if size > 1)


def _groups_of(labelled: Parallelism) -> set[tuple[str, frozenset[str]]]:
    return {(group.kind, frozenset(group.members)) for group in labelled.groups if len(group.members) > 1}


def _groups(problem: Problem, one: Answer) -> set[tuple[str, frozenset[str]]]:
    return {(kind, frozenset(problem.members[m] for m in members)) for kind, members in one.best.groups}


def _of(layout: Layout) -> tuple[int, ...]:
    return layout.dp, layout.pp, layout.tp, layout.ep, layout.cp


def _sizes(one: Answer) -> tuple[int, ...]:
    return tuple(one.best.layout[kind] for kind in ("dp", "pp", "tp", "ep", "cp"))


def _alternatives(ranked: Sequence[Answer]) -> tuple[Alternative, ...]:
    return tuple(
        Alternative(Layout(**one.best.layout, confidence=round(one.probability * one.explains, 3)), _why(ranked[0], one))
        for one in alternatives(ranked)
    )


def _why(best: Answer, other: Answer) -> str:
    """Describe why the traffic fits both layouts."""
    a, b = best.best, other.best
    if a.kinds == b.kinds and a.families == b.families:
        return "the traffic between hosts is the same; what the GPUs of a host do among themselves is not seen"
    differ = [f"{x.upper()} or {y.upper()}" for x, y in zip(a.kinds, b.kinds, strict=False) if x != y and "none" not in (x, y)]
    return f"one kind of traffic may be {differ[0]}" if differ else "part of the traffic fits both"
