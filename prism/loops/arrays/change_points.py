"""Find intervals of a series that exceed the noise, and score them."""

from __future__ import annotations

from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from collectors.compilation.compiled import compiled
from prism.loops import constants as c

Floats = NDArray[np.float64]


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
        return np.float64(_middles(values.reshape(1, -1))[0])
    if not values.shape[axis]:
        return np.full([1 if i == axis % values.ndim else n for i, n in enumerate(values.shape)], np.nan)
    along = values.swapaxes(axis, -1)
    middles = _middles(along.reshape(-1, along.shape[-1]))
    return np.ascontiguousarray(middles.reshape(*along.shape[:-1], 1).swapaxes(axis, -1))


def _middles(rows: Floats) -> Floats:
    """Median of the known values of each row, NaN if there are none."""
    if not rows.size:
        return np.full(len(rows), np.nan)
    ordered, many = np.sort(rows, axis=1), np.count_nonzero(~np.isnan(rows), axis=1)  # NaN comes last
    row, last = np.arange(len(rows)), np.maximum(many - 1, 0)
    low, high = ordered[row, last // 2], ordered[row, (last + 1) // 2]
    with np.errstate(invalid="ignore"):  # infinite values
        return np.where(many == 0, np.nan, np.where(low == high, low, (low + high) / 2))


def held(level: Floats, one: Shift, least: float) -> float:
    """Share of the known steps of a shift in which a level is at least `least`."""
    inside = level[one.start : one.stop]
    known = inside[np.isfinite(inside)]
    return float(np.mean(known >= least)) if len(known) else 0.0


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
    orders = gammaln(long + 1) - gammaln(low + 1) - gammaln(long - low + 1)
    return float(np.max(np.array([levels.size, levels.shape[1]]) * np.exp(orders + xlogy(long - low, share))))


def spread(values: Floats, *, floor: float = c.NOISE) -> float:
    """Robust standard deviation from the median absolute deviation (Rousseeuw & Croux 1993), at least `floor`."""
    known = values[np.isfinite(values)]
    return max(c.MAD_TO_SIGMA * float(np.median(np.abs(known - np.median(known)))), floor) if len(known) else floor


def shift(series: Floats, sigma: float, *, least: int, height: float) -> Shift | None:
    """Find the interval of at least `least` steps in which a series is highest beyond chance; None if its median is below
    `height`.

    Scan statistic: the interval with the largest (mean − height / 2) · √n. NaN is unknown and ignored. Spikes are clipped to
    four times `height` or sigma, so that a single one forms no interval. Long series are processed in pieces.
    """
    best: Shift | None = None
    for at in range(0, max(len(series), 1), c.PIECE_STEPS):
        part = _highest(series[at : at + c.PIECE_STEPS], sigma, least, height)
        if part is not None and (best is None or part.score > best.score):
            best = Shift(part.start + at, part.stop + at, part.height, part.score)
    return best


def _highest(series: Floats, sigma: float, least: int, height: float) -> Shift | None:
    """Find the interval with the highest score; if it has holes, its high values define the level that each of its parts
    must reach.
    """
    start, stop, level, score = _outstanding(np.ascontiguousarray(series), sigma, least, height)
    return Shift(*trimmed(series, start, stop, least, level / 2), level, score) if level >= height else None


@compiled
def _outstanding(series: Floats, sigma: float, least: int, height: float) -> tuple[int, int, float, float]:
    """Return the interval of `_highest` with low values at its ends, its median and its score; the median is 0 without one."""
    low = height / 2
    for _ in range(c.TURNS):
        start, stop = _scanned(series, least, low, 4 * max(height, sigma))
        known = series[start:stop][np.isfinite(series[start:stop])]
        above = known[known >= low]
        if len(known) < least:
            break
        if len(above) >= c.FULL * len(known):
            level = np.median(known)
            return start, stop, level, level * np.sqrt(len(known)) / max(sigma, 1e-9)
        if len(above) < least or np.median(above) / 2 <= low:
            break
        low = np.median(above) / 2
    return 0, 0, 0.0, 0.0


def trimmed(series: Floats, start: int, stop: int, least: int, low: float) -> tuple[int, int]:
    """Remove values below `low` at both ends of an interval; unchanged if fewer than `least` steps remained."""
    if series[start] >= low and series[stop - 1] >= low:
        return start, stop
    inside = series[start:stop]
    high, below = np.flatnonzero(inside >= low), np.flatnonzero(inside < low)
    if not len(high):
        high = np.array([len(inside)])
    before, after = below[below < high[0]], below[below > high[-1]]
    first = start + int(before[-1]) + 1 if len(before) else start
    last = start + int(after[0]) if len(after) else stop
    return (first, last) if last - first >= least else (start, stop)


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


def unbroken(series: Floats, one: Shift, sigma: float, *, least: int) -> list[Shift]:
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


def shifts(series: Floats, sigma: float, *, least: int, height: float, score: float) -> list[Shift]:
    """Find all intervals with a score of at least `score`, the strongest first."""
    rest = series.copy()
    found: list[Shift] = []
    while len(found) < c.MOST_SHIFTS:
        one = shift(rest, sigma, least=least, height=height)
        if one is None or one.score < score:
            break
        found.append(one)
        rest[one.start : one.stop] = np.nan
    return found


def standing_out(rows: Floats, sigma: float, *, least: int, height: float, score: float) -> dict[int, float]:
    """Return the rows in which `shifts` finds an interval, and the noise of each: `sigma`, or its own if larger."""
    found = {}
    some = np.flatnonzero(2 * np.count_nonzero(rows >= height, axis=1) >= least).tolist()
    changes = np.diff(rows[some], axis=1)
    changes[~np.isfinite(changes)] = np.nan
    spreads = c.MAD_TO_SIGMA * _middles(np.abs(changes - _middles(changes)[:, None]))
    noises = np.maximum(sigma, np.fmax(spreads, c.NOISE) / np.sqrt(2))
    for row, noise in zip(some, noises.tolist(), strict=True):
        pieces = (rows[row, at : at + c.PIECE_STEPS] for at in range(0, rows.shape[1], c.PIECE_STEPS))
        parts = (_outstanding(np.ascontiguousarray(piece), noise, least, height) for piece in pieces)
        if any(level >= height and reached >= score for _, _, level, reached in parts):
            found[row] = noise
    return found
