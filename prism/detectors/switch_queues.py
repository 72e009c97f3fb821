"""Detect hops between switches on which packets queue, and links that slow a job although no sender is slower.

A deep buffer accepts data at full rate, so that rates within bursts, seen before the buffer, do not show a slow hop. The delay
of single packets from one switch to the next does.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from itertools import pairwise

import numpy as np

from prism.detectors import constants as c
from prism.findings.message_values import duration, steps_take
from prism.graph.job_view import View
from prism.loops.arrays.change_points import Shift, shifts, spread
from prism.loops.arrays.edges import Pair
from prism.model import Finding, Severity

BEHIND = "queued_link"  # a queue has many causes: a more specific claim explains it
Hop = tuple[str, str]  # sender, receiver


def queues(
    view: View, start: int, stop: int, *, times: float = c.QUEUE_FACTOR, share: float = c.LONGEST_QUEUE
) -> dict[Hop, float]:
    """Find hops whose packets took `times` longer in steps `start` to `stop` than before and after; with the delay, ns.

    Hops with less than `share` of the longest delay are behind a queue, or before one, not its cause. Clocks may disagree: if
    some delays are zero or negative, delays count from the smallest.
    """
    t = view.transits
    known = t.packets > 0
    if not known.any() or stop - start >= len(view.ends):
        return {}
    low, high = view.during(start, stop)
    inside = (t.start_ns >= low) & (t.start_ns <= high)
    out = {}
    for a, b in {(int(a), int(b)) for a, b in zip(t.sender, t.receiver, strict=True)}:
        hop = (t.sender == a) & (t.receiver == b) & known
        now, usual = t.delay_ns[hop & inside], t.delay_ns[hop & ~inside]
        if len(now) and len(usual):
            peak, calm = float(np.percentile(now, 75)), float(np.median(usual))
            off = min(float(usual.min()), 0.0)
            if peak - off >= times * (calm - off):
                out[t.exporters[a], t.exporters[b]] = peak - off
    longest = max(out.values(), default=0.0)
    return {hop: delay for hop, delay in out.items() if delay >= share * longest}


def longer_steps(view: View, *, factor: float = c.SLOWER, sigmas: float = c.SIGMAS) -> list[Shift]:
    """Find spans of two steps or more, `factor` times longer than the job's others."""
    if len(view.ends) < c.COMPARED_STEPS:
        return []
    level = np.log(np.maximum(view.durations, 1.0) / view.period)
    return shifts(level, spread(level, floor=c.VOLUME_NOISE), least=2, height=np.log(factor), score=sigmas)


def waiting(queued: Mapping[Hop, float], hop: Hop) -> str:
    """Text: how long packets waited on a hop."""
    return (
        f"packets wait {duration(queued[hop])} from {hop[0]} to {hop[1]}, at least {c.QUEUE_FACTOR:.0f} times the usual delay"
    )


def queued_link(view: View, *, share: float = c.QUEUE_EXPLAINS) -> list[Finding]:
    """Detect links and switches where packets queue while steps take longer, long enough to explain the `share` of the excess.

    In the worst case each rank waits for as many transfers in sequence as a ring has, two for each member, or as it sends if
    more.
    """
    if not len(view.transits):
        return []
    crossing = _crossing(view)
    out = []
    for one in longer_steps(view):
        queued = {hop: delay for hop, delay in queues(view, one.start, one.stop).items() if hop in crossing}
        more = float(np.median(view.durations[one.start : one.stop])) - view.period
        waits = max(2.0 * len(view.job.endpoints), _sent(view, {edge for hop in queued for edge in crossing[hop]}))
        explained = waits * max(queued.values(), default=0.0) / max(more, 1.0)
        shared = set.intersection(*map(set, queued)) if queued else set()
        if shared and explained >= share:
            worst = _on_end(view, one, set(queued)) / max(more, 1.0)
            out.append(_finding_of(view, one, queued, shared, (explained, worst), crossing))
    return out


def _on_end(view: View, one: Shift, hops: Set[Hop]) -> float:
    """For how long packets waited in each of some steps, ns, if the longest waits of all bins and hops came one after another.

    What is usual for a hop is none: clocks may disagree.
    """
    t, (low, high) = view.transits, view.during(one.start, one.stop)
    inside, known, waited = (t.start_ns >= low) & (t.start_ns <= high), t.packets > 0, 0.0
    for a, b in hops:
        hop = (t.sender == t.exporters.index(a)) & (t.receiver == t.exporters.index(b)) & known
        usual = float(np.median(t.max_delay_ns[hop & ~inside]))
        waited += float(np.maximum(t.max_delay_ns[hop & inside] - usual, 0.0).sum())
    return waited / (one.stop - one.start)


def _sent(view: View, edges: set[Pair]) -> float:
    """How many records of payload edges have in a step, the one that has most."""
    return max((len(view.edges[edge].rows) for edge in edges), default=0) / len(view.ends)


def _crossing(view: View) -> Mapping[Hop, list[Pair]]:
    """Edges of a job that cross each hop."""
    out: dict[Hop, list[Pair]] = {}
    for edge in sorted(view.edges):
        for hop in pairwise(view.paths.get(edge, ())):
            out.setdefault(hop, []).append(edge)
    return out


def _finding_of(
    view: View,
    one: Shift,
    queued: Mapping[Hop, float],
    shared: set[str],
    explained: tuple[float, float],
    crossing: Mapping[Hop, list[Pair]],
) -> Finding:
    """Write the finding on the link that all hops belong to, or on the switch that they share."""
    start, end = view.during(one.start, one.stop)
    link = len(shared) > 1
    hop = max(queued, key=lambda h: queued[h])
    slowdown = view.slowdown(one.start, one.stop)
    edges = sorted({edge for own in queued for edge in crossing[own]})
    return Finding(
        detector=BEHIND,
        kind="slow_link" if link else "slow_switch",
        job=view.job.id,
        severity=Severity.CRITICAL if slowdown >= c.CRITICAL else Severity.WARNING,
        subject="link" if link else "switch",
        ids=tuple(sorted(shared)),
        start_ns=start,
        end_ns=end,
        slowdown=round(slowdown, 3),
        score=round(min(one.score, c.MOST_SCORE), 2),
        message=(f"{waiting(queued, hop)}; {steps_take(view, one.start, one.stop, float(np.exp(one.height)))}"),
        evidence={
            "steps": view.numbers(one.start, one.stop),
            "edges": [[view.flows.endpoints[a], view.flows.endpoints[b]] for a, b in edges],
            "factor": round(float(np.exp(one.height)), 3),
            "waits_at_most": round(explained[0], 3),  # share of the steps' excess
            "waits_at_worst": round(explained[1], 3),  # if the longest waits came in sequence
            "queues_ms": {f"{a} > {b}": round(delay / 1e6, 3) for (a, b), delay in queued.items()},
        },
    )
