"""Find intervals of a series that exceed the noise, and score them."""

from __future__ import annotations

from math import comb
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from collectors.compilation.compiled import compiled
from prism.loops.arrays.medians import arrange, median, quantile

Floats = NDArray[np.float64]


OFTEN = 0.8  # share of an interval's steps in which a lasting level shows; single spikes occur at any time
RARE = 0.05  # number of similar intervals in a window that chance may cause
TURNS = 4  # number of searches for an interval with holes
# Percentile that shows an intermittent level in full: of two ranks that wait for each other, either may seem to work.
HIGH = 80.0


class Shift(NamedTuple):
    """Interval `start` to `stop` (exclusive) of a series, its median, and the deviation of its mean in robust sigmas."""

    start: int
    stop: int
    height: float
    score: float


@overload
def middle(values: Floats) -> np.float64: ...


@overload
def middle(values: Floats, axis: int) -> Floats: ...


def middle(values: Floats, axis: int | None = None) -> Floats | np.float64:
    """Median of known values, NaN if there are none; the axis is kept, for subtraction."""
    if axis is None:
        there = values[~np.isnan(values)]
        return np.float64(median(there) if len(there) else np.nan)
    if not values.shape[axis]:
        return np.full([1 if i == axis % values.ndim else n for i, n in enumerate(values.shape)], np.nan)
    along = values.swapaxes(axis, -1)
    rows = np.ascontiguousarray(along, dtype=np.float64).reshape(-1, along.shape[-1])
    return np.ascontiguousarray(_middles(rows).reshape(*along.shape[:-1], 1).swapaxes(axis, -1))


@compiled
def _middles(rows: Floats) -> Floats:
    """Compute `middle` of each row."""
    out, known = np.empty(len(rows)), np.empty(rows.shape[1])
    for i in range(len(rows)):
        n = 0
        for value in rows[i]:
            if not np.isnan(value):
                known[n] = value
                n += 1
        out[i] = median(known[:n]) if n else np.nan
    return out


def held(level: Floats, one: Shift, least: float) -> float:
    """Share of the known steps of a shift in which a level is at least `least`."""
    inside = level[one.start : one.stop]
    known = inside[np.isfinite(inside)]
    return float(np.mean(known >= least)) if len(known) else 0.0


def even(level: Floats, one: Shift, noise: float, *, short: int = 4, sigmas: float = 4.0) -> bool:
    """Check whether a level stays within half the height of a shift, or within its noise; shifts longer than `short` steps
    pass.

    Spikes of any height may follow each other for a few steps, but rarely with equal height. One of `short` may differ.
    """
    known = np.sort(level[one.start : one.stop])
    known = known[np.isfinite(known)]
    if one.stop - one.start > short or not len(known):
        return one.stop - one.start > short
    apart = min(known[-2] - known[0], known[-1] - known[1]) if len(known) >= short else known[-1] - known[0]
    return bool(apart <= max(one.height / 2, sigmas * noise))


