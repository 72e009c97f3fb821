"""Find the period of a job on the traffic clock: how much traffic one step holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import fft, ndimage

from prism.steps import constants as c
from prism.steps.record_sequences import Floats
from prism.steps.traffic_clock import Clock


@dataclass(frozen=True, eq=False)
class Period:
    """Length of a step in bins of the clock, how well the traffic repeats after it (0 ... 1), and the pace that shows it."""

    bins: float
    regular: float
    pace: Floats


def period_of(clock: Clock) -> Period | None:
    """Find the shortest lag at which all channels repeat nearly as well as at any lag; None if nothing repeats.

    Channels are the classes of sequences and the pace, so idle time counts as part of the program. The pace has the lowest
    power at which the traffic repeats nearly as well as at any power: a slow link makes transfers uneven; then idle times must
    have more weight.
    """
    power, found, best = _power(clock.density), list[Period](), 0.0
    for exponent in c.POWERS if clock.bursts else c.POWERS[:1]:
        one = _with_pace(clock, power, clock.pace(exponent))
        if one is not None:
            found.append(one)
            best = max(best, one.regular)
        if best >= c.NEAR_BEST:  # no other power shows a much better repetition: 1 is the maximum
            break
    return next((one for one in found if one.regular >= c.NEAR_BEST * best), None)


def whole_step(clock: Clock, period: Period) -> Period:
    """Return the period of the step if equal buckets or layers were taken for steps; else the same period.

    A recording may begin with the first copy of the model, in which nothing rests, and with slower steps, while programs are
    compiled. Then the rest tells.
    """
    return _whole_step(clock, period) or _whole_step(clock.after(c.BEGINNING), period) or period


def _whole_step(clock: Clock, period: Period, most: float = np.inf) -> Period | None:
    """Search for longer periods in the idle times of a clock, and in those of the one that is found; None if there are none.

    After the last bucket of a step the forward pass follows, and layers of the forward pass have other idle times than those of
    the backward pass. So the longest idle times within a bucket or layer repeat after a step, and differ within it. A hang or
    two are limited to usual ones, and all to `most`, ns: pauses after some steps, such as evaluations, hide what repeats in
    each.
    """
    if 2 * c.LEAST_PLACES * period.bins > clock.parts:
        return None
    longest = _longest_idle(clock, period, most)
    spectrum, low, high = _power(longest[None]), (2 - c.ASTRAY) * period.bins, clock.parts / c.LEAST_PLACES
    found = np.concatenate([_lags(spectrum, scale, clock, low, high) for scale in c.SCALES], axis=1)
    least = np.maximum(c.LEAST, c.SIGMAS / np.sqrt((clock.parts - found[0]) / period.bins))  # of random idle times
    lags, repeats = found[:2, (found[0] > low) & (found[0] <= high) & (found[1] >= least)]
    limited, typical = most < np.inf, float(np.expm1(np.median(longest)))
    if not len(lags):
        far_longer = c.FAR_LONGER * typical
        if limited or longest.max() <= np.log1p(far_longer):
            return None
        return _whole_step(clock, period, far_longer) or _whole_step(clock, period, typical)
    often = lags <= clock.parts / c.GROUPS if lags.min() <= clock.parts / c.GROUPS else np.ones(len(lags), np.bool_)
    lags, repeats = lags[often], repeats[often]
    lag = _sharpened(np.tile(spectrum, (2, 1)), float(lags[repeats >= c.NEAR_BEST * repeats.max()].min()), 0.5)
    if _equal(clock, period, lag):
        return period
    within = None if limited else _whole_step(clock, period, c.FAR_LONGER * typical) or _whole_step(clock, period, typical)
    if within is not None and 2 * within.bins < lag and (_astray(lag / within.bins) or _equal(clock, within, lag)):
        return within
    if _astray(lag / period.bins) and clock.parts < c.GROUPS * lag and repeats.max() < c.NEAR_BEST:
        return period
    longer = Period(lag, period.regular, period.pace)
    return _whole_step(clock, longer) or longer


def _astray(steps: float) -> bool:
    """Whether this is no whole number of steps: what comes after that many, or seldom and not quite, does so by chance."""
    return abs(steps - round(steps)) > c.ASTRAY


def _longest_idle(clock: Clock, period: Period, most: float = np.inf) -> Floats:
    """Logarithm of the longest idle time, ns, within a period around each part of a clock, at most `most`."""
    around = ndimage.maximum_filter1d(clock.spent, round((1 + c.ASTRAY) * period.bins))
    least, last = round(period.bins), -round(c.LONGEST * period.bins)  # at the ends of the clock half of them are seen
    low, high = np.partition(around, [least, last])[[least, last]]
    return np.asarray(np.log1p(np.clip(around, low, min(high, max(most, low)))))


def _usual(longest: Floats, lag: float) -> Floats:
    """Median of each place of a lag."""
    begins = np.round(np.arange(int(len(longest) / lag)) * lag).astype(np.int64)
    return np.asarray(np.median(longest[begins[:, None] + np.arange(int(lag))], axis=0))


def _equal(clock: Clock, period: Period, lag: float) -> bool:
    """Check whether these are equal steps, perhaps with a pause after most, such as an evaluation. If they were equal buckets
    of a backward pass instead, a forward pass would add more time to all of them, also where a fault stretches some. Layers
    take longer at several places of a step, and not at one only. A few pauses may come after equal numbers of steps by chance.
    Parts that take equally long are steps. Where a step holds no whole number of parts, micro-batches reduce gradients one by
    one, and parameters are gathered after the last: that takes less than a forward pass. Evaluations take more, or are few.
    """
    steps = _parts_of_steps(clock, period, lag)
    groups, count = steps.shape
    gathers = lag / period.bins > count + 2 * c.ASTRAY
    if gathers and groups >= c.GROUPS and np.median(steps.sum(1)) < (count + c.FORWARD) * np.median(steps):
        return False
    usual = np.sort(np.quantile(steps, 0.5, axis=0, method="lower"))
    steps, idle = np.sort(steps), np.expm1(_usual(_longest_idle(clock, period), lag))
    longer = np.quantile(steps.mean(1) / steps[:, (count - 1) // 2], c.SOME_STEPS, method="lower")
    equal = np.median(idle) <= c.LONGER * idle.min() and usual[-2] <= c.LONGER * usual[0]
    alike = usual[-1] <= c.EQUAL_PARTS * usual[0]
    return bool(alike or (equal and (longer < 1 + c.FORWARD or groups < c.GROUPS)))


def _parts_of_steps(clock: Clock, period: Period, lag: float) -> Floats:
    """Duration of each period in each lag, ns, float64[lags, periods]; the last is longer if a lag holds no whole number."""
    first = (np.argmax(clock.spent[: int(lag)]) + period.bins / 2) % period.bins  # bounds lie between idle times
    count = int(lag / period.bins + 2 * c.ASTRAY)
    if lag / period.bins <= count + 2 * c.ASTRAY:  # an interruption shifts lags against periods
        parts = np.diff(clock.times(np.arange(first, clock.parts, period.bins)))
        return parts[: len(parts) // count * count].reshape(-1, count)
    groups = int((clock.parts - first) / lag)
    begins = lag * np.arange(groups)[:, None] + period.bins * np.arange(count)
    return np.diff(clock.times(first + np.append(begins, lag * groups))).reshape(groups, count)


def _power(channels: Floats) -> Floats:
    """Power spectra of channels, padded so that ends do not meet; 6 digits are enough."""
    even = (channels - channels.mean(-1, keepdims=True)).astype(np.float32)
    spectra = fft.rfft(even, 2 * channels.shape[-1])
    return np.asarray(spectra.real**2 + spectra.imag**2)


def _with_pace(clock: Clock, power: Floats, pace: Floats) -> Period | None:
    """Find the period of a clock with a pace; `power`: spectra of its classes.

    A channel has more weight if it varies more, because an operation that comes once per step varies most. It has less weight
    if it never repeats well: random choices, such as the order of partners, carry no information.
    """
    pace_power = _power(pace)
    spectra = np.stack([power.mean(0), pace_power])
    found = np.concatenate([_lags(spectra, scale, clock) for scale in c.SCALES], axis=1)
    if not found.shape[1]:
        return None
    periods, sequences, rests, weight = found
    best_ever = np.clip([sequences.max(), rests.max()], c.LEAST_WEIGHT, 1 - c.SMALL)
    signal = best_ever / (1 - best_ever)
    weight = weight * signal[0] / (weight * signal[0] + (1 - weight) * signal[1])
    common = weight * sequences + (1 - weight) * rests
    if common.max() < c.LEAST:
        return None
    best = float((common * np.where(periods > clock.parts / c.GROUPS, c.NEAR_BEST, 1.0)).max())
    near = common >= c.NEAR_BEST * best
    one_record = (periods - 1) * clock.records <= clock.parts  # records of one size repeat one by one: only the pace differs
    if np.any(near & one_record) and rests[near].max() >= c.LEAST:
        near &= rests >= c.NEAR_BEST * rests[near].max()
    at = int(np.argmin(np.where(near, periods, np.inf)))
    bins = _sharpened(np.concatenate([power, pace_power[None]]), float(periods[at]), float(weight[at]))
    return Period(bins, float(common[periods == periods[at]].max()), pace)


def _lags(spectra: Floats, scale: int, clock: Clock, above: float = 0.0, most: float = np.inf) -> Floats:
    """Find lags at which the traffic, smoothed at a scale, repeats: lag, repetition of sequences and pace, weight; [4, lags].

    `spectra`: of the sequences, mean over classes, and of the pace; or one for both. A step holds a record of each sequence.
    None if all lags of the scale are outside of the range from `above` to `most`.
    """
    parts, every = clock.parts, max(scale // 4, 1)  # bins between the lags that are computed: smoothing leaves no finer ones
    low = max(8 * scale, parts / clock.records - every)
    high = 64 * scale if 64 * scale < parts / 2 else c.LONGEST_LAG * parts
    if low >= high or 8 * scale >= high or high <= above or low > most:
        return np.zeros((4, 0))
    passed = _passed(parts // every, parts, scale)
    smooth = spectra[:, : len(passed)] * passed
    varied = 2 * smooth.sum(1) - smooth[:, 0]
    if varied.max() <= 0:
        return np.zeros((4, 0))
    weight = min(max(float(varied[0] / (varied[0] + varied[-1])), c.LEAST_WEIGHT), c.MOST_WEIGHT)
    first = max(int(low) // every - 1, 0)
    lags = np.arange(first, min(int(high) // every + 2, parts // every // 2)) * every
    # The power is real, so its inverse transform is a cosine transform, which is several times as fast.
    repeats = fft.dct(smooth, 1)[:, first : first + len(lags)] / (1 - lags / parts)
    repeats /= np.where(varied > 0, varied, 1.0)[:, None]  # equal numbers of messages in all bins neither vary nor repeat
    sequences, rests = repeats[0], repeats[-1]
    common = weight * sequences + (1 - weight) * rests
    rises = common[1:] > common[:-1]
    at = np.flatnonzero(rises[:-1] & ~rises[1:]) + 1
    at = at[(lags[at] >= low) & (lags[at] < high)]
    return np.array([lags[at], sequences[at], rests[at], np.full(len(at), weight)], np.float64)


def _sharpened(power: Floats, lag: float, weight: float) -> float:
    """Refine the lag to a fraction of a bin, from the repetition after twice, four times, ... the lag.

    `weight` is the weight of the sequences relative to the pace, the last of the spectra. After an interruption a multiple may
    be no peak; it is skipped.
    """
    parts = power.shape[1] - 1
    passed = power * _passed(parts, parts, max(1.0, lag / 48))
    common = passed / np.maximum(passed.sum(1, keepdims=True), np.finfo(np.float32).tiny)
    autocorrelation = fft.dct(weight * common[:-1].mean(0) + (1 - weight) * common[-1], 1)[:parts]
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


@lru_cache(64)  # few scales occur
def _passed(count: int, parts: int, scale: float) -> Floats:
    """Filter of the lowest frequencies of the power: smoothing, and removal of trends over `TREND` times the scale, in bins."""
    turn = 2 * np.pi * np.arange(count + 1) / (2 * parts) * scale
    return np.asarray(np.exp(-(turn**2)) * (1 - np.exp(-0.5 * (turn * c.TREND) ** 2)) ** 2, np.float32)
