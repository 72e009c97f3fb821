"""Find the period of a job on the traffic clock: how much traffic one step holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import fft

from prism.steps import constants as c
from prism.steps.record_sequences import Floats
from prism.steps.traffic_clock import Clock


@dataclass(frozen=True, eq=False)
class Period:
    """Length of a step in bins of the clock, and how well the traffic repeats after it (0 ... 1)."""

    bins: float
    regular: float


def found_on(clock: Clock) -> tuple[Clock, Period | None]:
    """Find the period, and the clock on which it is visible.

    The pace is the idle time between bursts to the lowest power at which the traffic repeats nearly as well as at any power. A
    slow link makes transfers uneven; then idle times must have more weight.
    """
    traffic = _traffic(clock)
    if not clock.bursts:
        return clock, _period_on(clock, traffic)
    clocks, found, best = [clock.with_power(power) for power in c.POWERS], list[Period | None](), 0.0
    for own in clocks:
        found.append(_period_on(own, traffic))
        best = max(best, 0.0 if found[-1] is None else found[-1].regular)
        if best >= c.NEAR_BEST:  # no other power shows a much better repetition: 1 is the maximum
            break
    usable = ((own, one) for own, one in zip(clocks, found, strict=False) if one and one.regular >= c.NEAR_BEST * best)
    return next(usable, (clock, None))


def period_of(clock: Clock) -> Period | None:
    """Find the shortest lag at which all channels repeat nearly as well as at any lag; None if nothing repeats.

    Channels are the classes of sequences and the pace, so idle time counts as part of the program. A channel has more weight
    if it varies more, because an operation that comes once per step varies most. It has less weight if it never repeats well:
    random choices, such as the order of partners, carry no information. Equal buckets repeat one by one; see `grouped`.
    """
    return _period_on(clock, _traffic(clock))


@dataclass(frozen=True, eq=False)
class _Traffic:
    """Repetition of the sequences, without the pace.

    `power`: power spectra by class; `repeats`: their autocorrelation smoothed at each of the `scales`, float64[scales, lags];
    `varied`: how much a sequence varies at each scale, the mean over classes.
    """

    power: Floats
    scales: tuple[int, ...]
    repeats: Floats
    varied: list[float]


def _traffic(clock: Clock) -> _Traffic:
    kinds = np.unique(clock.kind)
    spectra = np.abs(fft.rfft((clock.density - 1).astype(np.float32), 2 * clock.parts)) ** 2  # 6 digits are enough
    groups = np.array([np.count_nonzero(clock.kind == k) for k in kinds], np.float64)
    power = np.stack([spectra[clock.kind == k].sum(0, dtype=np.float64) for k in kinds])
    whole = power.sum(0)  # the transform of a sum is the sum of transforms
    scales = c.SCALES[: len(c.SCALES) - int(np.log2(c.BINS // clock.parts))]  # the coarsest examines lags of half the clock
    passed = _passed(scales, clock.parts)
    repeats = _autocorrelation(whole * passed)
    varied = [float((_at_no_lag(power * own) / groups).mean()) for own in passed]
    return _Traffic(power, scales, repeats, varied)


def _period_on(clock: Clock, traffic: _Traffic) -> Period | None:
    """Find the period (`period_of`) of a clock with this traffic and its own pace."""
    pace_power = np.abs(fft.rfft(clock.pace - clock.pace.mean(), 2 * clock.parts)) ** 2
    repeats = _autocorrelation(pace_power * _passed(traffic.scales, clock.parts))
    lags = [own for i, pace in enumerate(repeats) for own in _lags(traffic, pace, i, clock.parts)]
    found = np.array(lags, np.float64).reshape(-1, 4)
    found = found[(found[:, 0] + 1) * clock.records >= clock.parts]  # a step holds a record of each sequence; lags are rounded
    if not len(found):
        return None
    periods, sequences, pace, weight = found.T
    best_ever = [max(float(own.max()), c.LEAST_WEIGHT) ** 2 for own in (sequences, pace)]
    weight = weight * best_ever[0] / (weight * best_ever[0] + (1 - weight) * best_ever[1])
    common = weight * sequences + (1 - weight) * pace
    best = float(common.max())
    if best < c.LEAST:
        return None
    near = common >= c.NEAR_BEST * best
    one_record = (periods - 1) * clock.records <= clock.parts  # records of one size repeat one by one: only the pace differs
    if np.any(near & one_record) and pace[near].max() >= c.LEAST:
        near &= pace >= c.NEAR_BEST * pace[near].max()
    at = int(np.argmin(np.where(near, periods, np.inf)))
    power = np.concatenate([traffic.power, pace_power[None]])
    return Period(_sharpened(power, float(periods[at]), float(weight[at])), float(common[periods == periods[at]].max()))


def _lags(traffic: _Traffic, pace: Floats, number: int, parts: int) -> list[tuple[float, float, float, float]]:
    """Find lags at which the traffic, smoothed at a scale, repeats, the repetition of sequences and pace, and the weight.

    `pace`: autocorrelation of the pace at this scale.
    """
    scale, sequences = traffic.scales[number], traffic.repeats[number]
    if pace[0] <= 0 or sequences[0] <= 0:
        return []
    varied = traffic.varied[number]
    weight = float(np.clip(varied / (varied + pace[0]), c.LEAST_WEIGHT, c.MOST_WEIGHT))
    sequences, pace = sequences / sequences[0], pace / pace[0]
    common = weight * sequences + (1 - weight) * pace
    peaks = np.flatnonzero((common[1:-1] > common[:-2]) & (common[1:-1] >= common[2:])) + 1
    most = 64 * scale if scale < traffic.scales[-1] else c.LONGEST_LAG * parts
    peaks = peaks[(peaks >= 8 * scale) & (peaks < most)]
    return [(float(p), float(sequences[p]), float(pace[p]), weight) for p in peaks.tolist()]


def _autocorrelation(power: Floats) -> Floats:
    """Autocorrelation from each power spectrum, of lags up to half of the clock, as if more lags had as many products."""
    parts = power.shape[1] - 1
    return np.asarray(fft.irfft(power)[:, : parts // 2] / (1 - np.arange(parts // 2) / parts))


def _at_no_lag(power: Floats) -> Floats:
    """Autocorrelation at lag 0 of each row of spectra: the mean power over all frequencies, of which spectra hold half."""
    return np.asarray((2 * power.sum(1) - power[:, 0] - power[:, -1]) / (2 * (power.shape[1] - 1)))


def _sharpened(power: Floats, lag: float, weight: float) -> float:
    """Refine the lag to a fraction of a bin, from the repetition after twice, four times, ... the lag.

    `weight` is the weight of the sequences relative to the pace. After an interruption a multiple may be no peak; it is
    skipped.
    """
    parts = power.shape[1] - 1
    frequency, scale = np.arange(parts + 1) / (2 * parts), max(1.0, lag / 48)
    passed = np.exp(-((2 * np.pi * frequency * scale) ** 2)) * _detrended(frequency, scale)
    common = (power * passed) / np.maximum((power * passed).sum(1, keepdims=True), 1e-300)
    autocorrelation = fft.irfft(weight * common[:-1].mean(0) + (1 - weight) * common[-1])[:parts]
    autocorrelation /= 1 - np.arange(parts) / parts
    times, near = 1, max(2, round(lag / 6))
    out = lag
    while 2 * times * out < c.LAST_MULTIPLE * parts:
        times *= 2
        middle = round(times * out)
        part = autocorrelation[middle - near : middle + near + 1]
        at = int(np.argmax(part))
        if 0 < at < len(part) - 1:
            out = (middle - near + at) / times
    return out


@cache
def _passed(scales: tuple[int, ...], parts: int) -> Floats:
    """Filters of the power by frequency for some scales: smoothing, and removal of trends; cached, because few scales occur."""
    frequency = np.arange(parts + 1) / (2 * parts)
    return np.stack([np.exp(-((2 * np.pi * frequency * scale) ** 2)) * _detrended(frequency, scale) for scale in scales])


def _detrended(frequency: Floats, scale: float) -> Floats:
    """Filter that removes the trend from the power: it keeps changes within `TREND` times the scale, in bins."""
    return np.asarray((1 - np.exp(-0.5 * (2 * np.pi * frequency * scale * c.TREND) ** 2)) ** 2)
