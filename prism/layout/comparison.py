"""Compare the layout that `prism.layout.labels.parallelism` inferred with all hypotheses: its probability, and which layout is
likelier.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from collectors.columns.record import Flows
from prism.inventory.operator_hints import Hints
from prism.layout import constants as c
from prism.layout.explained_traffic import Explained, explained
from prism.layout.hint_priors import prior
from prism.layout.posterior import Answer, alternatives, answers
from prism.layout.problem import Problem, problem_of
from prism.model import Alternative, Job, Layout, Parallelism
from prism.topology import Topology

NOT_EXPLAINED = "no layout explains all of the traffic; this one explains part of it"


@dataclass(frozen=True, eq=False)
class Weighed:
    """Confidence in the reported layout, and alternatives. `instead` is set if another replaces the inferred layout."""

    confidence: float
    alternatives: tuple[Alternative, ...]
    instead: Explained | None = None


def weigh(flows: Flows, job: Job, told: Parallelism, topology: Topology | None, hints: Hints | None = None) -> Weighed | None:
    """Compute the probability of an inferred layout (`told`) from the job's flow records. None if they do not allow it.

    The likeliest hypothesis replaces it where another layout, or other groups, explain the records better. It is kept, with
    less confidence, for samples and for records of several messages each: they cannot be counted.
    """
    if len(job.endpoints) > c.MOST_MEMBERS or not 0 < len(flows) <= c.MOST_RECORDS:
        return None
    if 2 * np.count_nonzero(flows.messages > 1) > len(flows) or np.any(flows.sampling_rate != 1):
        return Weighed(min(told.layout.confidence, c.UNCOUNTED), ())
    problem = problem_of(flows, job.endpoints, topology)
    if problem is None:
        return None
    layout = told.layout
    sizes = _of(layout)
    in_bursts = all(s.bursts for s in problem.streams)
    believed = None if hints is None else lambda layout: prior(hints, layout, job.endpoints)
    found = _agreeing(answers(problem, believed), told, c.AGREES_IN_BURSTS if in_bursts else c.AGREES)
    if not found:
        return None
    first = found[0]
    sure = first.probability * first.explains
    if _sizes(first) == sizes and (_is_whole(told, len(job.endpoints)) or _groups_of(told) == _groups(problem, first)):
        return Weighed(first.probability * max(first.explains, c.EVEN), _alternatives(found))
    absent = in_bursts and sure < c.SURE and all(_sizes(one) != sizes for one in found)
    if absent and layout.dp * layout.pp * layout.tp * layout.cp == len(job.endpoints):
        others = (one for one in _alternatives([first, *found]) if _of(one.layout) != sizes)
        return Weighed(min(layout.confidence, c.EVEN), tuple(replace(one, why=NOT_EXPLAINED) for one in others))
    if first.explains < c.EVEN:
        less = tuple(replace(one, why=NOT_EXPLAINED) for one in _alternatives(found))
        return Weighed(sure, less, explained(problem, first.best, sure, flows))
    return Weighed(sure, _alternatives(found), explained(problem, first.best, sure, flows))


def _agreeing(found: Sequence[Answer], told: Parallelism, odds: float) -> list[Answer]:
    """The answers, where what `prism.layout.labels.parallelism` inferred by other means is one more piece of evidence.

    It compares the pace of a host's members only where they hand over: elsewhere it does not know what goes on inside hosts,
    and answers that differ in nothing else keep their odds.
    """
    layout = told.layout
    sizes = _of(layout)
    tensor = any(group.kind == "tp" and group.evidence == "traffic" for group in told.groups)
    wire = layout.pp, layout.ep, layout.cp, tensor
    inside = c.AGREES_INSIDE if layout.pp > 1 else 1.0
    factors = [(odds if _on_wire(one) == wire else 1.0) * (inside if _sizes(one) == sizes else 1.0) for one in found]
    weights = [one.probability * factor for one, factor in zip(found, factors, strict=True)]
    whole = sum(weights) or 1.0
    again = [one._replace(probability=weight / whole) for one, weight in zip(found, weights, strict=True)]
    return sorted(again, key=lambda one: -one.probability)


def _on_wire(one: Answer) -> tuple[int, int, int, bool]:
    layout = one.best.layout
    return layout["pp"], layout["ep"], layout["cp"], "tp" in one.best.kinds


def _is_whole(told: Parallelism, ranks: int) -> bool:
    """Whether every rank is in a group of each dimension, of its size."""
    sizes = {kind: getattr(told.layout, kind) for kind in ("dp", "pp", "tp", "cp")}
    held: Counter[str] = Counter()
    for group in told.groups:
        held[group.kind] += len(group.members) * (len(group.members) == sizes.get(group.kind))
    return all(held[kind] >= ranks for kind, size in sizes.items() if size > 1)


def _groups_of(told: Parallelism) -> set[tuple[str, frozenset[str]]]:
    return {(group.kind, frozenset(group.members)) for group in told.groups if len(group.members) > 1}


def _groups(problem: Problem, one: Answer) -> set[tuple[str, frozenset[str]]]:
    return {(kind, frozenset(problem.members[m] for m in members)) for kind, members in one.best.groups}


def _of(layout: Layout) -> tuple[int, ...]:
    return layout.dp, layout.pp, layout.tp, layout.ep, layout.cp


def _sizes(one: Answer) -> tuple[int, ...]:
    return tuple(one.best.layout[kind] for kind in ("dp", "pp", "tp", "ep", "cp"))


def _alternatives(found: Sequence[Answer]) -> tuple[Alternative, ...]:
    return tuple(
        Alternative(Layout(**one.best.layout, confidence=round(one.probability * one.explains, 3)), _why(found[0], one))
        for one in alternatives(found)
    )


def _why(best: Answer, other: Answer) -> str:
    """Why the traffic fits both layouts."""
    a, b = best.best, other.best
    if a.kinds == b.kinds and a.families == b.families:
        return "the traffic between hosts is the same; what the GPUs of a host do among themselves is not seen"
    differ = [f"{x.upper()} or {y.upper()}" for x, y in zip(a.kinds, b.kinds, strict=False) if x != y and "none" not in (x, y)]
    return f"one kind of traffic may be {differ[0]}" if differ else "part of the traffic fits both"
