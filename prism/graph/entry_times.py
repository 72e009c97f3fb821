"""Compute when each rank begins to communicate in each step: how long it works before, in jobs without a visible pipeline."""

from __future__ import annotations

import numpy as np

from prism.graph.job_view import View
from prism.loops.detection.transfer_delays import Floats


def entry_times(view: View) -> Floats:
    """Time from the end of the last step, of all ranks, to the first payload that each rank sends.

    It is the rank's own work or more: a sender may wait until its receiver is ready.

    Returns
    -------
    float64[steps − 1, ranks]
        ns; NaN if a rank sends nothing. Empty if ranks have different numbers of steps.
    """
    flows, n, steps = view.flows, len(view.job.endpoints), len(view.ends)
    if not steps or any(len(own) != steps for own in view.timeline.steps):
        return np.zeros((0, n))
    last = np.max(np.stack([own[:, 1] for own in view.timeline.steps]), axis=0)
    sent = ~flows.control() & (flows.octets > 0)
    begin, step = flows.sent_ns[sent], np.searchsorted(last, flows.sent_ns[sent], "right")
    ranks = np.full(len(flows.endpoints), -1, np.int64)
    ranks[view.codes] = np.arange(n)
    out = np.full((steps, n), np.inf)
    rank = ranks[flows.src[sent]]
    known = np.flatnonzero((rank >= 0) & (step > 0) & (step < steps))
    np.minimum.at(out, (step[known], rank[known]), (begin[known] - last[step[known] - 1]).astype(np.float64))
    return np.where(np.isfinite(out), out, np.nan)[1:]
