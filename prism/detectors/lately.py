"""A rank that works longer all through the newest step, where steps take long: told before another one is over.

What lasts is told from hiccups by being seen again and again. Where steps are short that takes two of them; a long one is cut
in parts, each with work of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.detectors.laggard import hidden, told, worked_longer
from prism.detectors.twins import ordinary
from prism.detectors.view import Floats, View
from prism.kernels.cuts import cuts
from prism.kernels.edges import sending
from prism.kernels.intervals import Ints
from prism.kernels.pieces import typical_work
from prism.kernels.shifts import OFTEN, RARE, Shift, middle, spread, usual
from prism.model import Finding

LONG = 2_000_000_000  # ns: of shorter steps two are over soon
FEWEST = 500_000_000  # ns that a part takes at least
MOST = 8  # parts of a step


def slow_lately(view: View, *, factor: float = 1.05, slower: float = 1.2, sigmas: float = 6.0) -> list[Finding]:
    """The rank that worked longer in nearly all parts of the newest step; only where two steps are told of.

    That step is longer by `factor` and by `sigmas`, and so is the rank's work in its parts, by `slower`. Neither is like what
    is seen of a step or two else: where some are long by chance, or ranks work longer in some, it may be one of them.
    """
    if view.least >= 3 or view.period < LONG or len(view.work[2]) < 3 or hidden(view):
        return []
    known = np.where(np.isfinite(ordinary(view.work[2])).any(axis=0), view.durations, np.nan)  # not evaluations
    level = np.log(np.maximum(known, 1.0) / view.period)
    n, grew = len(level), float(level[-1] / spread(level, floor=0.005))
    if not level[-1] >= np.log(factor) or grew < sigmas or not _unlike(level[None], 0):
        return []
    one = Shift(n - 1, n, float(level[-1]), grew)
    best, grown, _ = worked_longer(view, one)
    parts = _in_parts(view, best) if best >= 0 else None
    if parts is None or not (score := _all_through(parts, np.log(slower))) >= sigmas or not _alone(view, best):
        return []
    finding = told(view, best, one, grown, min(grew, score))
    seen = int(np.isfinite(parts[-1]).sum())
    message = (
        f"{finding.ids[0]} works {grown[best] / 1e6:.1f} ms longer in step {n - 1}, all through its {seen} parts; that takes "
        f"{finding.slowdown:.2f}× as long, and nobody else works so much longer"
    )
    return [replace(finding, detector="lately", message=message, evidence={**finding.evidence, "parts": seen})]


def _unlike(levels: Floats, row: int, *, lasts: int = 3) -> bool:
    """Whether the newest of the levels of a row is twice as high as any other, and by so many such would be rare.

    That is by the rule of succession. What `lasts` was no chance; of the first step nobody saw the begin. float64[rows, steps].
    """
    newest, others = levels[row, -1], levels[:, 1:-1]
    _, at = np.nonzero(np.diff(np.pad(others >= newest / 2, ((0, 0), (1, 1))).astype(np.int8), axis=1))
    short = np.diff(at)[::2] < lasts
    return bool(newest > 0 and np.isfinite(others[row]).sum() + 2 >= 1 / RARE and not short.any())


def _alone(view: View, rank: int) -> bool:
    """Whether no rank works longer all through steps else, but for what lasts (`_unlike`)."""
    every = {r: _in_parts(view, r) for r in range(len(view.job.endpoints))}
    low = 100 * (1 - OFTEN)  # all through: in nearly all parts
    rows = {r: usual(parts - middle(parts, axis=0), share=low)[:, 0] for r, parts in every.items() if parts is not None}
    return rank in rows and _unlike(np.stack(list(rows.values())), list(rows).index(rank))


def _all_through(parts: Floats, height: float) -> float:
    """By how many sigmas a rank works longer in parts of the newest step; 0 if not by `height`, and as much in nearly all.

    `parts` is the logarithm of a typical piece of its work in each part of each step: float64[steps, parts].
    """
    level = parts - middle(parts[:-1], axis=0)
    now = level[-1][np.isfinite(level[-1])]
    usually = float(np.median(now)) if len(now) else 0.0
    if len(now) < 2 or usually < height or np.mean((now >= usually / 2) & (now <= 2 * usually)) < OFTEN:
        return 0.0
    return float(usually * np.sqrt(len(now)) / spread(level[:-1]))


def _in_parts(view: View, rank: int) -> Floats | None:
    """The logarithm of a typical piece of a rank's work in each part of its steps; NaN where it is not usually seen to work."""
    many, steps = int(min(view.period // FEWEST, MOST)), view.timeline.steps[rank]
    if many < 2 or len(steps) != len(view.ends):
        return None
    sent = _sent(view, view.job.endpoints[rank])
    at = _cuts(sent, steps, many)
    at = np.unique(at[np.isfinite(at)])
    if not len(at):
        return None
    (spoke, work, _), ends = view.speech[rank], _ends(sent, steps, at)
    typical, _, total = typical_work(spoke, work, ends)
    if view.parallelism.layout.pp > 1:
        typical = view.by_kind(rank, ends).against
    shape = len(steps), len(at) + 1
    often = np.percentile(np.nan_to_num(total.reshape(shape)), 30, axis=0)
    works = often >= often.mean() / 4
    return np.asarray(np.log(np.where(works, typical.reshape(shape), np.nan)))


class _Sent(NamedTuple):
    """What an endpoint sent: when each record began, for how long it had sent nothing before, and octets before, and in all."""

    start: Ints
    rest: Ints
    before: Ints


def _sent(view: View, address: str) -> _Sent:
    flows = view.flows
    rows, start = view.sent[view.code[address]], sending(flows)
    rows = rows[np.argsort(start[rows], kind="stable")]
    done = np.maximum.accumulate(flows.end_ns[rows])
    rest = np.maximum(start[rows] - np.concatenate([start[rows[:1]], done[:-1]]), 0)
    return _Sent(start[rows], rest, np.concatenate([[0], np.cumsum(flows.octets[rows])]))


def _within(sent: _Sent, steps: NDArray[np.int64]) -> tuple[Ints, Ints]:
    """Octets sent before each step and at its end."""
    ends = sent.before[np.searchsorted(sent.start, steps[:, 1], "right")]
    return np.concatenate([[0], ends[:-1]]), ends


def _cuts(sent: _Sent, steps: NDArray[np.int64], parts: int) -> Floats:
    """See `kernels.cuts.cuts`; the begin of the first step nobody saw."""
    low, high = _within(sent, steps)
    bounds = np.searchsorted(sent.start, steps[:, 1], "right")
    step = np.minimum(np.searchsorted(steps[:, 1], sent.start, "left"), len(steps) - 1)
    place = (sent.before[:-1] - low[step]) / np.maximum(high - low, 1)[step]
    return cuts(place, sent.rest, bounds, parts)


def _ends(sent: _Sent, steps: NDArray[np.int64], at: Floats) -> Ints:
    """When each part of each step of a rank ends: where it begins to send what comes after the cut."""
    low, high = _within(sent, steps)
    goal = low[:, None] + at[None] * (high - low)[:, None]
    place = np.searchsorted(sent.before[:-1], goal, "left") - 1  # the last record before which less had been sent
    ends = np.concatenate([sent.start[np.maximum(place, 0)], steps[:, 1:]], axis=1)
    begins = np.append(steps[0, 0], steps[:-1, 1])
    return np.asarray(np.maximum.accumulate(np.clip(ends, begins[:, None], steps[:, 1:]), axis=1).ravel(), dtype=np.int64)
