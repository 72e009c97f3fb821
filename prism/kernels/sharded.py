"""Steps of models sharded over all ranks (FSDP, ZeRO-3): forward passes gather each layer once, backward passes move it twice.

Neither equal volumes nor wide gaps end such a step: the gap after it is the optimizer's, shorter than that of a layer. What
tells it is the pattern of gaps over the octets moved, the same in every step: a run of short gaps one layer apart while the
job goes forward, then a run of long gaps two layers apart while it goes backward. The step ends at the gap behind those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from collectors.compilation.compiled import compiled
from prism.kernels.intervals import Floats, Ints, at_half
from prism.kernels.lags import exact, likenesses, medians, recurring_lags, turns
from prism.kernels.ordered import median
from prism.kernels.rhythm import NONE, Rhythm, strides
from prism.kernels.volumes import gaps

Places = NDArray[np.intp]
Step = tuple[bool, float, float, float, Places]
MOST, LEAST = 4000, 4  # gaps that are looked at; steps that there are at least
FEW = 6 * LEAST  # fewer gaps show no steps
ALIKE, NEARLY = 0.7, 0.85  # patterns are alike if so much of their gaps is the same; or nearly as much as of the best
NEAR = 0.25  # of the octets between two gaps
FEWEST, APART, EVEN = 2, 1.25, 0.1  # gaps of a run; how much longer the backward ones are; what is left around their means
FORWARD = (0.25, 0.55)  # the share of the octets that moves forward


@dataclass(frozen=True, eq=False)
class Sharded:
    """How uneven the gaps of the two runs of a sharded model's steps are: 0 if all of each are equal."""

    uneven: float = np.inf
    tell: Callable[[], Rhythm] = lambda: NONE

    @cached_property
    def rhythm(self) -> Rhythm:
        """The rhythm of the steps; of many edges that show some, few are asked."""
        return self.tell()


def sharded(start: Ints, end: Ints, octets: Ints, *, shares: tuple[float, float] = (0.1, 0.2)) -> Sharded:
    """The steps of a sharded model on one edge, whose records are in order of start; `NONE` where it shows none.

    Gaps that are at least one of `shares` of the usual are those of layers and of the optimizer: the first that does.
    """
    edge, gap = gaps(start, end, octets)
    found, lag, slack, uneven, places = _first(edge, gap, shares)
    if not found:
        return Sharded()

    def tell() -> Rhythm:
        ends = np.maximum.accumulate(end)[places]
        return strides(start, end, octets, ends, round(lag), tolerance=slack / lag)

    return Sharded(uneven, tell)


@compiled
def _first(edge: Ints, gap: Ints, shares: tuple[float, float]) -> Step:
    """The step (`_step`) whose gaps are at least the first of some `shares` of the usual for which there is one."""
    usual = _usual(gap, shares[0])
    known = 0
    for share in shares:
        wide = np.flatnonzero(gap >= max(share * usual, 1.0))
        if len(wide) == known:
            continue  # the same gaps
        known = len(wide)
        found, lag, slack, uneven, places = _step(edge[wide].astype(np.float64), gap[wide].astype(np.float64))
        if found:
            return True, lag, slack, uneven, wide[places]
    return False, 0.0, 0.0, 0.0, np.zeros(0, np.intp)


@compiled
def _usual(gap: Ints, share: float, least: float = 0.05) -> float:
    """The gap that half of the time without traffic lies in gaps longer than.

    Where gaps of at least that `share` of it are too `FEW` for those of layers they are pauses, and the others tell: a job may
    pause for longer than it works. What is left must be `least` of the time, or it is what parts messages.
    """
    left, usual = gap, at_half(gap, gap) if len(gap) else 0.0
    while np.count_nonzero(gap >= share * usual) < FEW:
        left = left[left < share * usual]
        if left.sum() <= least * gap.sum():
            break
        usual = at_half(left, left)
    return usual


@compiled
def _step(place: Floats, width: Floats) -> Step:
    """The step whose gaps, of some `width` behind so many octets, are the same every time; if there is one, its octets, within
    which slack they are known, how uneven its runs are, and which gaps end one.

    The first `MOST` gaps are looked at. Two at the same place are no further apart than `NEAR` of the octets between two. What
    repeats within a lag is asked last: where other load makes layers long at random, several steps are more alike than one.
    """
    place, width = place[:MOST], width[:MOST]
    none = np.zeros(0, np.intp)
    if len(place) < FEW:
        return False, 0.0, 0.0, 0.0, none
    limit = 3 * median(width)
    width = np.minimum(width, limit)
    slack = NEAR * median(np.diff(place))
    lags = recurring_lags(place, _spaced(len(place)), slack, (place[-1] - place[0]) / LEAST)
    likeness = likenesses(place, width, lags, slack, ALIKE, NEARLY)
    least = max(ALIKE, NEARLY * likeness.max()) if len(lags) else 0.0
    several = [none[:0].astype(np.float64)]
    for i in range(len(lags)):
        if likeness[i] < least:
            continue
        lag = exact(place, width, lags[i], slack)
        parts = _repeats(place, width, lag, slack)
        several.append(parts)
        if len(parts):
            continue
        found, uneven, ends = _ended(place, width, lag, slack, limit)
        if found:
            return True, lag, slack, uneven, ends
    for parts in several:
        for own in parts:
            if _halves_alike(place, width, own, slack):
                continue
            found, uneven, ends = _ended(place, width, own, slack, limit)
            if found:
                return True, own, slack, uneven, ends
    return False, 0.0, 0.0, 0.0, none


