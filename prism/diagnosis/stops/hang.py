"""Detect silences of a whole job within a step, and the rank that was due: a hang, or an unseen crash."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from collectors.columns.record import UDP
from prism.diagnosis import constants as c
from prism.diagnosis.stops.due_operations import (
    Due,
    Stop,
    broken,
    completes,
    due_operations,
    explained,
    near,
    own_steps,
    progress,
    usual_steps,
)
from prism.findings.message_values import duration, step_range
from prism.graph import constants as g
from prism.graph.job_view import Floats, View
from prism.loops.arrays.connection_renewals import connections, renewals
from prism.loops.arrays.intervals import union
from prism.loops.detection.connection_ends import closings
from prism.model import Finding, Severity, SubjectType


def hang(view: View) -> list[Finding]:
    """Detect silences of the whole job within a step, and the rank that was due to continue.

    Over, or lasting, a silence is longer than usual by `LONGER` or `PENDING` steps. Silences at the same place of several steps
    are a habit; so is a due rank that writes a checkpoint meanwhile. If nobody else had begun the step, or nobody has anything
    left of it, the records do not tell a rank that stopped from an evaluation: one such pause in a whole recording is
    information. So is a silence without a likely rank or host. If all connections are new afterwards, the rank crashed. Over
    RDMA, without visible closes, so did a job that is silent for several steps. Needs examples: steps of usual duration.
    """
    calm = usual_steps(view)
    if len(calm) < g.FEW or len(view.edges) < 2:
        return []
    halted = [(one, like, *progress(view, one, like)) for one in stops(view) for like in [near(calm, one.step)]]
    places = np.array([(one.end - one.start, min(float(np.mean(sent)), 1.0)) for one, _, sent, _ in halted]).reshape(-1, 2)
    out = []
    for (one, like, sent, rest), (length, moved) in zip(halted, places.tolist(), strict=True):
        begun, same = sent > c.SLACK, np.abs(places[:, 1] - moved) <= g.NEAR
        if np.count_nonzero(same & (2 * places[:, 0] >= length)) > 1:
            continue
        found = due_operations(view, one, like)
        ranks, hosts = explained(view, found)
        guilty = _guilty(view, found, ranks, hosts)
        alike = np.ptp(sent) <= c.SLACK or moved > g.NEAR  # as at the end of a job
        ended = min(moved, 1 - moved) < g.NEAR and alike
        guilty = [] if not one.over and (ended or completes(view, sent, like)) else guilty
        due = np.delete(begun, guilty).any() and (rest > c.SLACK).any()
        paused = one.over and not one.gone and view.least >= g.SPAN and not _writes(view, one, list(range(len(ranks))))
        if due and not _writes(view, one, guilty) and (guilty or not one.gone):
            out.append(_finding(view, one, guilty, moved, ranks + hosts))
        elif not due and paused:
            out.append(_pause(view, one, guilty))
    return out


def stops(view: View) -> Iterator[Stop]:
    """Silences of the payload that are longer than usual; the last one ends with the records of all jobs."""
    flows = view.flows
    rows = np.flatnonzero(~flows.control())
    begin, end = union(flows.start_ns[rows], flows.end_ns[rows])
    after = np.append(begin[1:], max(view.until, int(end[-1])))
    most = np.zeros(len(view.ends) + 1)
    np.maximum.at(most, view.step_of(after), after - end)
    more = np.where(np.arange(len(end)) < len(end) - 1, c.LONGER, 2 * c.LONGER) * view.period
    silent = np.flatnonzero(after - end >= np.median(most[:-1]) + more)
    if not len(silent):
        return
    anew = np.isin(after, renewals(flows, connections(flows, rows)))
    closed = flows.start_ns[closings(flows)]
    rdma = bool((flows.protocol[rows] == UDP).all())
    steps = own_steps(view)
    most_steps = len(view.ends) - broken(view)
    for i in silent.tolist():
        over, start, stop = i + 1 < len(end), int(end[i]), int(after[i])
        step = min(int(np.searchsorted(own[:, 1], start)) for own in steps)
        step = step if over else min(step, most_steps)
        closing = np.searchsorted(closed, [start - view.period, stop])
        if not step or (closing[0] < closing[1] and (anew[i] or not over)):  # a crash: see `crash`
            continue
        since = np.array([own[step - 1, 1] for own in steps])
        until = np.array([own[step, 1] if step < len(own) else np.iinfo(np.int64).max for own in steps])
        gone = bool(anew[i]) if over else rdma and stop - start >= c.CLEAR * view.period
        yield Stop(start, stop, over, gone, step, since, until)


def _guilty(view: View, found: Due, ranks: Floats, hosts: Floats) -> list[int]:
    """The fewest ranks that stopped with the probability `SURE`: one, both ends of an operation, those of one or two hosts."""
    if not len(found.lanes):
        return []
    best, whole = int(np.argmax(ranks)), ranks + hosts
    pairs = [sorted(pair) for pair in found.lanes.tolist() if best in pair]
    mates = [[_mates(view, rank) for rank in pair] for pair in found.lanes.tolist()]
    one = [own for both in mates for own in both]
    two = [sorted({*a, *b}) for a, b in mates]
    for sets, likely in (([[best]], ranks), (pairs, ranks), (one, whole), (two, whole)):
        likeliest = max(sets, key=lambda own, likely=likely: float(likely[own].sum()), default=[])
        if likely[likeliest].sum() >= c.ALWAYS:
            return likeliest
    return []


def _mates(view: View, rank: int) -> list[int]:
    """Ranks on a rank's host, including itself."""
    return [rank] if view.hosts[rank] < 0 else np.flatnonzero(view.hosts == view.hosts[rank]).tolist()


