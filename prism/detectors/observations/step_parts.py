"""Cut long steps into parts; in each part a rank has sent the same share of its octets of the step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.detectors.observations import constants as c
from prism.graph.job_view import Floats, View
from prism.loops.arrays.edges import sending
from prism.loops.arrays.intervals import Ints
from prism.loops.detection.step_cuts import cuts
from prism.loops.detection.work_pieces import typical_work


def worked(view: View, rank: int) -> Floats | None:
    """Logarithm of a typical piece of a rank's work in each part of its steps; NaN for parts without usual work."""
    ends = _parted(view, rank)
    if ends is None:
        return None
    sends, every = view.rank_sends.of(rank), ends.ravel()
    typical, _, total = typical_work(sends.sent_ns, sends.work, every)
    if view.parallelism.piped:
        typical = view.by_kind(sends, view.codes[[rank]], every, np.array([0, len(every)])).against[0]
    shape = ends.shape
    often = np.percentile(np.nan_to_num(total.reshape(shape)), 30, axis=0)
    works = often >= often.mean() / 4
    return np.asarray(np.log(np.where(works, typical.reshape(shape), np.nan)))


def lasted(view: View, rank: int) -> Floats | None:
    """Logarithm of the duration of each part of a rank's steps, except the first step; float64[steps, parts]."""
    ends = _parted(view, rank)
    if ends is None:
        return None
    out = np.diff(ends.ravel(), prepend=0).reshape(ends.shape).astype(np.float64)
    out[0] = np.nan
    return np.asarray(np.log(np.where(out > 0, out, np.nan)))


def _parted(view: View, rank: int) -> NDArray[np.int64] | None:
    """End of each part of each step of a rank, ns, int64[steps, parts]; None if steps cannot be cut."""
    many, steps = int(min(view.period // c.LEAST_PART_NS, c.MOST_PARTS)), view.timeline.steps[rank]
    if many < 2 or len(steps) != len(view.ends):
        return None
    sent = _sent(view, view.job.endpoints[rank])
    at = _cuts(sent, steps, many)
    at = np.unique(at[np.isfinite(at)])
    return _ends(sent, steps, at).reshape(len(steps), len(at) + 1) if len(at) else None


class _Sent(NamedTuple):
    """Sends of an endpoint: start of each record, time since its last send, octets before, and in total."""

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
    """Positions of cuts (`step_cuts.cuts`); the begin of the first step is unknown."""
    low, high = _within(sent, steps)
    bounds = np.searchsorted(sent.start, steps[:, 1], "right")
    step = np.minimum(np.searchsorted(steps[:, 1], sent.start, "left"), len(steps) - 1)
    place = (sent.before[:-1] - low[step]) / np.maximum(high - low, 1)[step]
    return cuts(place, sent.rest, bounds, parts)


def _ends(sent: _Sent, steps: NDArray[np.int64], at: Floats) -> Ints:
    """End of each part of each step of a rank: the start of the first record after the cut."""
    low, high = _within(sent, steps)
    goal = low[:, None] + at[None] * (high - low)[:, None]
    place = np.searchsorted(sent.before[:-1], goal, "left") - 1  # the last record before which less had been sent
    ends = np.concatenate([sent.start[np.maximum(place, 0)], steps[:, 1:]], axis=1)
    begins = np.append(steps[0, 0], steps[:-1, 1])
    return np.asarray(np.maximum.accumulate(np.clip(ends, begins[:, None], steps[:, 1:]), axis=1).ravel(), dtype=np.int64)
