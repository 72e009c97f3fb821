"""Sum the steps of a job once per timeline, for repeated requests of pages; see `board_views`."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from prism.model import PHASES, JobDiagnosis, Timeline

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the steps of a job.

    `start_ns`, `end_ns`, `duration_ms`: of each step of the job, medians over the ranks with the most steps; the duration is
    NaN for an incomplete step (`Timeline.unseen`). `distance_ms`: as `Timeline.durations_ms`. `median_ms`: of the steps of each
    rank, NaN without any. `spent`: ns by rank and phase.
    """

    start_ns: Ints
    end_ns: Ints
    duration_ms: Floats
    distance_ms: Floats
    median_ms: Floats
    spent: Floats  # [ranks, len(PHASES)]


_working = threading.Lock()
_known: WeakKeyDictionary[Timeline, Sums] = WeakKeyDictionary()  # a timeline never changes


def sums(job: JobDiagnosis) -> Sums:
    """Compute the sums of a job, from a cache if possible."""
    with _working:  # concurrent callers wait for one computation
        known = _known.get(job.timeline)
        if known is None:
            known = _known[job.timeline] = _sums(job.timeline, len(job.job.endpoints))
        return known


def _sums(timeline: Timeline, ranks: int) -> Sums:
    counts = np.array([len(own) for own in timeline.steps], np.int64)
    median = np.full(len(counts), np.nan)
    start, end, duration = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    most = counts.max(initial=0)
    for count in np.unique(counts[counts > 0]):
        own = np.flatnonzero(counts == count)
        whole = np.stack([timeline.steps[rank] for rank in own])
        lengths = whole[:, :, 1] - whole[:, :, 0]
        median[own] = _medians(lengths, timeline.partly_unseen(whole[:, :, 0], whole[:, :, 1])) / 1e6
        if count == most:
            base = int(whole[0, 0, 0])
            begins, ends = (_middle(whole[:, :, side] - base) for side in (0, 1))
            start, end = base + begins.astype(np.int64), base + ends.astype(np.int64)
            duration = np.where(timeline.partly_unseen(start, end), np.nan, (ends - begins) / 1e6)
    return Sums(start, end, duration, timeline.durations_ms(), median, _spent(timeline, ranks))


def _medians(lengths: Ints, unseen: NDArray[np.bool_]) -> Floats:
    """Compute the median of each row without incomplete steps; NaN if none is left."""
    if not unseen.any():
        return np.asarray(np.median(lengths, axis=1), np.float64)
    return np.array([np.median(row[whole]) if whole.any() else np.nan for row, whole in zip(lengths, ~unseen, strict=True)])


def _middle(times: Ints) -> Floats:
    """Compute the median over ranks; float64[steps]."""
    first: Floats = times[0].astype(np.float64)
    if (times == times[0]).all():  # ranks often end steps together, and this test is cheap
        return first
    return np.asarray(np.median(times, axis=0), np.float64)


def _spent(timeline: Timeline, ranks: int, *, at_once: int = 1 << 18) -> Floats:
    """Compute `Phases.by_rank` in pieces that fit a processor's cache."""
    phases = timeline.phases
    total: Floats = np.zeros(ranks * len(PHASES))
    for at in range(0, len(phases), at_once):
        part = slice(at, at + at_once)
        rank = phases.rank[part]
        first = int(rank.min())
        place = (rank - first) * np.int32(len(PHASES)) + phases.phase[part]
        own = np.bincount(place, weights=phases.end_ns[part] - phases.start_ns[part])
        total[first * len(PHASES) :][: len(own)] += own
    shaped: Floats = total.reshape(ranks, len(PHASES))
    return shaped
