"""Track the steps of a job on the traffic clock."""

from __future__ import annotations

import numpy as np
from scipy import fft

from prism.loops.periods.step_places import best_sequence
from prism.steps import constants as c
from prism.steps._step_program import Period
from prism.steps.record_sequences import Floats, Ints, Mask
from prism.steps.step_ends import median_known
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
    pattern = channels[:, np.clip(around, 0, parts - 1)].mean(1)
    pattern -= pattern.mean(1, keepdims=True)
    size = fft.next_fast_len(2 * parts, real=True)
    spectrum = fft.rfft(channels, size) * np.conj(fft.rfft(pattern, size))
    similarity = fft.irfft(spectrum.sum(0), size) / (np.square(pattern).sum() + 1e-300)
    return _best_path(np.roll(similarity, half)[:parts], bins) * each + each // 2


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
        places = places + np.stack([own @ (pattern - pattern.mean()) for own in moved]).argmax(0) - near
    return np.unique(places[(places > near) & (places < len(pace) - near)])  # at an edge half a step is seen


def grouped(places: Ints, clock: Clock) -> Ints:
    """Group places if buckets or layers of one size were taken for steps; else return the same places.

    After the last bucket of a step the forward pass follows, and layers of the forward pass have other idle times than those of
    the backward pass. The idle times then repeat after the number of buckets or layers in a step.
    """
    if len(places) < c.GROUPS:
        return places
    near = max(int(np.median(np.diff(places))) // 2, 1)
    shifts = np.arange(-near, near + 1)
    around = clock.spent[np.clip(places[:, None] + shifts[None, :], 0, clock.parts - 1)]
    inside = places + shifts[np.argmax(around.mean(0))]
    inside = inside[(inside >= near) & (inside <= clock.parts - near)]
    if len(inside) < c.GROUPS:
        return places
    number = np.concatenate([[0], np.cumsum(np.maximum(np.round(np.diff(inside) / np.median(np.diff(inside))), 1))])
    number = number.astype(np.int64)  # a place may have been missed
    idle_times = np.full(number[-1] + 1, np.nan)
    idle_times[number] = [clock.spent[p - near : p + near + 1].max() for p in inside.tolist()]
    count = _repeated(idle_times)
    if not count:
        return places
    silent = idle_times[number] > c.SILENT * count * np.median(np.diff(clock.times(inside)))
    parts = np.split(np.arange(len(inside)), np.flatnonzero(silent))
    return grouped(inside[np.concatenate([own[_last_of_step(idle_times, number[own], count)] for own in parts])], clock)


def _last_of_step(idle_times: Floats, number: Ints, count: int) -> Mask:
    """Mark the last operations of steps among consecutive ones, `count` per step: the idle time after them is longest.

    They are counted from the first of them: a restart after a silence begins a step. If they are few, all operations show
    which one is the last.
    """
    shown = number if len(number) >= c.LEAST_PLACES * count else np.arange(len(idle_times))
    rows = np.full((shown[-1] // count + 1) * count, np.nan)
    rows[shown] = idle_times[shown]
    return np.asarray(number % count == int(median_known(rows.reshape(-1, count)).argmax()))


def _repeated(idle_times: Floats) -> int:
    """Smallest number of operations after which unequal idle times repeat; 0 if none. Only a trend repeats after one."""
    ratio = np.log(np.maximum(idle_times, np.nanmedian(idle_times) / 1000))
    ratio = np.nan_to_num(ratio - np.nanmedian(ratio))
    ratio -= ratio.mean()
    change = np.diff(ratio)  # a slow rank lengthens the idle times of some steps
    like = np.array([change[k:] @ change[:-k] / (len(change) - k) for k in range(1, len(ratio) // c.GROUPS + 1)])
    best = float(like.max()) / max(float(np.mean(change**2)), 1e-300)
    count = int(np.argmax(like >= c.NEAR_BEST * like.max())) + 1
    if best < c.LEAST or count == 1:
        return 0
    usual = np.median(ratio[: len(ratio) // count * count].reshape(-1, count), axis=0)
    return count if np.ptp(usual) > np.log(c.LONGER) else 0


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
    raw -= raw.mean(1, keepdims=True)
    size = fft.next_fast_len(2 * parts, real=True)
    turn = 2 * np.pi * np.arange(size // 2 + 1) / size * max(1.0, period.bins / 64 / each)
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
