"""Detect the rank that worked while steps were longer: the one that used the time that all ranks lost.

While all wait for one rank, the others' own work is unchanged, or less, because they wait instead of working ahead. The rank
that they wait for works longer by the excess of the steps.
"""

from __future__ import annotations

import numpy as np

from collectors.columns.record import Mask
from prism.detectors import constants as c
from prism.detectors.slow_rank import severity
from prism.findings.message_values import steps_take
from prism.graph.job_view import Floats, View
from prism.loops.arrays.change_points import (
    HIGH,
    OFTEN,
    RARE,
    Shift,
    by_chance,
    even,
    held,
    middle,
    shifts,
    spread,
    unbroken,
    usual,
)
from prism.loops.arrays.intervals import Ints
from prism.model import Finding, SubjectType


def straggler(
    view: View, *, factor: float = c.LONGER, sigmas: float = c.SIGMAS, share: float = 0.5, apart: float = c.LEADS
) -> list[Finding]:
    """Detect the rank that worked longer by the `share` of the steps' excess, and by the share `apart` of it longer than any
    other.

    Steps are longer for three or more in sequence, by `factor` and by `sigmas` of their noise, and so is its work in most of
    them. In collectives of one-sided writes a sender that waits for room at its receiver seems to work: there late_rank finds
    the rank that came last.
    """
    total = view.work[2]
    if len(view.ends) < c.COMPARED_STEPS or len(total) < c.LEAST_RANKS or waits_look_like_work(view):
        return []
    level = np.log(np.maximum(view.durations, 1.0))
    level -= usual(level[None])[0]  # more than half of the steps may be slow, or evaluations
    noise = min(spread(level, floor=c.STEP_NOISE), max(-2 * float(np.nanmedian(level[level <= 0])), c.STEP_NOISE))
    found = []
    for whole in shifts(level, noise, least=view.least, height=np.log(factor), score=sigmas):
        parts = (one for one in unbroken(level, whole, noise, least=view.least) if one.score >= sigmas)
        named = (_named(view, one, sigmas, share, apart) for one in (whole, *parts))
        found += next(([one] for one in named if one is not None), [])
    return found


def _named(view: View, one: Shift, sigmas: float, share: float, apart: float) -> Finding | None:
    """Find the rank that worked longer in some steps, as in `straggler`; None if there is none, or these are hiccups."""
    best, grown, ahead = worked_longer(view, one, share=share, apart=apart)
    if best < 0:
        return None
    total = view.work[2]
    more, by = total - usual(total[:, calm(view, one.start, one.stop)], share=HIGH), one._replace(height=float(grown[best]))
    if held(more[best], by, by.height / 2) < OFTEN or not even(more[best], by, _noise(total[best], one)):
        return None
    if by_chance(more, best, by) > RARE:  # expected among many ranks and steps
        return None
    score = float(ahead / max(_noise(total[best], one), 1.0))
    return straggler_finding(view, best, one, grown, min(one.score, score)) if score >= sigmas else None


def waits_look_like_work(view: View) -> bool:
    """Whether a sender that waits for room at its receiver seems to work: collectives of one-sided writes."""
    return view.one_sided and not view.parallelism.piped


def worked_longer(view: View, one: Shift, *, share: float = 0.5, apart: float = c.LEADS) -> tuple[int, Floats, float]:
    """Find the rank that worked longer in some steps as in `straggler`, or -1; the excess of each rank, ns; its lead, ns."""
    grown = longer(view, one.start, one.stop)
    lost = float(view.period * (np.exp(one.height) - 1))
    best = int(np.argmax(grown))
    others = _ranks_elsewhere(view, best)
    ahead = float(grown[best] - grown[others].max()) if len(others) and np.isfinite(grown[best]) else -np.inf
    found = grown[best] >= share * lost and ahead >= apart * lost and not _as_long_before(view, best, one, lost)
    return (best if found else -1), grown, ahead


