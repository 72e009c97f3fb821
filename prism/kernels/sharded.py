"""Steps of models sharded over all ranks (FSDP, ZeRO-3): forward passes gather each layer once, backward passes move it twice.

Neither equal volumes nor wide gaps end such a step: the gap after it is the optimizer's, shorter than that of a layer. What
tells it is the pattern of gaps over the octets moved, the same in every step: a run of short gaps one layer apart while the
job goes forward, then a run of long gaps two layers apart while it goes backward. The step ends at the gap behind those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.kernels.intervals import Floats, Ints, weighted_median
from prism.kernels.lags import exact, likenesses, medians, recurring_lags, turns
from prism.kernels.rhythm import NONE, Rhythm, strides
from prism.kernels.volumes import gaps


class Sharded(NamedTuple):
    """The rhythm of a sharded model's steps, and how uneven the gaps of its two runs are: 0 if all of each are equal."""

    rhythm: Rhythm = NONE
    uneven: float = np.inf


def sharded(start: Ints, end: Ints, octets: Ints, *, shares: tuple[float, ...] = (0.1, 0.2)) -> Sharded:
    """The steps of a sharded model on one edge, whose records are in order of start; `NONE` where it shows none.

    Gaps that are at least one of `shares` of the usual are those of layers and of the optimizer: the first that does.
    """
    edge, gap = gaps(start, end, octets)
    usual = weighted_median(gap, gap)
    known = 0
    for share in shares:
        wide = np.flatnonzero(gap >= max(share * usual, 1.0))
        if len(wide) == known:
            continue  # the same gaps
        known = len(wide)
        found = _step(edge[wide].astype(np.float64), gap[wide].astype(np.float64))
        if found is not None:
            ends = np.maximum.accumulate(end)[wide[found.ends]]
            steps = strides(start, end, octets, ends, round(found.lag), tolerance=found.slack / found.lag)
            return Sharded(steps, found.uneven)
    return Sharded()


@dataclass(frozen=True, eq=False)
class _Step:
    """The octets of a step, `lag`, known within `slack`, which gaps end one, and how `uneven` its runs are."""

    lag: float
    slack: float
    uneven: float
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
    limit = 3 * float(np.median(width))
    width = np.minimum(width, limit)
    slack = near * float(np.median(np.diff(place)))
    lags = _lags(place, slack, (place[-1] - place[0]) / least)
    likeness = likenesses(place, width, lags, slack, alike)
    for about in lags[likeness >= max(alike, 0.85 * float(likeness.max(initial=0.0)))]:
        lag = exact(place, width, about, slack)
        parts = lag / np.arange(1, repeats + 1)
        one, *others = likenesses(place, width, parts[(parts > 2 * slack) | (parts == lag)], slack, 0.0)
        if any(other > 0.9 * one for other in others):
            continue  # several steps
        pattern = _pattern(place, width, lag, slack)
        whole = np.count_nonzero(np.exp(pattern.width) > 0.999 * limit) <= 1  # gaps that were cut are all alike
        turn = _turn(pattern, lag) if whole else None
        if turn is not None:
            end, uneven = turn
            return _Step(
                lag, slack, uneven, np.flatnonzero(np.abs((place - place[0] - end + lag / 2) % lag - lag / 2) <= slack)
            )
    return None


def _lags(place: Floats, slack: float, longest: float, *, anchors: int = 16) -> Floats:
    """Distances between gaps that recur, ascending: candidates for the octets of a step."""
    return recurring_lags(place, np.linspace(0, len(place) - 1, anchors).astype(np.int64), slack, longest)


@dataclass(frozen=True, eq=False)
class _Pattern:
    """The gaps of a step, in order: octets before each since the first gap seen, and the log of its width."""

    place: Floats
    width: Floats


def _pattern(place: Floats, width: Floats, lag: float, slack: float) -> _Pattern:
    """What most steps of `lag` octets show."""
    offset = (place - place[0] + slack) % lag - slack
    order = np.argsort(offset, kind="stable")
    at, wide = medians(offset[order], width[order], slack / 2, 0.5 * (place[-1] - place[0]) / lag)
    return _Pattern(at, np.log(np.maximum(wide, 1.0)))


def _turn(pattern: _Pattern, lag: float) -> tuple[float, float] | None:
    """Where in a pattern the step ends, octets, and how uneven its runs are; None where it does not go forward and backward.

    Each run is as even as can be, or every second gap of it is: what is fetched ahead parts the gap of a layer in two.
    """
    for parts in (1, 2) if len(pattern.width) >= 14 else (1,):  # a run of few gaps says little of every second one
        split = _split(pattern, lag, parts)
        if split is not None:
            return float(pattern.place[split[0]]), split[1]
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
) -> tuple[int, float] | None:
    """The first of the two gaps of the best split, and how uneven its runs are: of gaps `even`, the backward ones longer.

    That is, of the squared distance of all gaps but the two from their mean no more than so much is left around the means of
    the runs, those of each of `parts` in turn. A third of the octets move `forward` if layers are gathered again for the
    backward pass, half of them if not: within half a gap's octets, which is asked first, of splits up to twice as bad. Of
    splits that are nearly as good the earliest gap is taken: a step's last gap may be as long as one of a layer; but parts in
    turn tell no such splits apart.
    """
    n = len(pattern.width)
    place, width = np.concatenate([pattern.place, pattern.place + lag]), np.concatenate([pattern.width, pattern.width])
    rest, uneven, moved = turns(place, width, lag, parts, least, float(np.log(apart)), even, *forward)
    if not np.isfinite(rest).any():
        return None
    good = rest <= rest.min() * (1 + (4 / (n - 4) if parts == 1 else 0))  # by four times what is usual for one gap
    part = float(np.median(np.diff(pattern.place))) / lag
    exact = (np.abs(moved[:, None] - np.array([1 / 3, 1 / 2])) < part / 2).any(axis=1) & (rest <= 2 * rest.min())
    good = exact if exact.any() else good
    chosen = int(np.argmax(good & ~np.roll(good, 1)))
    return chosen, float(uneven[chosen])