def _writes(view: View, one: Stop, guilty: list[int]) -> bool:
    """Whether a silent rank sends bulk data out of the job meanwhile."""
    around = view.around
    codes = np.array([view.code[view.job.endpoints[r]] for r in guilty])
    members = around.among(view.job.endpoints)
    away = np.isin(around.src, codes) & ~members[around.dst] & view.work_relevant
    middle = (around.start_ns + around.end_ns) // 2
    return bool((away & (middle > one.start) & (middle < one.end)).any())


def _blamed(view: View, guilty: list[int]) -> tuple[SubjectType, tuple[str, ...]]:
    """Subject of some ranks: rank, host or pair; the job if there are none."""
    if not guilty:
        return "job", (view.job.id,)
    ranks = tuple(view.job.endpoints[i] for i in guilty)
    hosts = tuple(sorted({view.host(a) for a in ranks}))
    if len(ranks) == 1:
        return "endpoint", ranks
    return ("host", hosts) if len(hosts) == 1 else ("link", ranks if len(ranks) == 2 else hosts)


def _finding(view: View, one: Stop, guilty: list[int], moved: float, likely: Floats) -> Finding:
    ranks = tuple(view.job.endpoints[i] for i in guilty)
    subject, ids = _blamed(view, guilty)
    who = {"endpoint": "this rank", "host": "this host"}.get(subject, "one of these two, which exchange data,")
    who = f"{who} was due to send next" if guilty else "no single rank was clearly due to send next"
    length = one.end - one.start
    listed = (likely >= c.NO_SUSPECT) | (np.isin(np.arange(len(likely)), guilty) & (likely >= c.NO_SUSPECT**2))
    begin = max(int(view.ends[one.step - 1]), one.start - int(view.period))
    how = "and has not resumed" if not one.over else "and resumed on new connections" if one.gone else "and resumed"
    return Finding(
        detector="hang",
        kind="crash" if one.gone else "hang",
        job=view.job.id,
        severity=Severity.CRITICAL if guilty else Severity.INFO,
        subject=subject,
        ids=ids,
        start_ns=one.start if one.gone else begin,
        end_ns=one.start if one.gone else one.end,
        slowdown=1.0 if one.gone else round(float((one.end - begin) / view.period), 3),
        score=round(min(length / view.period * 10, c.MOST_SCORE), 2),
        message=(
            f"the job sent nothing for {duration(length)} {how}; a step usually takes {duration(view.period)}; "
            f"{moved:.0%} of {step_range(view, one.step, one.step + 1)} had been transferred, and {who}"
        ),
        evidence={
            "step": view.numbers(one.step, one.step)[0],
            "ranks": list(ranks),
            "silent_ms": round(length / 1e6, 3),
            "waiting": len(view.job.endpoints) - len(ranks),
            "moved": round(moved, 4),
            "due_first": {view.job.endpoints[i]: round(float(likely[i]), 4) for i in np.flatnonzero(listed)},
        },
    )


def _pause(view: View, one: Stop, guilty: list[int]) -> Finding:
    """Describe a silence in which nobody can be shown to have been due; `guilty` are those that may have stopped."""
    suspects = ", ".join(_blamed(view, guilty)[1]) if guilty else "any rank"
    length = one.end - one.start
    return Finding(
        detector="hang",
        kind="slow_step",
        job=view.job.id,
        severity=Severity.INFO,
        subject="job",
        ids=(view.job.id,),
        start_ns=one.start,
        end_ns=one.end,
        slowdown=round(float(length / view.period) + 1, 3),
        score=round(min(length / view.period * 10, c.MOST_SCORE), 2),
        message=(
            f"the job sent nothing for {duration(length)} between two steps, once; a step usually takes "
            f"{duration(view.period)}; either it evaluated or saved its state, or {suspects} began the next step late"
        ),
        evidence={
            "step": view.numbers(one.step, one.step)[0],
            "silent_ms": round(length / 1e6, 3),
            "verdict": {"unknown": 1.0},
        },
    )