def _as_long_before(view: View, rank: int, one: Shift, lost: float) -> bool:
    """Whether a rank worked equally long in a step of usual duration: then its work is not what some steps `lost`."""
    other = calm(view, one.start, one.stop)
    short = other & (view.durations <= middle(view.durations[other]) + lost / 4)
    worked = view.work[2][rank]
    return bool(np.nan_to_num(worked[short]).max(initial=0.0) >= middle(worked[one.start : one.stop]) - lost / 2)


def _ranks_elsewhere(view: View, rank: int) -> Ints:
    """Ranks on other hosts: a fault may slow neighbours on the host as well, invisibly."""
    host = [view.topology.host(a) if view.topology is not None else None for a in view.job.endpoints]
    return np.array([r for r in range(len(host)) if r != rank and (host[rank] is None or host[r] != host[rank])], np.int64)


def _subject_of(view: View, rank: int, grown: Floats, *, alike: float = c.AS_SLOW) -> tuple[SubjectType, list[str]]:
    """The rank; or its host, if others of it work longer as well: waits inside a host are invisible."""
    address = view.job.endpoints[rank]
    host = view.topology.host(address) if view.topology is not None else None
    mates = [a for a, g in zip(view.job.endpoints, grown, strict=True) if g >= alike * grown[rank]]
    if host is None or view.topology is None:
        return "endpoint", [address]
    mates = [a for a in mates if view.topology.host(a) == host]
    return ("host", mates) if len(mates) > 1 else ("endpoint", [address])


def straggler_finding(view: View, rank: int, one: Shift, growth: Floats, score: float) -> Finding:
    """Write the finding on a rank that worked longer in some steps, as found by `worked_longer`."""
    address, grown, (start, end) = view.job.endpoints[rank], float(growth[rank]), view.during(one.start, one.stop)
    subject, ranks = _subject_of(view, rank, growth)
    name = (view.topology.host(address) or address) if subject == "host" and view.topology is not None else address
    slowdown = view.slowdown(one.start, one.stop)
    return Finding(
        detector="laggard",
        kind="slow_rank",
        job=view.job.id,
        severity=severity(slowdown, grown / view.period),
        subject=subject,
        ids=(name,),
        start_ns=start,
        end_ns=end,
        slowdown=round(slowdown, 3),
        score=round(min(score, c.MOST_SCORE), 2),
        message=(
            f"compute time per step is {grown / 1e6:.1f} ms longer than usual; "
            f"{steps_take(view, one.start, one.stop, slowdown)}; no other rank changed as much"
        ),
        evidence={
            "steps": view.numbers(one.start, one.stop),
            "ranks": ranks,
            "lost_ms_per_step": round(grown / 1e6, 3),
        },
    )


def longer(view: View, first: int, stop: int) -> Floats:
    """Compute how much more each rank worked in steps `first` to `stop` (exclusive) than it usually does in the others, ns.

    Other steps of equal duration are left out: they are evaluations, or slow as well. −inf if mostly unknown; float64[ranks].
    """
    total = view.work[2]
    inside = total[:, first:stop]
    grown = middle(inside, axis=1)[:, 0] - usual(total[:, calm(view, first, stop)], share=HIGH)[:, 0]
    known = np.isfinite(inside).mean(axis=1) >= OFTEN
    return np.where(known & np.isfinite(grown), grown, -np.inf)


def calm(view: View, first: int, stop: int) -> Mask:
    """Mask of the steps, except `first` to `stop` (exclusive), that took less time than these; all others if there are none."""
    other = np.ones(len(view.ends), np.bool_)
    other[first:stop] = False
    shorter = other & ~(view.durations >= middle(view.durations[first:stop]))
    return shorter if shorter.any() else other


def _noise(work: Floats, one: Shift) -> float:
    """Standard error of the difference between a rank's work in some steps and in the other steps in which it worked, ns."""
    rest = np.delete(work, np.arange(one.start, one.stop))
    parts = [work[one.start : one.stop], rest[rest >= usual(rest[None], share=HIGH)[0, 0] / 2]]
    return float(np.sqrt(sum(spread(part, floor=0.0) ** 2 / max(np.isfinite(part).sum(), 1) for part in parts)))
