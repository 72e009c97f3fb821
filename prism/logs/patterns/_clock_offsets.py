"""Estimate clock offsets of log streams: ranks finish the same iteration within a step of each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from prism.logs.parsing.iterations import Mark

MIN_SHARED = 3  # minimum number of common iterations of two streams
QUARTER = 900 * 1_000_000_000  # time zones differ by quarters of an hour


def offsets(marks: Mapping[str, Sequence[Mark]]) -> dict[str, int]:
    """Estimate how far the clock of each stream is ahead of the stream with most marks, ns; 0 below one step or if unknown.

    Wrong for a stream with fewer than three timed iterations: it keeps 0.
    """
    times = {name: {one.iteration: one.time_ns for one in own if one.time_ns is not None} for name, own in marks.items()}
    out = dict.fromkeys(marks, 0)
    reference = max(times, key=lambda name: len(times[name]), default=None)
    if reference is None:
        return out
    base = times[reference]
    step = _step(list(base.values()))
    for name, own in times.items():
        shared = sorted(own.keys() & base.keys())
        if name != reference and len(shared) >= MIN_SHARED:
            ahead = int(np.median([own[i] - base[i] for i in shared]))
            out[name] = ahead if abs(ahead) > step else 0
    return out


def _step(times: Sequence[int]) -> int:
    gaps = np.diff(np.sort(np.asarray(times, np.int64)))
    return int(np.median(gaps)) if len(gaps) else 0


def describe_offset(name: str, ahead_ns: int) -> str:
    """Describe a corrected clock."""
    quarters = round(ahead_ns / QUARTER)
    zone = quarters != 0 and abs(ahead_ns - quarters * QUARTER) < 60 * 1_000_000_000
    why = f"as if in another time zone ({quarters / 4:+g} h)" if zone else f"by {ahead_ns / 1e9:+.1f} s"
    return f"the clock of {name} differs {why}; its times are corrected"