def by_chance(levels: Floats, row: int, one: Shift) -> float:
    """Expected number of intervals like a shift of a row by chance, given the frequency of steps of half its height elsewhere.

    `levels` are float64[rows, steps]. The shift may have as many known lower steps as it has, in any order. Runs as long as the
    shift are another cause, not chance, and are excluded; so are high values in its steps and next to them, which may be its
    effect. A row may have more spikes than others, so the result is the larger of two: with the frequency in all rows, and in
    this row.
    """
    long, elsewhere = one.stop - one.start, np.isfinite(levels)
    elsewhere[:, max(one.start - 1, 0) : one.stop + 1] = False
    high = elsewhere & (levels >= one.height / 2)
    edges = np.diff(np.pad(high, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    (rows, begins), (_, ends) = np.nonzero(edges == 1), np.nonzero(edges == -1)
    short = np.where(ends - begins < long, ends - begins, 0)
    counts = np.bincount(rows, weights=short, minlength=len(levels)), np.count_nonzero(elsewhere, axis=1)
    single, known = (np.array([count.sum(), count[row]]) for count in counts)
    share = single / np.maximum(known, 1)
    low = int(np.count_nonzero(levels[row, one.start : one.stop] < one.height / 2))
    return float(np.max(np.array([levels.size, levels.shape[1]]) * comb(long, low) * share ** (long - low)))


def usual(values: Floats, *, share: float = 30.0) -> Floats:
    """Usual value of each row: the percentile `share` of known values, so that a row may be high most of the time."""
    return _usual(values, share / 100)


@compiled
def _usual(values: Floats, share: float) -> Floats:
    out = np.full((len(values), 1), np.nan)
    for i in range(len(values)):
        known = values[i][~np.isnan(values[i])]
        if len(known):
            arrange(known)
            out[i, 0] = quantile(known, share)
    return out


def spread(values: Floats, *, floor: float = 0.01) -> float:
    """Robust standard deviation: 1.4826 times the median absolute deviation (Rousseeuw & Croux 1993), at least `floor`."""
    return _spread(values.ravel(), floor)


@compiled
def _spread(values: Floats, floor: float) -> float:
    known = values[np.isfinite(values)]
    return max(1.4826 * median(np.abs(known - median(known))), floor)


def shift(series: Floats, sigma: float, *, least: int = 3, height: float = 0.15, most: int = 512) -> Shift | None:
    """Find the interval of at least `least` steps in which a series is highest beyond chance; None if its median is below
    `height`.

    Scan statistic: the interval with the largest (mean − height / 2) · √n. NaN is unknown and ignored. Spikes are clipped to
    four times `height` or sigma, so that a single one forms no interval. Series longer than `most` are processed in pieces of
    that length.
    """
    best: Shift | None = None
    for at in range(0, max(len(series), 1), most):
        part = _highest(series[at : at + most], sigma, least, height)
        if part is not None and (best is None or part.score > best.score):
            best = Shift(part.start + at, part.stop + at, part.height, part.score)
    return best


def _highest(series: Floats, sigma: float, least: int, height: float) -> Shift | None:
    """Find the interval with the highest score; if it has holes, its high values define the level that each of its parts
    must reach.
    """
    found, start, stop, middle, score = _outstanding(series, sigma, least, height)
    return Shift(start, stop, middle, score) if found else None


@compiled
def _outstanding(series: Floats, sigma: float, least: int, height: float) -> tuple[bool, int, int, float, float]:
    """Return whether `_highest` finds an interval, and the interval."""
    low = height / 2
    for _ in range(TURNS):
        start, stop = _scanned(series, least, low, 4 * max(height, sigma))
        known, middle, high = _within(series[start:stop], low)
        if known >= least and high >= 0.75 * known:
            start, stop = trimmed(series, start, stop, least, middle / 2)
            return middle >= height, start, stop, middle, middle * np.sqrt(known) / max(sigma, 1e-9)
        inside = series[start:stop]
        above = inside[inside >= low]
        if known < least or len(above) < least or median(above) / 2 <= low:
            break
        low = median(above) / 2
    return False, 0, 0, 0.0, 0.0


@compiled
def trimmed(series: Floats, start: int, stop: int, least: int, low: float) -> tuple[int, int]:
    """Remove values below `low` at both ends of an interval; unchanged if fewer than `least` steps remained."""
    first, last = start, stop
    for i in range(start, stop):
        if series[i] >= low:
            break
        if series[i] < low:
            first = i + 1
    for i in range(stop - 1, first - 1, -1):
        if series[i] >= low:
            break
        if series[i] < low:
            last = i
    return (first, last) if last - first >= least else (start, stop)


@compiled
def _within(series: Floats, least: float) -> tuple[int, float, int]:
    """Return the number of known values, their median, and the number of values of at least `least`."""
    known = series[np.isfinite(series)]
    return len(known), median(known), int((known >= least).sum())


@compiled
def _scanned(series: Floats, least: int, low: float, limit: float) -> tuple[int, int]:
    """Find the first interval with the highest score and at least `least` known values, clipped to `limit`; (0, 0) if none."""
    n = len(series)
    total, count = np.zeros(n + 1), np.zeros(n + 1, np.int64)
    for i in range(n):
        known = np.isfinite(series[i])
        value = min(max(series[i] - low, -limit), limit) if known else 0.0
        total[i + 1], count[i + 1] = total[i] + value, count[i] + known
    root = np.sqrt(np.arange(n + 1).astype(np.float64))
    start, stop, best = 0, 0, -np.inf
    for i in range(n + 1):
        for j in range(i + 1, n + 1):
            known = count[j] - count[i]
            if known >= least:
                score = (total[j] - total[i]) / root[max(known, 1)]
                if score > best:
                    start, stop, best = i, j, score
    return start, stop


def unbroken(series: Floats, one: Shift, sigma: float, *, least: int = 3) -> list[Shift]:
    """Split a shift where it is below half its height, into intervals of at least `least` steps; empty if it is not.

    The level before a hole may have another cause than the level after it.
    """
    high = series[one.start : one.stop] >= one.height / 2
    edges = np.flatnonzero(np.diff(np.pad(high, 1).astype(np.int8))) + one.start
    out = []
    for start, stop in edges.reshape(-1, 2).tolist():
        if least <= stop - start < one.stop - one.start:
            height = float(middle(series[start:stop]))
            out.append(Shift(start, stop, height, float(height * np.sqrt(stop - start) / max(sigma, 1e-9))))
    return out


def shifts(series: Floats, sigma: float, *, least: int = 3, height: float = 0.15, score: float = 5.0) -> list[Shift]:
    """Find all intervals with a score of at least `score`, the strongest first."""
    rest = series.copy()
    found: list[Shift] = []
    while (one := shift(rest, sigma, least=least, height=height)) is not None and one.score >= score and len(found) < 16:
        found.append(one)
        rest[one.start : one.stop] = np.nan
    return found


def standing_out(rows: Floats, sigma: float, *, least: int = 3, height: float = 0.15, score: float = 5.0) -> dict[int, float]:
    """Return the rows in which `shifts` finds an interval, and the noise of each: `sigma`, or its own if larger."""
    noises = _noises(np.ascontiguousarray(rows), sigma, least, height, score, 512)
    return {row: float(noises[row]) for row in np.flatnonzero(noises).tolist()}


@compiled
def _noises(rows: Floats, sigma: float, least: int, height: float, score: float, most: int) -> Floats:
    """Noise of each row in which `shifts` finds an interval, else 0; rows longer than `most` are processed as in `shift`."""
    out = np.zeros(len(rows))
    for k in range(len(rows)):
        if 2 * (rows[k] >= height).sum() < least:
            continue
        noise = max(sigma, _spread(rows[k][1:] - rows[k][:-1], 0.01) / np.sqrt(2))
        for at in range(0, len(rows[k]), most):
            found = _outstanding(rows[k][at : at + most], noise, least, height)
            if found[0] and found[4] >= score:
                out[k] = noise
    return out
