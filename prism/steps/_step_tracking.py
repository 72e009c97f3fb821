"""Track the steps of a job on the traffic clock."""

from __future__ import annotations

import numpy as np
from scipy import fft

from prism.loops.periods.step_places import best_sequence
from prism.steps import constants as c
from prism.steps._step_program import Period
from prism.steps.record_sequences import Floats, Ints
from prism.steps.traffic_clock import Clock


def tracked(clock: Clock, period: Period) -> Ints:
    """Find one place of each step, in bins of the clock: where the traffic around it is most similar to the mean step.

    Consecutive places are about one step apart, except around other traffic (an evaluation, a restart inside a step).
    """
    each = max(int(period.bins / c.PHASES), 1)  # bins that are taken together: more would not make places more exact
    bins, parts = period.bins / each, clock.parts // each
    channels = _channels(clock, period, each)
    half = max(int(bins / 2), 1)
    begins = np.round(np.arange(_longest_idle_place(period.pace, period.bins) / each, parts - half, bins)).astype(np.int64)
    begins = begins[begins >= half]
    if len(begins) < 2:
        begins = np.array([min(half, parts - half)])
    around = begins[:, None] + np.arange(-half, half)[None, :]
    pattern = _most_alike(channels[:, np.clip(around, 0, parts - 1)]).mean(1)
    pattern -= pattern.mean(1, keepdims=True)
    size = fft.next_fast_len(2 * parts, real=True)
    spectrum = fft.rfft(channels, size) * np.conj(fft.rfft(pattern, size))
    similarity = fft.irfft(spectrum.sum(0), size).astype(np.float64) / (float(np.square(pattern).sum()) + 1e-300)
    return _best_path(np.roll(similarity, half)[:parts], bins) * each + each // 2


def _most_alike(windows: Floats) -> Floats:
    """Return those of the windows, float64[channels, windows, bins], that are like one of them, if these are not nearly all.

    Evaluations hold no whole number of steps, so that steps after them lie elsewhere in their windows.
    """
    rows = np.swapaxes(windows, 0, 1).reshape(windows.shape[1], -1)
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    alike = rows @ rows.T >= c.LEAST
    own = alike[np.argmax(alike.sum(1))]
    return windows if own.mean() >= c.MOST_STEPS or own.sum() < c.LEAST_PLACES else windows[:, own]


def sharpened(places: Ints, pace: Floats) -> Ints:
    """Move places a little, so that idle times around them are most similar to the mean of all."""
    bins = float(np.median(np.diff(places)))
    pace = np.minimum(pace, _of_most_steps(pace, bins))
    half, near = int(bins / 2), int(np.ceil(c.NEAR * bins))
    for _ in range(2):
        around = np.clip(places[:, None] + np.arange(-half - near, half + near + 1), 0, len(pace) - 1)
        window = pace[around]
        moved = [window[:, k : k + 2 * half + 1] for k in range(2 * near + 1)]
        pattern = moved[near].mean(0)
        pattern -= pattern.mean()
        places = places + np.stack([own @ pattern for own in moved]).argmax(0) - near
    return np.unique(places[(places > near) & (places < len(pace) - near)])  # at an edge half a step is seen


def _of_most_steps(pace: Floats, bins: float) -> float:
    """Return the longest idle time of nine in ten steps: limited to it, a hang counts as a usual one."""
    rank = max(int(c.MOST_STEPS * len(pace) / bins), 1)
    return float(np.partition(pace, -rank)[-rank])


def _channels(clock: Clock, period: Period, each: int) -> Floats:
    """Compute the traffic of each class, and the pace, per `each` bins: smoothed, mean 0.

    Their variance is how well each repeats after a step: even traffic varies by chance only.
    """
    parts = clock.parts // each
    pace = np.minimum(period.pace, _of_most_steps(period.pace, period.bins))
    raw = np.concatenate([clock.density, pace[None]])
    raw = np.add.reduceat(raw[:, : parts * each], np.arange(0, parts * each, each), axis=1) / each
    raw = (raw - raw.mean(1, keepdims=True)).astype(np.float32)  # 6 digits are enough
    size = fft.next_fast_len(2 * parts, real=True)
    turn = (2 * np.pi * np.arange(size // 2 + 1) / size * max(1.0, period.bins / 64 / each)).astype(np.float32)
    out = fft.irfft(fft.rfft(raw, size) * np.exp(-0.5 * turn**2), size)[:, :parts]
    out /= np.maximum(out.std(1, keepdims=True), 1e-12)
    lag = min(round(period.bins / each), parts // 2)
    repeats = (out[:, lag:] * out[:, :-lag]).mean(1)
    return np.asarray(out * np.sqrt(np.maximum(repeats, c.LEAST_WEIGHT))[:, None])


def _longest_idle_place(pace: Floats, bins: float) -> float:
    """Find the first place at which the job is usually idle longest, in bins."""
    phases = min(c.PHASES, int(bins))
    place = ((np.arange(len(pace)) + 0.5) / bins) % 1
    phase = np.minimum((place * phases).astype(np.int64), phases - 1)
    usual = np.bincount(phase, pace, phases) / np.maximum(np.bincount(phase, minlength=phases), 1)
    return (int(np.argmax(usual)) + 0.5) / phases * bins


def _best_path(similarity: Floats, bins: float) -> Ints:
    """Find the sequence of places with the largest sum of similarity; steps differ from usual by `STRETCH` at most."""
    low, high = max(int((1 - c.STRETCH) * bins), 1), int((1 + c.STRETCH) * bins) + 1
    apart = np.arange(low, high + 1)
    cost = ((apart / bins - 1) / (c.STRETCH / 4)) ** 2
    return best_sequence(similarity, low, cost, 1.0)
