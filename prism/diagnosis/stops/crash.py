"""Detect a rank that left in the middle of a step and stopped the job."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collectors.columns.record import SYN, Mask
from prism.diagnosis import constants as c
from prism.diagnosis.stops.due_operations import Stop, broken, near, own_steps, progress, usual_steps
from prism.findings.message_values import duration
from prism.graph import constants as g
from prism.graph.job_view import Floats, View
from prism.loops.arrays.intervals import Ints, union
from prism.loops.detection.connection_ends import closings
from prism.model import Finding, Severity


def crash(view: View, *, patience: float = 1.0) -> list[Finding]:
    """Detect teardowns that interrupt a step; the first rank to close its connections is the one that left.

    In a teardown, members close connections to each other, no step ends meanwhile, and the job is silent for `patience` periods
    afterwards (at the end of a capture the silence need not be visible). If the first rank has closed all of its connections,
    the others may continue for as long before.

    A teardown interrupts a step if work was due (see `_interrupted`), if the others waited for the rank that left (see
    `_survived`), or if the job starts again on the same endpoints. Else the job may have ended: a step may have been detected
    as part of one, or several as one. The finding is information if all ranks stopped at the same place, and the first rank did
    not close alone, or other steps rest at this place too.
    """
    flows, period = view.flows, view.period
    closing, calm = closings(flows), usual_steps(view)
    if not len(closing) or not view.edges or period <= 0 or not len(calm):
        return []
    times = flows.start_ns[closing]
    busy = np.sort(flows.start_ns[~flows.control()])
    steps, own, whole = np.searchsorted(view.ends, times), own_steps(view), len(view.ends) - broken(view)
    out = []
    for group in np.split(np.arange(len(times)), np.flatnonzero((np.diff(times) > period) & (np.diff(steps) > 0)) + 1):
        left = _left(view, closing[group])
        last = int(times[group[-1]])
        until = last + (int(patience * period) if left.gone else 0)
        later, step = busy[busy > until], min(whole, *(int(np.searchsorted(each[:, 1], left.at)) for each in own))
        goes_on = len(later) and later[0] < until + patience * period
        if goes_on or not step or (step < whole and view.ends[step] <= last):
            continue
        since = np.array([each[step - 1, 1] for each in own])
        stop, back = Stop(until, until, False, True, step, since, since), _came_back(view, last)
        moved, before = (progress(view, stop._replace(start=at), near(calm, step))[0] for at in (until, left.at))
        survived = _survived(left, period)
        if back or survived or _interrupted(view, left, moved, before):
            # a step that ends leaves all ranks alike, and nobody sends after it
            alone = _alone(left, period)
            shown = moved[_sends(view)]
            cut = bool(np.ptp(shown) > (c.SLACK if alone else g.NEAR) or _several(moved - before))
            sure = back or survived or cut or (alone and not _rests(view, near(calm, step), shown))
            out.append(_finding(view, left, int(since.min()), float(np.mean(shown)), sure=sure))
    return out


def _interrupted(view: View, left: Left, moved: Floats, before: Floats) -> bool:
    """Whether work was due when a rank left: its own, and that of others. `moved`: shares of the step; `before`: when it left.

    Either all ranks had begun the step and some had not ended it; or others began it after the rank had left; or it left alone
    when most ranks had begun. In a job that evaluates, these may be in an evaluation: some steps contain one and move more. If
    the rank had ended its step, others may only end their last one later. If all have sent whole steps since the records began,
    the job ended as it does, and steps were found to end elsewhere.
    """
    begun, own = moved > c.SLACK, view.codes == left.who
    if not (begun & (moved < 1 - c.RARE)).any() or not own.any() or before[own][0] >= 1 - c.RARE or _whole_steps(view):
        return False
    sends = _sends(view)
    begun, before = begun[sends], before[sends]
    if begun.all() or (left.gone and _several(np.where(before <= c.SLACK, moved[sends], 0.0))):
        return True
    whole = view.volumes.sum(axis=0)[1:-1]
    steady = whole.max(initial=0.0) <= (1 + c.RARE) * np.median(whole)
    return bool(2 * np.count_nonzero(begun) > len(begun) and _alone(left, view.period) and steady)


def _whole_steps(view: View) -> bool:
    """Whether each rank that sends has sent a whole number of usual steps in all records."""
    src = np.array([edge.src for edge in view.edges.values()])
    total = np.array([float(view.flows.octets[edge.rows].sum()) for edge in view.edges.values()])
    usual = np.median(view.volumes[:, 1:], axis=1)
    steps = np.bincount(src, total)[np.unique(src)] / np.maximum(np.bincount(src, usual)[np.unique(src)], 1.0)
    return bool(np.abs(steps - np.rint(steps)).max() <= c.SLACK)


def _sends(view: View) -> Mask:
    """Select the ranks that send, bool[ranks]: the others never show that they have begun a step, or how much of it is over."""
    return np.isin(view.codes, [src for src, _ in view.edges])


class Left(NamedTuple):
    """The rank that closed connections first, at which time, ns; and for each other rank the first close to a third, by code.

    `gone`: the first rank closed all connections with which it trained, and sent nothing afterwards.
    """

    who: int
    at: int
    others: dict[int, int]
    gone: bool


def _left(view: View, closing: Ints) -> Left:
    """Find the rank that left first; `closing` are the records that end connections, sorted. An answer to a close does
    not count.
    """
    flows = view.flows
    src, dst, times = flows.src[closing], flows.dst[closing], flows.start_ns[closing]
    who, others = int(src[0]), dict[int, int]()
    for code, other, time in zip(src.tolist(), dst.tolist(), times.tolist(), strict=True):
        if who not in (code, other):
            others.setdefault(code, time)
    own = src == who
    peers = {key[1] for key in view.edges if key[0] == who}
    later = (flows.src == who) & (flows.start_ns > times[own][-1]) & ~flows.control()
    return Left(who, int(times[0]), others, peers <= set(dst[own].tolist()) and not later.any())


def _alone(left: Left, period: float) -> bool:
    """Whether one rank left first and all others only followed: `AHEAD_OF_OTHERS` times their mean distance later, and not
    simultaneously.
    """
    others = sorted(left.others.values())
    apart = c.AHEAD_OF_OTHERS * (others[-1] - others[0]) / max(len(others) - 1, 1) if others else 0.0
    return not others or others[0] - left.at > max(apart, g.SOON * period)


def _several(moved: Floats) -> bool:
    """Whether more than one rank moved more of a step than the few messages with which libraries end, or one far more."""
    return bool(np.count_nonzero(moved > c.SLACK) > 1 or moved.max(initial=0.0) > g.NEAR)


def _survived(left: Left, period: float) -> bool:
    """Whether one rank left for good, and all others waited for a step or longer before they closed together: none of them had
    come to its end.
    """
    return left.gone and _alone(left, period) and min(left.others.values(), default=left.at) - left.at >= period


def _rests(view: View, like: Ints, moved: Floats) -> bool:
    """Whether the steps `like` rest where all ranks have `moved` these shares: for `NEAR` of their longest rest or longer."""
    flows, place = view.flows, float(np.mean(moved))
    rows = np.flatnonzero(~flows.control())
    begin, end = union(flows.start_ns[rows], flows.end_ns[rows])
    at = np.searchsorted(begin, flows.start_ns[rows], "right") - 1
    octets, step, rests = np.bincount(at, flows.octets[rows]), view.step_of(begin), np.append(begin[1:], end[-1]) - end
    found = []
    for own in (np.flatnonzero(step == k) for k in like.tolist()):
        share = np.cumsum(octets[own]) / octets[own].sum()
        there = rests[own][np.abs(share - place) <= c.SLACK + np.ptp(moved)]
        found.append(there.max(initial=0) / max(int(rests[own].max(initial=0)), 1))
    return bool(np.median(found) >= g.NEAR)


def _came_back(view: View, after: int) -> bool:
    """Whether members opened connections to each other again and continued with steps."""
    flows = view.flows
    opened = flows.start_ns[(flows.tcp_flags & SYN) != 0]
    return bool((opened > after).any() and (view.ends > after).sum() > 1)


def _finding(view: View, left: Left, began: int, moved: float, *, sure: bool) -> Finding:
    """Write the finding: the rank that left first, and by how much before the others, in a step that `began` then."""
    flows = view.flows
    margin = min(left.others.values(), default=int(flows.end_ns.max())) - left.at
    apart = f"{duration(margin)} before the other ranks closed theirs" if left.others else "and no other rank did"
    address = flows.endpoints[left.who]
    score = 10 + 10 * float(np.log10(1 + margin / 1e6))
    closed = sorted(left.others.items(), key=lambda other: other[1])[:7]
    return Finding(
        detector="crash",
        kind="crash",
        job=view.job.id,
        severity=Severity.CRITICAL if sure else Severity.INFO,
        subject="endpoint",
        ids=(address,),
        start_ns=left.at,
        end_ns=left.at,
        slowdown=1.0,
        score=round(score, 2),
        message=(
            f"closed its connections {duration(left.at - began)} into a step, {apart}; "
            f"{moved:.0%} of the step's data had been transferred"
        ),
        evidence={
            "moved": round(moved, 4),
            "closed_ms": {flows.endpoints[code]: round((at - left.at) / 1e6, 3) for code, at in [(left.who, left.at), *closed]},
        },
    )
