"""Infer how a job is parallelised: the likeliest hypothesis about all of its traffic, its probability, and the alternatives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from collectors.columns.record import Flows
from prism.inventory.operator_hints import Hints
from prism.layout import constants as c
from prism.layout.answer._explained_traffic import Explained, explained, labelled_pairs
from prism.layout.answer._hint_priors import prior
from prism.layout.answer.posterior import Answer, alternatives, answers
from prism.layout.answer.reductions import sums
from prism.layout.search.complete_layout import Hypothesis
from prism.layout.search.problem import Problem, problem_of
from prism.model import Alternative, Job, Layout, Parallelism
from prism.steps.examined_traffic import Examined
from prism.topology import Topology

NOT_EXPLAINED = "no layout explains all of the traffic; this one explains part of it"


@dataclass(frozen=True, eq=False)
class Inferred:
    """The likeliest layout of a job.

    Attributes
    ----------
    best : Explained
        Layout, groups and streams; its confidence is the probability that it is right.
    alternatives : tuple of Alternative
        Other layouts that the traffic allows, the likeliest first.
    lockstep : float
        Share of the octets that move in collectives, 0 to 1; low for unrelated traffic.
    training : float
        Probability that the traffic trains a model, 0 to 1. Where hosts are unknown, or hide ranks, only exchanges without
        sums have 0.
    likelihood : float
        Log-likelihood of the layout, up to a constant of the records.
    examined : Examined, optional
        The repetition of the job's traffic; times count from the epoch.
    """

    best: Explained
    alternatives: tuple[Alternative, ...]
    lockstep: float
    training: float
    likelihood: float
    examined: Examined | None


def infer_members(flows: Flows, job: Job, topology: Topology | None, hints: Hints | None = None) -> tuple[Job, Inferred | None]:
    """Infer the layout of a job and which silent ranks it has: all, or none if no layout with them fits nearly as well.

    Ranks that hand over, or exchange context or experts, are not silent. So GPUs that nobody uses are no ranks of such a job.
    Parameters as in `infer_layout`.
    """
    inferred = infer_layout(flows, job, topology, hints)
    if not job.silent or inferred is None:
        return job, inferred
    silent = set(job.silent)
    speaking = replace(job, endpoints=tuple(one for one in job.endpoints if one not in silent), silent=())
    other = infer_layout(flows, speaking, topology, hints)
    unused = other is not None and other.likelihood > inferred.likelihood + c.UNUSED
    return (speaking, other) if unused else (job, inferred)


def infer_layout(flows: Flows, job: Job, topology: Topology | None, hints: Hints | None = None) -> Inferred | None:
    """Infer the layout of a job.

    Parameters
    ----------
    flows : Flows
        Records of the job, or of more jobs.
    job : Job
        Its endpoints are the ranks.
    topology : Topology or None
        Host and rail of the ranks; without it every rank has its own host.
    hints : Hints or None
        What the operator knows; used as a prior.

    Returns
    -------
    Inferred or None
        None if nothing repeats, or if no hypothesis fits. Where records are samples or sums of several messages, messages
        cannot be counted: the confidence is at most `INCOMPLETE`. It is lower where records do not resolve the steps.
    """
    if not len(flows) or len(job.endpoints) > c.MOST_MEMBERS:
        return None
    problem = problem_of(flows, job.endpoints, topology)
    if problem is None:
        return None
    ranked = answers(problem, None if hints is None else lambda layout: prior(hints, layout, job.endpoints))
    if not ranked:
        return None
    first = ranked[0]
    moving = _moving(problem)
    shown = first.probability * first.explains * _resolved(flows, problem) * moving
    confidence = min(shown, _most(flows, job, topology))
    others = _alternatives(ranked)
    if first.explains < c.EVEN:
        others = tuple(replace(one, why=NOT_EXPLAINED) for one in others)
    best, lockstep = explained(problem, first.best, confidence, flows), _lockstep(problem, first.best)
    examined = problem.steps.examined
    if examined is not None:
        examined = replace(examined, origin=examined.origin + flows.window[0])
    training = _training(first, problem, job, topology, moving)
    return Inferred(best, others, lockstep, training, first.best.score + float(np.log(first.explains)), examined)


def _training(first: Answer, problem: Problem, job: Job, topology: Topology | None, moving: float) -> float:
    """Return the probability that traffic trains a model: something sums, or its structure fits the layout.

    Where hosts are unknown, or hide ranks, the structure is not seen. Where no host hides traffic, gradients are on the wire.
    """
    summing, seen = sums(first.best), topology is not None and not job.silent
    hidden = not seen or len(set(problem.hosts)) < len(problem.members)
    return (1.0 if hidden else moving) * (float(summing) if summing is not None else first.explains if seen else 1.0)


def unknown_layout(flows: Flows, job: Job) -> Parallelism:
    """Return the result where no hypothesis fits: one dimension, without confidence, groups and streams."""
    pairs = labelled_pairs(flows, np.full(len(flows), -1, np.int32), ())
    return Parallelism(Layout(dp=len(job.endpoints), confidence=0.0), (), tuple(pairs))


def _most(flows: Flows, job: Job, topology: Topology | None) -> float:
    """Return the highest confidence that the records allow.

    Messages of samples, sums and merged records cannot be counted. Without hosts, dimensions may be hidden inside them. Where a
    host has fewer ranks than another, and GPUs left, ranks may be missing. Where most ranks are silent, they may be no ranks.
    """
    several = (flows.messages > 1) | (flows.messages < 0)
    counted = np.all(flows.sampling_rate == 1) and 2 * np.count_nonzero(several) <= len(flows)
    most = 1.0 if counted else c.INCOMPLETE
    if topology is None:
        return min(most, c.HOSTS_UNKNOWN)
    ranks = Counter(topology.host(endpoint) for endpoint in job.endpoints)
    missing = any(number < min(max(ranks.values()), topology.sizes[host]) for host, number in ranks.items() if host is not None)
    return min(most, c.INCOMPLETE) if missing or 2 * len(job.silent) >= len(job.endpoints) else most


def _resolved(flows: Flows, problem: Problem) -> float:
    """Return how well the records resolve a step, 0 … 1: by the sampling theorem it needs two records, or it may be any alias.

    A record of one message, and one that was busy throughout, are exact. Others may be sums over the time that was not busy.
    """
    rows = problem.streams.records[0]
    idle = np.where(flows.messages == 1, 0, np.maximum(flows.end_ns - flows.start_ns - flows.busy_ns, 0)).take(rows)
    mean = float(np.average(idle, weights=flows.octets.take(rows)))
    return min(1.0, problem.steps.period / max(2 * mean, 1.0))


def _moving(problem: Problem) -> float:
    """Return how likely more than scalars is on the wire, 0 … 1: if it is less, gradients and activations stay inside hosts."""
    _, start, end, _ = problem.streams.records
    src = np.repeat([s.src for s in problem.streams], np.diff(problem.streams.begins))
    most = float(np.bincount(src, end - start).max())
    return min(1.0, most / (c.LEAST_MOVING * problem.steps.count * problem.steps.period))


def _lockstep(problem: Problem, best: Hypothesis) -> float:
    collective = (family for family, kind in zip(best.families, best.kinds, strict=True) if kind not in ("pp", "none"))
    return sum(family.octets for family in collective) / problem.octets


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
