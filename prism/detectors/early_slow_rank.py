"""Detect a rank that works longer in all parts of the newest long step, before the next step is over.

Repetition separates a lasting fault from a hiccup. With short steps it takes two steps; a long step is cut into parts that each
contain own work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from prism.detectors import constants as c
from prism.detectors.late_rank import Late, lateness_of
from prism.detectors.observations.step_parts import lasted, worked
from prism.detectors.peers.peer_ranks import ordinary, ranks_elsewhere
from prism.detectors.straggler import straggler_finding, waits_look_like_work, worked_longer
from prism.findings.message_values import step_range, steps_take
from prism.graph.job_view import Floats, View
from prism.loops.arrays.change_points import OFTEN, RARE, Shift, middle, spread, usual
from prism.model import Finding

Parts = Callable[[View, int], Floats | None]


def early_slow_rank(
    view: View, *, factor: float = c.LONGER, slower: float = c.SLOWER, sigmas: float = c.SIGMAS
) -> list[Finding]:
    """Detect the rank that worked longer in nearly all parts of the newest step, or two; enabled only if two steps suffice.

    This step is longer by `factor` and by `sigmas`, and so is the rank's work in its parts, by `slower`. Without a pipeline it
    is enough that nearly all parts of the step are longer, about equally, because all ranks wait for the last. No other single
    step or two shows the same: if some are long by chance, or ranks work longer in some, this may be one of them.
    """
    if view.least > c.EARLY_STEPS or view.period < c.LONG_STEP or len(view.work[2]) < c.LEAST_RANKS:
        return []
    known = view.durations
    if not waits_look_like_work(view):
        known = np.where(np.isfinite(ordinary(view.work[2])).any(axis=0), known, np.nan)  # without evaluations
    level = np.log(np.maximum(known, 1.0) / view.period)
    n, slow = len(level), 2 if len(level) > 2 and level[-2] >= level[-1] / 2 else 1
    height = float(np.min(level[-slow:]))
    grew = height / spread(level, floor=c.STEP_NOISE)
    if not height >= np.log(factor) or grew < sigmas or not _unlike(level[None], 0, slow):
        return []
    one = Shift(n - slow, n, height, grew)
    seen = lateness_of(view)
    if seen is not None and seen.hidden:
        return _in_ring(view, seen, one, sigmas)
    best, grown = _came_last(view, seen, one) if waits_look_like_work(view) else worked_longer(view, one)[:2]
    alone = waits_look_like_work(view)
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
    """Find the rank that a ring with lanes inside hosts waited for, while all parts of a step took longer.

    The network alone cannot show which rank works there: all wait equally, but the sends of a rank before its wait may be a
    part of its step. So it is enough that all parts of any rank's step took longer.
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
    """Write the finding on a rank that worked longer in `parts` parts of a step."""
    finding = straggler_finding(view, rank, one, grown, score)
    which = f"{'' if one.stop - one.start == 1 else 'each of '}{step_range(view, one.start, one.stop)}"
    message = (
        f"adds {grown[rank] / 1e6:.1f} ms to {which}, "
        f"spread over {parts} parts of the step; {steps_take(view, one.start, one.stop, finding.slowdown)}; "
        f"no other rank changed as much"
    )
    return replace(finding, detector="lately", message=message, evidence={**finding.evidence, "parts": parts})


def _came_last(
    view: View, seen: Late | None, one: Shift, *, share: float = 0.5, apart: float = 2.0, sigmas: float = c.SIGMAS
) -> tuple[int, Floats]:
    """Find the rank that was later than its group by the `share` of a step's excess, and `apart` times later than any other.

    Returns values like `worked_longer`. If only the first call is visible, the excess until then counts. No other single step
    shows a rank half as late (`_unlike`).
    """
    lost = float(np.exp(one.height) - 1)
    if seen is None:
        return -1, np.zeros(0)
    late, slow = np.nan_to_num(seen.late - usual(seen.late)), one.stop - one.start
    now, due = late[:, -slow:].min(axis=1), share * lost * seen.within
    best = int(np.argmax(now))
    others = now[ranks_elsewhere(view, np.arange(len(late)), best)]
    least = max(due[best], apart * float(np.abs(others).max(initial=0.0)), sigmas * spread(late, floor=c.LATENESS_NOISE))
    sure = len(others) > 0 and now[best] >= least and _unlike(late, best, slow)
    return best if sure else -1, np.minimum(now / seen.within, lost) * view.period


def _only(view: View, one: Shift, height: float, sigmas: float) -> tuple[int, Floats]:
    """The only rank, or the first on the only host, that worked longer in all parts of a step, or -1; and its loss, ns."""
    every = [worked(view, rank) for rank in range(len(view.job.endpoints))]
    scores = np.array([0.0 if parts is None else _all_through(parts, height, one.stop - one.start) for parts in every])
    slow = np.flatnonzero(scores >= sigmas)
    alone = len(slow) > 0 and not len(ranks_elsewhere(view, slow, int(slow[0])))
    lost = np.where(scores >= sigmas, view.period * (np.exp(one.height) - 1), 0.0)
    return int(slow[0]) if alone else -1, lost


def _unlike(levels: Floats, row: int, slow: int, *, lasts: int = c.EPISODE) -> bool:
    """Whether the newest `slow` levels of a row are twice as high as any other, so that such levels are rare by chance.

    By the rule of succession. An episode of `lasts` steps or more was no chance. The begin of the first step is unknown.
    float64[rows, steps].
    """
    newest, others = levels[row, -slow:].min(), levels[:, 1:-slow]
    _, at = np.nonzero(np.diff(np.pad(others >= newest / 2, ((0, 0), (1, 1))).astype(np.int8), axis=1))
    short = np.diff(at)[::2] < lasts
    return bool(newest > 0 and np.isfinite(others[row]).sum() + 2 >= 1 / RARE and not short.any())


def _every(view: View, way: Parts) -> dict[int, Floats]:
    """Parts of steps of each rank whose steps can be cut."""
    every = ((rank, way(view, rank)) for rank in range(len(view.job.endpoints)))
    return {rank: parts for rank, parts in every if parts is not None}


def _alone(every: Mapping[int, Floats], rank: int, slow: int) -> bool:
    """Whether no rank works longer in all parts of other steps, except for lasting episodes (`_unlike`)."""
    low = 100 * (1 - OFTEN)  # in nearly all parts
    rows = [usual(parts - middle(parts, axis=0), share=low)[:, 0] for parts in every.values()]
    return rank in every and _unlike(np.stack(rows), list(every).index(rank), slow)


def _all_through(parts: Floats, height: float, slow: int) -> float:
    """Robust standard deviations by which a rank works longer in parts of the newest `slow` steps; 0 unless by `height` in
    nearly all.

    For a single step in all parts but the last, in which the work may be over: hiccups that last for most of a step spare a
    part. `parts` is the logarithm of a typical piece of work in each part of each step: float64[steps, parts].
    """
    level = parts - middle(parts[:-slow], axis=0)
    now = level[-slow:][np.isfinite(level[-slow:])]
    usually = float(np.median(now)) if len(now) else 0.0
    if len(now) < 2 * slow or usually < height or np.mean((now >= usually / 2) & (now <= 2 * usually)) < OFTEN:
        return 0.0
    if slow == 1 and (level[-1, :-1] < usually / 2).any():
        return 0.0
    return float(usually * np.sqrt(len(now)) / spread(level[:-slow]))
