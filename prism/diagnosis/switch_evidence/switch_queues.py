"""Find hops between switches on which packets queue.

A deep buffer accepts data at full rate, so that rates within bursts, seen before the buffer, do not show a slow hop. The delay
of single packets from one switch to the next does.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from prism.diagnosis import constants as c
from prism.findings.message_values import duration
from prism.graph.job_view import View

Hop = tuple[str, str]  # sender, receiver


def queues(view: View, start: int, stop: int) -> dict[Hop, float]:
    """Find hops whose packets took far longer in steps `start` to `stop` than before and after; with the delay, ns.

    Hops with a far shorter delay than the longest are behind a queue, or before one, not its cause. Clocks may disagree: if
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
            if peak - off >= c.CLEAR * (calm - off):
                out[t.exporters[a], t.exporters[b]] = peak - off
    longest = max(out.values(), default=0.0)
    return {hop: delay for hop, delay in out.items() if c.CLEAR * delay >= longest}


def waiting(queued: Mapping[Hop, float], hop: Hop) -> str:
    """Text: how long packets waited on a hop."""
    return f"packets wait {duration(queued[hop])} from {hop[0]} to {hop[1]}, at least {c.CLEAR:.0f} times the usual delay"
