"""Find steps that are slow without a broken part: uneven data in jobs without a visible pipeline, and late input."""

from __future__ import annotations

import numpy as np

from prism.diagnosis import constants as c
from prism.diagnosis.assessment.slowdown_findings import without
from prism.diagnosis.uneven_work.job_causes import JobCause, slowdown_of
from prism.findings.message_values import duration, percent
from prism.graph import constants as g
from prism.graph.job_transfers import Transfers
from prism.graph.job_view import View
from prism.loops.arrays.change_points import spread
from prism.loops.arrays.intervals import Ints
from prism.loops.detection.transfer_delays import Floats


def step_causes(view: View, transfers: Transfers | None) -> list[JobCause]:
    """Find uneven data, and steps that begin late for all ranks."""
    took = entry_times(view, transfers) if transfers is not None else np.zeros((0, 1))
    return [*_uneven_data(view, took), *_late_input(view, took)]


def entry_times(view: View, transfers: Transfers) -> Floats:
    """Time from the end of the last step, of all ranks, to the first payload that each rank sends; float64[steps − 1, ranks].

    It is the rank's own work or more: a sender may wait until its receiver is ready. NaN if a rank sends nothing; empty if
    ranks have different numbers of steps.
    """
    ends = [own[:, 1] for own in view.timeline.steps]
    out = np.full((transfers.steps, len(ends)), np.inf)
    if any(len(own) != transfers.steps for own in ends):
        return out[:0]
    np.minimum.at(out.reshape(-1), transfers.step * np.int64(len(ends)) + transfers.src, transfers.start)
    last = np.stack(ends).max(axis=0)[:-1] - view.begins[1:]
    return np.asarray(np.where(np.isfinite(out), out, np.nan)[1:] - last[:, None], np.float64)


def _uneven_data(view: View, took: Floats) -> list[JobCause]:
    """Find work that varies over steps and ranks without a pipeline: in each step another rank begins to communicate last.

    Noise of the machines looks the same, but is less.
    """
    if view.parallelism.layout.pp > 1 or len(took) < 2 * view.least or took.size < 4 * view.least or np.isnan(took).any():
        return []
    moved = np.log(np.maximum(took, 1.0))
    moved = moved - np.median(moved, axis=1, keepdims=True)
    own = np.median(moved, axis=0)
    varied, usual = spread(moved - own, floor=0), float(np.median(took))
    saved = float((took.max(axis=1) - took.mean(axis=1)).mean())
    probability = 1 - (c.UNEVEN / max(varied, c.UNEVEN)) ** 2
    always = np.bincount(took.argmax(axis=1)).max() / len(took)
    if (
        probability < c.ALWAYS
        or slowdown_of(view, saved) < 1 + 2 * c.WORTH
        or 2 * own.std() > varied
        or always > c.MIN_EXPLAINED
    ):
        return []
    slowdown = slowdown_of(view, saved)
    text = (
        f"from step to step the work of a rank before it communicates varies by {percent(varied)} around {duration(usual)}; "
        "each step waits for another rank, so the data vary and no part is broken; "
        f"{without(view, slowdown)} at most"
    )
    numbers = {"spread": round(varied, 3), "rank_spread": round(float(own.std()), 3), "usual_work_ms": round(usual / 1e6, 3)}
    who, stop, score = (view.job.id,), len(view.ends), varied / c.UNEVEN * c.CLEAR
    return [JobCause("data_imbalance", "job", who, 1, stop, slowdown, probability, score, text, numbers)]


def _late_input(view: View, took: Floats) -> list[JobCause]:
    """Find steps at whose begin all ranks are silent for long, at irregular intervals: nobody works, as if they wait for data.

    Silences at regular intervals are evaluations or checkpoints. Nobody waits where a record of the next step begins before the
    last one ends.
    """
    steps = len(view.ends)
    if len(took) < 4 * view.least or np.isnan(took).all(axis=1).any():
        return []
    quiet = np.maximum(np.nanmin(took, axis=1), 0.0)
    usual = float(np.median(quiet))
    late = np.flatnonzero(quiet - usual >= g.PAUSE * view.period) + 1
    if len(_irregular(late, steps)) < g.SPAN:
        return []
    silent = float(np.median(quiet[late - 1]))
    lost, whole = float((quiet[late - 1] - usual).sum()), float(view.ends[-1] - view.ends[0])
    text = (
        f"before {len(late)} of {steps - 1} steps all ranks are silent for {duration(silent)}, usually {duration(usual)}, at "
        "irregular intervals; nobody works: they wait for something that they share, for example input data"
    )
    numbers = {"late_steps": (late + view.timeline.first).tolist(), "silent_ms": round(silent / 1e6, 3)}
    slowdown, probability, score = whole / max(whole - lost, 1.0), 1 - 0.5 ** len(late), silent / max(usual, 1.0)
    who, start, stop = (view.job.id,), int(late[0]), int(late[-1]) + 1
    return [JobCause("slow_step", "job", who, start, stop, slowdown, probability, score, text, numbers, claim=False)]


def _irregular(late: Ints, steps: int) -> Ints:
    """Steps of some, in order, that do not recur at a fixed interval from the first to the last step of the recording."""
    known, regular = np.zeros((2, steps), np.bool_)
    known[late] = True
    repeats = g.SPAN - 1  # a series has so many intervals at least
    for first in late[late < steps - repeats * np.maximum(late, 2)].tolist():
        intervals = late - first
        intervals = intervals[(intervals >= max(first, 2)) & (first + repeats * intervals < steps)]
        for interval in intervals[known[first + repeats * intervals]].tolist():
            if known[first::interval].all():
                regular[first::interval] = True
    return late[~regular[late]]
