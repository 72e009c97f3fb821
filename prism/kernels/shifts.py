"""Stretches of a series that stand out, and how far."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Shift(NamedTuple):
    """Places `start` to `stop` (exclusive) of a series, their median, and how many robust sigmas their mean stands out."""

    start: int
    stop: int
    height: float
    score: float


def middle(values: Floats, axis: int | None = None) -> Floats:
    """Median of what is known, NaN where nothing is; the axis stays, so that it can be subtracted."""
    if axis is None:
        return np.asarray(middle(values.ravel(), axis=0)[0], dtype=np.float64)
    if not values.shape[axis]:
        return np.full([1 if i == axis % values.ndim else n for i, n in enumerate(values.shape)], np.nan)
    ordered = np.sort(values, axis=axis)  # NaN comes last
    known = np.count_nonzero(~np.isnan(values), axis=axis, keepdims=True)
    low, high = (np.take_along_axis(ordered, at, axis) for at in (np.maximum(known - 1, 0) // 2, known // 2 * (known > 0)))
    return np.asarray((low + high) / 2, dtype=np.float64)


def usual(values: Floats, *, share: float = 30.0) -> Floats:
    """What each row usually is: the percentile `share` of what is known, so that a row may be high for most of the time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanpercentile(values, share, axis=1, keepdims=True), dtype=np.float64)


def spread(values: Floats, *, floor: float = 0.01) -> float:
    """Robust standard deviation: 1.4826 times the median absolute deviation (Rousseeuw & Croux 1993), at least `floor`."""
    known = values[np.isfinite(values)]
    return max(float(1.4826 * np.median(np.abs(known - np.median(known)))), floor) if len(known) else floor


def shift(series: Floats, sigma: float, *, least: int = 3, height: float = 0.15, most: int = 512) -> Shift | None:
    """The stretch of at least `least` places in which a series is highest beyond chance; None if its median is below `height`.

    Scan statistic: the stretch of greatest (mean − height / 2) · √n. NaN is unknown and counts for nothing. Single spikes are
    clipped to four times `height` or sigma, so that one of them makes no stretch. Series longer than `most` are looked at in
    pieces of that size.
    """
    best: Shift | None = None
    for at in range(0, max(len(series), 1), most):
        part = _highest(series[at : at + most], sigma, least, height)
        if part is not None and (best is None or part.score > best.score):
            best = Shift(part.start + at, part.stop + at, part.height, part.score)
    return best


def _highest(series: Floats, sigma: float, least: int, height: float) -> Shift | None:
    known = np.isfinite(series)
    limit = 4 * max(height, sigma)
    value = np.where(known, np.clip(np.nan_to_num(series) - height / 2, -limit, limit), 0.0)
    total, count = np.concatenate([[0.0], np.cumsum(value)]), np.concatenate([[0], np.cumsum(known)])
    n = count[None, :] - count[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        score = np.where(n >= least, (total[None, :] - total[:, None]) / np.sqrt(np.maximum(n, 1)), -np.inf)
    start, stop = np.unravel_index(int(np.argmax(score)), score.shape)
    inside = series[start:stop][known[start:stop]]
    if len(inside) < least or not np.isfinite(score[start, stop]):
        return None
    middle = float(np.median(inside))
    if middle < height or np.mean(inside >= height / 2) < 0.75:
        return None
    return Shift(int(start), int(stop), middle, float(middle * np.sqrt(len(inside)) / max(sigma, 1e-9)))


def shifts(series: Floats, sigma: float, *, least: int = 3, height: float = 0.15, score: float = 5.0) -> list[Shift]:
    """Every stretch that stands out by `score` or more, the strongest first."""
    rest = series.copy()
    found: list[Shift] = []
    while (one := shift(rest, sigma, least=least, height=height)) is not None and one.score >= score and len(found) < 16:
        found.append(one)
        rest[one.start : one.stop] = np.nan
    return found
