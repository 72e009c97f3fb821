"""A rank that works longer all through the newest step, where steps take long: told before another one is over.

What lasts is told from hiccups by being seen again and again. Where steps are short that takes two of them; a long one is cut
in parts, each with work of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from prism.detectors.late_rank import Late, lateness_of
from prism.detectors.observations.step_parts import lasted, worked
from prism.detectors.peers.peer_ranks import ordinary, strangers_of
from prism.detectors.straggler import hidden, told, worked_longer
from prism.findings.message_values import steps_take, stretch
from prism.graph.job_view import Floats, View
from prism.loops.arrays.change_points import OFTEN, RARE, Shift, middle, spread, usual
from prism.model import Finding

LONG = 2_000_000_000  # ns: of shorter steps two are over soon
Parts = Callable[[View, int], Floats | None]


def slow_lately(view: View, *, factor: float = 1.05, slower: float = 1.2, sigmas: float = 6.0) -> list[Finding]:
    """The rank that worked longer in nearly all parts of the newest step, or two; only where two steps are told of.

    That step is longer by `factor` and by `sigmas`, and so is the rank's work in its parts, by `slower`; or, where there is no
    pipeline, so are nearly all parts of the step, about alike, for in it all wait for the one that is last. Nothing of that is
    like what is seen of a step or two else: where some are long by chance, or ranks work longer in some, it may be one of them.
    """
    if view.least >= 3 or view.period < LONG or len(view.work[2]) < 3:
        return []
    known = view.durations
    if not hidden(view):
        known = np.where(np.isfinite(ordinary(view.work[2])).any(axis=0), known, np.nan)  # not evaluations
    level = np.log(np.maximum(known, 1.0) / view.period)
    n, slow = len(level), 2 if len(level) > 2 and level[-2] >= level[-1] / 2 else 1
    height = float(np.min(level[-slow:]))
    grew = height / spread(level, floor=0.005)
    if not height >= np.log(factor) or grew < sigmas or not _unlike(level[None], 0, slow):
        return []
    one = Shift(n - slow, n, height, grew)
    seen = lateness_of(view)
    if seen is not None and seen.hidden:
        return _in_ring(view, seen, one, sigmas)
    best, grown = _came_last(view, seen, one) if hidden(view) else worked_longer(view, one)[:2]
    alone = hidden(view)
    ways = [(worked, np.log(slower))]
    if not view.parallelism.piped:
        if best < 0:
            alone, (best, grown) = True, _only(view, one, np.log(slower), sigmas)
        ways += [(lasted, one.height / 2)]
    for way, least in ways if best >= 0 else ():
        parts = way(view, best)
        score = 0.0 if parts is None else _all_through(parts, least, slow)
        if parts is not None and score >= sigmas and _alone(_every(view, way), best, slow):
            finding = _finding(view, best, one, grown, min(grew, score), int(np.isfinite(parts[-1]).sum()))
            return [replace(finding, evidence={**finding.evidence, "alone": True}) if alone else finding]
    return []


def _in_ring(view: View, seen: Late, one: Shift, sigmas: float) -> list[Finding]:
    """Whom a ring waited for, some of whose lanes are inside hosts, while all parts of a step took longer.

    Of the wire alone nobody can tell who works there. All wait alike, but what a rank sends before it waits may be a part of
    its step: so it is enough that somebody's parts all took longer.
    """
    slow, (best, grown) = one.stop - one.start, _came_last(view, seen, one)
    every = _every(view, lasted) if best >= 0 else {}
    for rank, parts in every.items():
        score = _all_through(parts, one.height / 2, slow)
        if score >= sigmas and _alone(every, rank, slow):
            host = view.host(view.job.endpoints[best])
            if best in seen.unsure:
                grown[[view.host(address) == host for address in view.job.endpoints]] = grown[best]
            finding = _finding(view, best, one, grown, min(one.score, score), int(np.isfinite(parts[-1]).sum()))
            return [replace(finding, evidence={**finding.evidence, "alone": True, "unseen": "lanes between ranks of a host"})]
    return []


def _finding(view: View, rank: int, one: Shift, grown: Floats, score: float, parts: int) -> Finding:
    """The finding on a rank that worked longer all through so many parts of a step."""
    finding = told(view, rank, one, grown, score)
    which = f"{'' if one.stop - one.start == 1 else 'each of '}{stretch(view, one.start, one.stop)}"
    message = (
        f"adds {grown[rank] / 1e6:.1f} ms to {which}, "
        f"spread over {parts} parts of the step; {steps_take(view, one.start, one.stop, finding.slowdown)}; "
        f"no other rank changed as much"
    )
    return replace(finding, detector="lately", message=message, evidence={**finding.evidence, "parts": parts})


def _came_last(
    view: View, seen: Late | None, one: Shift, *, share: float = 0.5, apart: float = 2.0, sigmas: float = 6.0
) -> tuple[int, Floats]:
    """Who was later than its group by the `share` of what a step grew by, and `apart` times as late as anybody else was.

    As `worked_longer` says it. Where only the first call tells, it is what the step grew by until then. No single step
    else shows anybody half as late (`_unlike`).
    """
    lost = float(np.exp(one.height) - 1)
    if seen is None:
        return -1, np.zeros(0)
    late, slow = np.nan_to_num(seen.late - usual(seen.late)), one.stop - one.start
    now, due = late[:, -slow:].min(axis=1), share * lost * seen.within
    best = int(np.argmax(now))
    others = now[strangers_of(view, np.arange(len(late)), best)]
    least = max(due[best], apart * float(np.abs(others).max(initial=0.0)), sigmas * spread(late, floor=0.002))
    sure = len(others) > 0 and now[best] >= least and _unlike(late, best, slow)
    return best if sure else -1, np.minimum(now / seen.within, lost) * view.period


def _only(view: View, one: Shift, height: float, sigmas: float) -> tuple[int, Floats]:
    """The only rank, or the first on the only host, that worked longer all through a step, or -1; what it lost, ns."""
    every = [worked(view, rank) for rank in range(len(view.job.endpoints))]
    scores = np.array([0.0 if parts is None else _all_through(parts, height, one.stop - one.start) for parts in every])
    slow = np.flatnonzero(scores >= sigmas)
    alone = len(slow) > 0 and not len(strangers_of(view, slow, int(slow[0])))
    lost = np.where(scores >= sigmas, view.period * (np.exp(one.height) - 1), 0.0)
    return int(slow[0]) if alone else -1, lost


def _unlike(levels: Floats, row: int, slow: int, *, lasts: int = 3) -> bool:
    """Whether the newest `slow` of the levels of a row are twice as high as any other, and by so many such would be rare.

    That is by the rule of succession. What `lasts` was no chance; of the first step nobody saw the begin. float64[rows, steps].
    """
    newest, others = levels[row, -slow:].min(), levels[:, 1:-slow]
    _, at = np.nonzero(np.diff(np.pad(others >= newest / 2, ((0, 0), (1, 1))).astype(np.int8), axis=1))
    short = np.diff(at)[::2] < lasts
    return bool(newest > 0 and np.isfinite(others[row]).sum() + 2 >= 1 / RARE and not short.any())


def _every(view: View, way: Parts) -> dict[int, Floats]:
    """The parts of steps of each rank whose steps can be cut."""
    every = ((rank, way(view, rank)) for rank in range(len(view.job.endpoints)))
    return {rank: parts for rank, parts in every if parts is not None}


def _alone(every: Mapping[int, Floats], rank: int, slow: int) -> bool:
    """Whether no rank works longer all through steps else, but for what lasts (`_unlike`)."""
    low = 100 * (1 - OFTEN)  # all through: in nearly all parts
    rows = [usual(parts - middle(parts, axis=0), share=low)[:, 0] for parts in every.values()]
    return rank in every and _unlike(np.stack(rows), list(every).index(rank), slow)


def _all_through(parts: Floats, height: float, slow: int) -> float:
    """By how many sigmas a rank works longer in parts of the newest `slow` steps; 0 if not by `height`, alike in nearly all.

    Of a single step in all but its last, when the work may be over: hiccups that last for most of a step spare some of it.
    `parts` is the logarithm of a typical piece of its work in each part of each step: float64[steps, parts].
    """
    level = parts - middle(parts[:-slow], axis=0)
    now = level[-slow:][np.isfinite(level[-slow:])]
    usually = float(np.median(now)) if len(now) else 0.0
    if len(now) < 2 * slow or usually < height or np.mean((now >= usually / 2) & (now <= 2 * usually)) < OFTEN:
        return 0.0
    if slow == 1 and (level[-1, :-1] < usually / 2).any():
        return 0.0
    return float(usually * np.sqrt(len(now)) / spread(level[:-slow]))
