"""Steps of sharded models: their layers move equal volumes, so that the beats of a stream are only parts of its steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from prism.kernels.intervals import Floats, Ints
from prism.kernels.rhythm import Rhythm, strides
from prism.kernels.together import inner


def grouped(found: Rhythm, start: Ints, end: Ints, octets: Ints, *, least: int = 5, spacing: float = 0.6) -> Rhythm:
    """The rhythm of steps where the beats of a stream are only parts of one: every so many of them, one takes longer.

    Longer is first up to three times the beats around it, always by as much: evaluations last longer, and slow steps do not
    come back; then by however much. Beats between two long ones are of one step only if they show it (`together.Inner`), and
    if a long one is shorter than they are together: forward passes take less long than backward passes. At least `least`
    times, the share `spacing` of them equally far apart; else the rhythm as it is. `start`, `end`, `octets` are the stream's
    records in order of start.
    """
    beats = np.diff(found.quiet[:, 0]).astype(np.float64)
    if len(beats) < 3 * least:
        return found
    length = beats / median_filter(beats, 4 * least - 1, mode="nearest")
    for most in (3.0, np.inf):
        longer = np.flatnonzero((length > 1.2) & (length < most))
        longer = longer[np.abs(length[longer] / np.median(length[longer]) - 1) <= 0.1] if len(longer) else longer
        every = int(np.median(np.diff(longer))) if len(longer) >= least else 0
        regular = np.flatnonzero(np.diff(longer) == every)
        often = len(regular) >= spacing * (len(longer) - 1) and len(longer) * every >= spacing * len(length)
        if every >= 3 and often and _of_one_step(found, beats, longer, every):
            ends = found.quiet[longer[np.union1d(regular, regular + 1)] + _turn(found, longer[regular], every), 0]
            return strides(start, end, octets, ends, found.octets * every, tolerance=min(0.02, 0.25 / every))
    return found


def _of_one_step(found: Rhythm, beats: Floats, longer: NDArray[np.intp], every: int) -> bool:
    """Whether the beats between `longer` ones are of one step, and those shorter than all others of it."""
    last = np.zeros(len(found.quiet), np.bool_)
    last[longer] = True
    parts, gaps = inner(beats, last), inner(np.diff(found.quiet, axis=1)[:, 0], last)
    usual = float(np.median(beats[longer])) / float(np.exp(np.median(parts.length))) if parts.length.size else np.inf
    return usual <= every and (parts.of_one_step() or gaps.by_place)


def _turn(found: Rhythm, longer: NDArray[np.intp], every: int) -> int:
    """Whether a step ends before the long beats, 0, or after them, 1.

    Backward passes compute twice as long as forward passes: before a step's end gaps are wide, after it they are narrow, and
    its own, with the optimizer, is wider than those.
    """
    gap = np.log(np.maximum(found.quiet[:-1, 1] - found.quiet[:-1, 0], 1).astype(np.float64))
    around = max(2, every // 4)
    longer = longer[(longer >= around) & (longer + around + 1 < len(gap))]
    usual = np.array([np.median(gap[longer + i]) for i in range(-around, around + 2)]) if len(longer) else np.zeros(0)
    if not len(usual):
        return 0
    score = [usual[k - around : k].mean() + usual[k] - 2 * usual[k + 1 : k + 1 + around].mean() for k in (around, around + 1)]
    return int(score[1] > score[0])
