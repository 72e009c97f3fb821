"""The step of a job, as far as evidence needs it: how long it is, and where each begins.

The period is the shortest lag at which most streams repeat. Micro-batches repeat too, but not in all kinds of streams.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism.evidence import constants as c
from prism.evidence.streams import Stream

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Steps:
    """Where steps are.

    `bounds`: where each begins, ns; `period`, ns; `count`: how many periods the traffic lasts; `regular`: how well it repeats,
    0 … 1; `at_most`: how many steps there can be; `marked`: whether something that comes
    once in a step shows where each ends.
    """

    bounds: Floats
    period: float
    count: float
    regular: float
    at_most: float
    marked: bool

    def places(self, times: Floats) -> Floats:
        """Times as steps since the first bound."""
        return np.interp(times, self.bounds, np.arange(len(self.bounds)))


def steps_of(streams: Sequence[Stream]) -> Steps | None:
    """The steps of streams that belong to one job; None where nothing repeats."""
    low = min(float(s.start[0]) for s in streams)
    high = max(float(s.end.max()) for s in streams) + 1
    at_most = _at_most(streams, low, high)
    period, regular = _period(streams, low, high, at_most)
    if period == 0:
        return None
    count = (high - low) / period
    once = [s for s in streams if len(s.rows) <= at_most] if at_most <= c.ALIKE_COUNTS**2 * count else []
    return Steps(_bounds(streams, once, low, high, period), period, count, regular, at_most, bool(once))


def _at_most(streams: Sequence[Stream], low: float, high: float) -> float:
    """How many steps there can be: a step holds each of its operations at least once, the rarest too.

    The rarest are those of one count that touch a share of all endpoints together, so that an odd stream does not decide.
    """
    everyone = len({end for s in streams for end in s.pair})
    lasting = [s for s in streams if s.equal and s.end.max() - s.start[0] >= c.HALF * (high - low)]
    lasting.sort(key=lambda s: len(s.rows))
    first = 0
    for i, s in enumerate(lasting):
        while len(s.rows) > len(lasting[first].rows) * c.ALIKE_COUNTS:
            first += 1
        if len({end for one in lasting[first : i + 1] for end in one.pair}) >= c.RARE_SHARE * everyone:
            return c.ALIKE_COUNTS * len(lasting[first].rows)
    return np.inf


def _period(streams: Sequence[Stream], low: float, high: float, at_most: float) -> tuple[float, float]:
    """The period in ns and how well it repeats, of at most so many steps; (0, 0) where nothing does."""
    bins = c.BINS
    chosen = sorted(streams, key=lambda s: -s.volume)
    chosen = chosen[:: max(1, len(chosen) // c.STREAMS_TRIED)][: c.STREAMS_TRIED]
    group = _size_groups(chosen)
    chosen, group = [s for s, g in zip(chosen, group.tolist(), strict=True) if g >= 0], group[group >= 0]
    places = [((s.start - low) / (high - low) * bins).astype(np.int64) for s in chosen]
    activity = np.stack([np.bincount(own, s.octets, bins)[:bins] for own, s in zip(places, chosen, strict=True)])
    usual = activity.sum(1, keepdims=True) / np.maximum((activity > 0).sum(1, keepdims=True), 1)
    activity = np.minimum(activity, c.OUTBURST * usual)
    found: list[tuple[int, float]] = []
    spectrum = np.fft.rfft(activity, 2 * bins)
    for scale in c.SCALES:
        kernel = np.exp(-0.5 * (np.arange(-3 * scale, 3 * scale + 1) / scale) ** 2)
        smooth = np.fft.irfft(spectrum * np.fft.rfft(kernel, 2 * bins), 2 * bins)[:, 3 * scale : 3 * scale + bins]
        smooth -= smooth.mean(1, keepdims=True)
        again = np.fft.irfft(np.abs(np.fft.rfft(smooth, 2 * bins)) ** 2)[:, : bins // 2]
        again = again / np.maximum(again[:, :1], 1e-300) / (1 - np.arange(bins // 2) / bins)
        by_group = np.stack([again[group == g].mean(0) for g in np.unique(group)])
        common = 0.5 * (by_group.min(0) + by_group.mean(0))
        peaks = np.flatnonzero((common[1:-1] > common[:-2]) & (common[1:-1] >= common[2:])) + 1
        most = 64 * scale if scale < c.SCALES[-1] else bins
        found += [
            (int(p), float(common[p])) for p in peaks if 16 * scale <= p < min(most, c.LONGEST * bins) and p * at_most >= bins
        ]
    if not found:
        return 0.0, 0.0
    best = max(value for _, value in found)
    if best <= 0:
        return 0.0, 0.0
    lag, value = min((at, value) for at, value in found if value >= c.NEAR_BEST * best)
    return lag * (high - low) / bins, value


def _size_groups(streams: Sequence[Stream]) -> NDArray[np.int64]:
    """A number for each stream: those of like messages do the same. -1 for groups that carry hardly anything."""
    size = np.log([s.size for s in streams])
    order = np.argsort(size)
    group = np.empty(len(streams), np.int64)
    group[order] = np.concatenate([[0], np.cumsum(np.diff(size[order]) > c.LIKE_SIZES)])
    volume = np.bincount(group, [s.volume for s in streams])
    small = volume < c.HARDLY_ANY * volume.sum()
    return np.where(small[group], -1, group)


def _bounds(streams: Sequence[Stream], once: Sequence[Stream], low: float, high: float, period: float) -> Floats:
    """Where each step begins: the busiest moment is followed from step to step, then moved to a rest.

    That is the first rest after what moves `once` in a step (the loss, the norm of gradients), else the longest.
    """
    n = c.BINS_OF_A_STEP
    width = period / n
    bins = int(np.ceil((high - low) / width))
    times = np.concatenate([s.start for s in streams])
    shares = np.concatenate([s.octets / s.volume for s in streams])
    counted = np.bincount(np.minimum((times - low) / width, bins - 1).astype(np.int64), shares, bins)
    moved: Floats = np.convolve(counted, np.ones(3), "same")
    at = int(np.argmax([np.median(moved[k::n]) for k in range(n)]))
    followed: Floats = np.array(_followed(moved, at, n), np.float64) * width + low
    if len(followed) <= 2:
        return (low + np.arange(bins // n + 2) * period).astype(np.float64)
    moved_in_step, quiet = _mean_step(times, shares, followed, n)
    if once and quiet.any():
        return _after(_ends(once), quiet, followed, period)
    cut = _rest(moved_in_step, quiet)
    bounds: Floats = np.interp(np.arange(len(followed) - 1) + cut, np.arange(len(followed)), followed)
    before = bounds[0] - period * np.arange(int(np.ceil(max(bounds[0] - low, 0) / period)), 0, -1)
    after = bounds[-1] + period * np.arange(1, int(np.ceil(max(high - bounds[-1], 0) / period)) + 1)
    return np.concatenate([before, bounds, after]).astype(np.float64)


def _ends(once: Sequence[Stream]) -> Floats:
    """When what moves once in a step ended in each, ns: the last of the streams that come the usual number of times."""
    counts = [len(s.rows) for s in once]
    usual = max(set(counts), key=counts.count)
    ends: Floats = np.max([np.sort(s.end) for s in once if len(s.rows) == usual], axis=0)
    return ends


def _after(ends: Floats, quiet: NDArray[np.bool_], followed: Floats, period: float) -> Floats:
    """Bounds at the first rest after those ends, one more before the first and one after the last."""
    n = len(quiet)
    places = np.exp(2j * np.pi * np.interp(ends, followed, np.arange(len(followed))))
    ended = int(np.ceil(float(np.angle(places.mean()) / (2 * np.pi)) % 1 * n))
    rest = float(((np.flatnonzero(quiet) - ended) % n).min() + 0.5) / n * period
    bounds: Floats = ends + rest
    return np.concatenate([[bounds[0] - period], bounds, [bounds[-1] + period]])


def _followed(moved: Floats, at: int, n: int) -> list[int]:
    out: list[int] = []
    padded = np.pad(moved, n)
    while at < len(moved):
        out.append(at)
        begin = max(at - n // 2, 0)
        pattern, off = moved[begin : at + n // 2], at - begin
        window = np.arange(max(at + n - n // 4, 0), min(at + n + n // 4 + 1, len(moved)))
        window = window[window - off + n <= len(moved)]
        fits = [float(padded[k - off + n : k - off + n + len(pattern)] @ pattern) for k in window]
        if not fits:
            break
        at = int(window[int(np.argmax(fits))])
    return out


def _mean_step(times: Floats, shares: Floats, bounds: Floats, n: int) -> tuple[Floats, NDArray[np.bool_]]:
    """What moves in each of `n` parts of the mean step, and in which hardly anything does."""
    place = np.interp(times, bounds, np.arange(len(bounds))) % 1
    moved = np.bincount((place * n).astype(np.int64), shares, n).astype(np.float64)
    return moved, np.asarray(moved <= c.QUIET * moved.max())


def _rest(moved: Floats, quiet: NDArray[np.bool_]) -> float:
    """The middle of the longest rest in the mean step, as a share of the step."""
    n, run, best, end = len(moved), 0, 0, 0
    for i in range(2 * n):
        run = run + 1 if quiet[i % n] else 0
        if run > best:
            best, end = run, i
    return ((end - best / 2 + 0.5) / n) % 1 if 0 < best < 2 * n else float(np.argmin(moved)) / n
