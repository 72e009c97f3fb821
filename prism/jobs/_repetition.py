"""Measure how well traffic repeats from mark to mark: the test whether two clusters run in lockstep.

The marks are the step bounds of one cluster. The traffic of the other is folded over these steps. If both belong to one job,
its shape is the same in every step. Traffic of another period, or of the same period with its own clock, is smeared. This is
the peri-event histogram of spike-train analysis. It needs no threshold in seconds, and marks of one cluster only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism.jobs import constants as c

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def shapes(marks: Ints, times: Ints, weight: Floats, bins: int) -> Floats:
    """Compute the shape of the traffic in each step, unit length; float64[steps with traffic, bins]."""
    steps = len(marks) - 1
    inside = (times >= marks[0]) & (times < marks[-1])
    place = np.interp(times[inside], marks, np.arange(steps + 1.0))
    step = np.minimum(place.astype(np.int64), steps - 1)
    part = np.minimum(((place - step) * bins).astype(np.int64), bins - 1)
    moved = np.sqrt(np.bincount(step * bins + part, weight[inside], steps * bins)).reshape(steps, bins)
    smooth = moved + (np.roll(moved, 1, 1) + np.roll(moved, -1, 1)) / 2
    length = np.sqrt((smooth * smooth).sum(1))
    return np.asarray(smooth[length > 0] / length[length > 0, None])


def consistency(shape: Floats) -> float:
    """Similarity of the steps beyond chance: 1 if all are equal, 0 if each step is shifted at random."""
    steps, bins = shape.shape
    if steps < c.MIN_STEPS:
        return 0.0
    total, sums = shape.sum(0), shape.sum(1)
    alike = (total @ total - steps) / (steps * (steps - 1))
    chance = float(sums.sum() ** 2 - sums @ sums) / (steps * (steps - 1) * bins)
    return 0.0 if np.isclose(chance, 1) else float((alike - chance) / (1 - chance))  # evenly spread traffic has no shape


def offsets(shape: Floats) -> Floats:
    """Shift of each step relative to the others, in steps, −0.5 ... 0.5."""
    bins = shape.shape[1]
    rows = np.fft.rfft(shape)
    match = np.fft.irfft(np.conj(rows.sum(0) - rows) * rows, bins)
    best = match.argmax(1)
    at = np.arange(len(shape))
    before, peak, after = match[at, best - 1], match[at, best], match[at, (best + 1) % bins]
    curve = before - 2 * peak + after
    shift = np.where(curve < 0, (before - after) / (2 * np.where(curve < 0, curve, -1)), 0)
    return np.asarray(((best + shift) / bins + 0.5) % 1 - 0.5)
