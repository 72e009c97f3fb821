"""Steps of models sharded over all ranks (FSDP, ZeRO-3): forward passes gather each layer once, backward passes move it twice.

Neither equal volumes nor wide gaps end such a step: the gap after it is the optimizer's, shorter than that of a layer. What
tells it is the pattern of gaps over the octets moved, the same in every step: a run of short gaps one layer apart while the
job goes forward, then a run of long gaps two layers apart while it goes backward. The step ends at the gap behind those.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism.kernels.intervals import Floats, Ints, weighted_median
from prism.kernels.rhythm import NONE, Rhythm, gaps, strides


def sharded(start: Ints, end: Ints, octets: Ints, *, shares: tuple[float, ...] = (0.1, 0.2)) -> Rhythm:
    """The rhythm of a sharded model's steps on one edge, whose records are in order of start; `NONE` where it shows none.

    Gaps that are at least one of `shares` of the usual are those of layers and of the optimizer: the first that does.
    """
    edge, gap = gaps(start, end, octets)
    for share in shares:
        wide = np.flatnonzero(gap >= max(share * weighted_median(gap, gap), 1.0))
        found = _step(edge[wide].astype(np.float64), gap[wide].astype(np.float64))
        if found is not None:
            ends = np.maximum.accumulate(end)[wide[found.ends]]
            return strides(start, end, octets, ends, round(found.lag), tolerance=found.slack / found.lag)
    return NONE


@dataclass(frozen=True, eq=False)
class _Step:
    """The octets of a step, `lag`, known within `slack`, and which gaps end one."""

    lag: float
    slack: float
    ends: NDArray[np.intp]


def _step(
    place: Floats,
    width: Floats,
    *,
    most: int = 4000,
    least: int = 4,
    alike: float = 0.7,
    near: float = 0.25,
    repeats: int = 12,
) -> _Step | None:
    """The step whose gaps, of some `width` behind so many octets, are the same every time.

    The first `most` gaps are looked at, and there are at least `least` steps. Two gaps are at the same place if they are
    within the share `near` of the octets between two gaps; patterns are `alike` if at least so much of their gaps is the same.
    What repeats up to `repeats` times within a lag is several steps.
    """
    place, width = place[:most], width[:most]
    if len(place) < 6 * least:
        return None
    width = np.minimum(width, 3 * np.median(width))
    slack = near * float(np.median(np.diff(place)))
    lags = _lags(place, slack, (place[-1] - place[0]) / least)
    likeness, lags = np.array([_likeness(place, width, lag, slack) for lag in lags]).reshape(-1, 2).T
    for lag in lags[likeness >= max(alike, 0.85 * float(likeness.max(initial=0.0)))]:
        one = _likeness(place, width, lag, slack)[0]
        if any(_likeness(place, width, lag / k, slack)[0] > 0.9 * one for k in range(2, repeats + 1) if lag / k > 2 * slack):
            continue  # several steps
        end = _turn(_pattern(place, width, lag, slack), lag)
        if end is not None:
            return _Step(lag, slack, np.flatnonzero(np.abs((place - place[0] - end + lag / 2) % lag - lag / 2) <= slack))
    return None


def _lags(place: Floats, slack: float, longest: float, *, anchors: int = 16) -> Floats:
    """Distances between gaps that recur, ascending: candidates for the octets of a step."""
    begun = place[np.linspace(0, len(place) - 1, anchors).astype(np.intp)]
    apart = np.sort((place[None, :] - begun[:, None]).ravel())
    apart = apart[(apart > 4 * slack) & (apart <= longest)]
    if not len(apart):
        return apart
    parts = np.split(apart, np.flatnonzero(np.diff(apart) > slack) + 1)
    return np.array([np.median(part) for part in parts if len(part) >= 3])


def _likeness(place: Floats, width: Floats, lag: float, slack: float) -> tuple[float, float]:
    """How much of the gaps is the same `lag` octets later, 0 … 1; and that lag as the gaps that are the same have it."""
    fit = place + lag <= place[-1] + slack
    goal = place[fit] + lag
    at = np.clip(np.searchsorted(place, goal), 1, len(place) - 1)
    at = np.where(np.abs(place[at] - goal) < np.abs(place[at - 1] - goal), at, at - 1)
    other = np.where(np.abs(place[at] - goal) <= slack, width[at], 0.0)
    same, both = np.minimum(width[fit], other), np.maximum(width[fit], other).sum()
    return float(same.sum() / both) if both > 0 else 0.0, weighted_median(place[at] - place[fit], same)


@dataclass(frozen=True, eq=False)
class _Pattern:
    """The gaps of a step, in order: octets before each since the first gap seen, and the log of its width."""

    place: Floats
    width: Floats


def _pattern(place: Floats, width: Floats, lag: float, slack: float) -> _Pattern:
    """What most steps of `lag` octets show."""
    offset = (place - place[0] + slack) % lag - slack
    order = np.argsort(offset, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(offset[order]) > slack / 2) + 1)
    parts = [part for part in parts if len(part) >= 0.5 * (place[-1] - place[0]) / lag]
    at = np.array([np.median(offset[part]) for part in parts])
    wide = np.array([np.log(max(float(np.median(width[part])), 1.0)) for part in parts])
    return _Pattern(at, wide)


def _turn(pattern: _Pattern, lag: float) -> float | None:
    """Where in a pattern the step ends, octets; None where it does not go forward and backward.

    Each run is as even as can be, or every second gap of it is: what is fetched ahead parts the gap of a layer in two.
    """
    for parts in (1, 2) if len(pattern.width) >= 14 else (1,):  # a run of few gaps says little of every second one
        end = _split(pattern, lag, parts)
        if end is not None:
            return float(pattern.place[end])
    return None


def _split(
    pattern: _Pattern,
    lag: float,
    parts: int,
    *,
    least: int = 2,
    apart: float = 1.25,
    even: float = 0.1,
    forward: tuple[float, float] = (0.25, 0.55),
) -> int | None:
    """The first of the two gaps of the best split: it leaves runs whose gaps are `even`, the backward ones longer.

    That is, of the squared distance of all gaps but the two from their mean no more than so much is left around the means of
    the runs, those of each of `parts` in turn. Of splits that are nearly as good the earliest gap is taken: a step's last gap
    may be as long as one of a layer; but parts in turn tell no such splits apart. A third of the octets move `forward` if
    layers are gathered again for the backward pass, half of them if not.
    """
    n = len(pattern.width)
    place, width = np.concatenate([pattern.place, pattern.place + lag]), np.concatenate([pattern.width, pattern.width])
    whole = _Sums(np.ones(2 * n), width)
    sums = [_Sums((np.arange(2 * n) % parts == part).astype(np.float64), width) for part in range(parts)]
    rest = np.full(n, np.inf)
    for first in range(n if n >= 2 * least + 2 else 0):  # the step's end; the forward run follows it
        turn = np.arange(first + 1 + least, first + n - least)
        share = (place[turn] - place[first]) / lag
        turn = turn[(share >= forward[0]) & (share <= forward[1])]
        if not len(turn):
            continue
        runs = ((np.full(len(turn), first + 1), turn), (turn + 1, np.full(len(turn), first + n)))
        around = sum(s.rest(a, b) for s in sums for a, b in runs)
        count, total, square = (sum(whole.total(a, b, power) for a, b in runs) for power in (0, 1, 2))
        mean = [whole.total(a, b) / (b - a) for a, b in runs]
        fits = (mean[1] - mean[0] >= np.log(apart)) & (around <= even * (square - total**2 / count))
        rest[first] = np.where(fits, around, np.inf).min()
    if not np.isfinite(rest).any():
        return None
    good = rest <= rest.min() * (1 + (4 / (n - 4) if parts == 1 else 0))  # by four times what is usual for one gap
    return int(np.argmax(good & ~np.roll(good, 1)))


class _Sums:
    """Sums over ranges of some numbers, those of weight 1, and of their squared distance from their mean."""

    def __init__(self, weight: Floats, value: Floats) -> None:
        self.sums = [np.concatenate([[0.0], np.cumsum(weight * value**power)]) for power in (0, 1, 2)]

    def total(self, begin: NDArray[np.intp], end: NDArray[np.intp], power: int = 1) -> Floats:
        return np.asarray(self.sums[power][end] - self.sums[power][begin])

    def rest(self, begin: NDArray[np.intp], end: NDArray[np.intp]) -> Floats:
        count, total, square = (self.total(begin, end, power) for power in (0, 1, 2))
        return np.asarray(square - total**2 / np.maximum(count, 1))
