"""Number the steps of a job: the same number in texts, charts, traces and answers, in every window and after a restart.

Step 0 is the first one that Prism recognised; `Timeline.first` is the number of the oldest step that is kept. A window
continues the numbers of the known steps (`Known`). A gap in collection counts as one step: the number of steps in it is
unknown. Assumption: windows divide steps alike. If a later window divides them differently, steps from there on have other
numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.model import Timeline
from prism.tracking.timeline_stitching import ahead, job_ends, match_step_ends

Ints = NDArray[np.int64]


class Known(NamedTuple):
    """Step ends of a job, ns, int64[n], in order; the first of them has the number `first`."""

    ends: Ints
    first: int


def known(timeline: Timeline, since_ns: int) -> Known:
    """Return the steps that a window from `since_ns` overlaps, and one before."""
    ends = job_ends(timeline)
    at = max(int(np.searchsorted(ends, since_ns)) - 1, 0)
    return Known(ends[at:], timeline.first + at)


def first_of(timeline: Timeline, before: Known) -> int:
    """Number of the first step of a window's timeline, given the steps before it; consistent with `stitched`."""
    ends = job_ends(timeline)
    if not len(ends):
        return before.first + len(before.ends)
    count, fresh, _ = match_step_ends(before.ends, ends)
    return max(before.first - ahead(before.ends, ends), 0) + count - fresh


def numbers(timeline: Timeline, rank: int) -> Ints:
    """Number of each step of a rank, int64[n]: that of the job's step with the same end.

    A rank may lack steps at the begin, at the end or in between; then the nearest end of the job's steps counts.
    """
    ends, own = job_ends(timeline), timeline.steps[rank][:, 1]
    if len(own) >= len(ends):
        return timeline.first + np.arange(len(own), dtype=np.int64)
    after = np.minimum(np.searchsorted(ends, own), len(ends) - 1)
    place = np.where(np.abs(ends[np.maximum(after - 1, 0)] - own) < np.abs(ends[after] - own), np.maximum(after - 1, 0), after)
    steady = np.maximum.accumulate(place - np.arange(len(own))) + np.arange(len(own))  # no two have the same number
    room = len(ends) - len(own) + np.arange(len(own))
    return np.asarray(timeline.first + np.minimum(steady, room), np.int64)