@compiled
def _ended(place: Floats, width: Floats, lag: float, slack: float, limit: float) -> tuple[bool, float, Places]:
    """Whether a step moves `lag` octets, how uneven its runs are then, and the gaps that end one. Gaps are cut at a `limit`."""
    at, wide = _pattern(place, width, lag, slack)
    if np.count_nonzero(np.exp(wide) > 0.999 * limit) > 1:
        return False, np.inf, np.zeros(0, np.intp)  # gaps that were cut are all alike
    end, uneven = _turn(at, wide, lag)
    off = np.abs((place - place[0] - end + lag / 2) % lag - lag / 2)
    return uneven < np.inf, uneven, np.flatnonzero(off <= slack)


@compiled
def _spaced(n: int, many: int = 16) -> Ints:
    """About so `many` of n places, evenly spaced, the first and the last among them."""
    out, apart = np.empty(many, np.int64), (n - 1) / (many - 1)
    for i in range(many):
        out[i] = int(i * apart)
    out[-1] = n - 1
    return out


@compiled
def _repeats(place: Floats, width: Floats, lag: float, slack: float, most: int = 12) -> Floats:
    """What repeats within a lag, up to so many times, the longest first: a lag may be several steps."""
    parts = lag / np.arange(1, most + 1)
    parts = parts[(parts > 2 * slack) | (parts == lag)]
    whole = likenesses(place, width, parts[:1], slack, 0.0, 0.0)[0]
    repeats: Floats = parts[1:][likenesses(place, width, parts[1:], slack, 0.9 * whole, 0.0) > 0.9 * whole]
    return repeats


@compiled
def _halves_alike(place: Floats, width: Floats, lag: float, slack: float) -> bool:
    """Whether the halves or thirds of a lag are as alike, or `NEARLY`: those of a step go forward or backward."""
    parts = lag / np.arange(1, 4)
    least = NEARLY * likenesses(place, width, parts[:1], slack, 0.0, 0.0)[0]
    return bool((likenesses(place, width, parts[1:], slack, least, 0.0) > least).any())


@compiled
def _pattern(place: Floats, width: Floats, lag: float, slack: float) -> tuple[Floats, Floats]:
    """What most steps of `lag` octets show of each gap: the octets before it since the first, and the log of its width."""
    offset = (place - place[0] + slack) % lag - slack
    order = np.argsort(offset, kind="mergesort")
    at, wide = medians(offset[order], width[order], slack / 2, 0.5 * (place[-1] - place[0]) / lag)
    return at, np.log(np.maximum(wide, 1.0))


@compiled
def _turn(place: Floats, width: Floats, lag: float) -> tuple[float, float]:
    """Where in a pattern the step ends, octets, and how uneven its runs are: infinite where none goes forward, then backward.

    Each run is as even as can be, or every second gap of it is: what is fetched ahead parts the gap of a layer in two.
    """
    for parts in range(1, 3 if len(width) >= 14 else 2):  # a run of few gaps says little of every second one
        chosen, uneven = _split(place, width, lag, parts)
        if uneven < np.inf:
            return place[chosen], uneven
    return 0.0, np.inf


@compiled
def _split(place: Floats, width: Floats, lag: float, parts: int) -> tuple[int, float]:
    """The first of the two gaps of the best split, and how uneven its runs are: of gaps `EVEN`, the backward ones longer.

    That is, of the squared distance of all gaps but the two from their mean no more than so much is left around the means of
    the runs, those of each of `parts` in turn. A third of the octets move `FORWARD` if layers are gathered again for the
    backward pass, half of them if not: within half a gap's octets, which is asked first, of splits up to twice as bad. Of
    splits that are nearly as good the earliest gap is taken: a step's last gap may be as long as one of a layer; but parts in
    turn tell no such splits apart.
    """
    n = len(width)
    twice = np.concatenate((place, place + lag)), np.concatenate((width, width))
    rest, uneven, moved = turns(twice[0], twice[1], lag, parts, FEWEST, np.log(APART), EVEN, FORWARD[0], FORWARD[1])
    if not np.isfinite(rest).any():
        return 0, np.inf
    best = rest.min()
    good = rest <= best * (1 + (4 / (n - 4) if parts == 1 else 0))  # by four times what is usual for one gap
    half = median(np.diff(place)) / lag / 2
    exactly = ((np.abs(moved - 1 / 3) < half) | (np.abs(moved - 1 / 2) < half)) & (rest <= 2 * best)
    if exactly.any():
        good = exactly
    chosen = 0
    for i in range(n - 1, -1, -1):
        if good[i] and not good[i - 1]:
            chosen = i
    return chosen, uneven[chosen]
