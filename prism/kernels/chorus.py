"""Steps told by small messages that all say together, once a step: that gradients are finite, how large they are, the loss.

What moves between two of them is the same every time, however many pauses it has.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows
from prism.kernels.intervals import Ints
from prism.kernels.rhythm import FOREVER, NONE, Rhythm
from prism.kernels.signals import lines_of_small, unserving


class Chorus(NamedTuple):
    """The rhythm of what moves between two choruses, and when each chorus ended, ns."""

    rhythm: Rhythm = NONE
    times: Ints = np.zeros(0, np.int64)


def chorus(flows: Flows, start: Ints, end: Ints, octets: Ints) -> Chorus:
    """What all endpoints of a job's `flows` say together, by a stream's records in order of start; of rhythm `NONE` if nothing.

    All small messages are asked first, then those that serve no payload.
    """
    lines = lines_of_small(flows)
    every = [np.concatenate([np.zeros(0, np.int64), *(line.small for line in own)]) for own in lines]
    alone = [np.concatenate([np.zeros(0, np.int64), *(line.small for line in unserving(own))]) for own in lines]
    for rows in (every, alone):
        found = _chorus(flows, np.concatenate([np.zeros(0, np.int64), *rows]), start, end, octets)
        if found.rhythm is not NONE:
            return found
    return Chorus()


def _chorus(
    flows: Flows, small: Ints, start: Ints, end: Ints, octets: Ints, *, least: int = 4, equal: float = 0.05, most: float = 0.9
) -> Chorus:
    """`chorus` of some small messages: at least `least` times, `most` of them `equal` volumes apart and said by so many."""
    if len(small) < least or len(start) < least:
        return Chorus()
    small = small[np.argsort(flows.end_ns[small], kind="stable")]
    at, reach = flows.end_ns[small], np.maximum.accumulate(end)
    so_far = np.concatenate([[0], np.cumsum(octets)])[np.searchsorted(reach, at, "right")]
    moved = np.diff(np.concatenate([[0], so_far]))
    if not moved.any():
        return Chorus()
    first = np.flatnonzero(moved >= np.quantile(moved[moved > 0], 0.9) / 2)
    volume = float(np.median(moved[first]))
    fits = np.abs(moved[first] - volume) <= equal * volume
    if len(first) < least or fits.mean() < most or moved[first].sum() < most * octets.sum() or not _by_all(flows, small, first):
        return Chorus()
    last = np.searchsorted(reach, at[first], "right") - 1
    quiet = np.stack([reach[last], np.append(start, FOREVER)[last + 1]], axis=1)[fits]
    times = at[np.append(first[1:], len(at)) - 1]
    return Chorus(Rhythm(quiet, round(volume), float(len(quiet) * volume / octets.sum())), times[fits])


def _by_all(flows: Flows, small: Ints, first: NDArray[np.intp], *, share: float = 0.9) -> bool:
    """Whether in most choruses, of which each has a `first` message, nearly all say or hear one who ever do."""
    turn = np.searchsorted(first, np.arange(len(small)), "right")
    ends = np.concatenate([flows.src[small], flows.dst[small]]).astype(np.int64)
    said = np.unique(np.tile(turn, 2) * len(flows.endpoints) + ends) // len(flows.endpoints)
    many = np.bincount(said, minlength=len(first) + 1)[1:]
    return bool(np.mean(many >= share * len(np.unique(ends))) >= share)


def told_by(found: Chorus, clock: Rhythm, *, like: float = 1.25, most: float = 0.8) -> bool:
    """Whether a chorus tells steps where a clock does not: it has more, or others, or the clock's are parts of its steps.

    More or others only if it comes soon after what was before, for words of readiness come before what they ask for; or others
    in rests `like` times as long as the clock's, or that leave no parts of steps at the begin and end, as cuts in the middle of
    steps do. They are parts if the gaps in which the chorus comes are not `like` the
    others, or those are not like one another. But a job may also speak together every so many steps, when it has evaluated.
    """
    own, n = len(found.rhythm.quiet), len(clock.quiet)
    soon = own > 0 and _soon(found.times, *found.rhythm.quiet.T)
    if own == 0 or own > like * n:
        return soon
    place = np.maximum(np.searchsorted(clock.quiet[:, 0], found.times) - 1, 0)
    late = found.times - clock.quiet[place, 0]
    gap = clock.quiet[:, 1] - clock.quiet[:, 0]
    wide = np.median(found.rhythm.quiet[:-1, 1] - found.rhythm.quiet[:-1, 0]) >= like * np.median(gap[:-1])
    fuller = found.rhythm.explained - clock.explained > 0.5 / own
    inside = (late > 0) & (late <= gap[place])
    if n <= like * own or inside.mean() < most:
        return bool((soon or wide or fuller) and inside.mean() < most)
    others = np.delete(gap[:-1], place[inside & (place < n - 1)])
    longer = float(np.median(gap[place[inside]]) / max(np.median(others), 1.0))
    if longer > like:
        return _soon(found.times[inside], *clock.quiet[place[inside]].T)
    return longer < 1 / like or bool(np.quantile(others, 0.9) > like**2 * np.quantile(others, 0.1))


def _soon(times: Ints, ends: Ints, begins: Ints) -> bool:
    """Whether most of some times are nearer to the ends of what was before than to the begins of what comes after."""
    return bool(np.median((times - ends) / np.maximum(begins - ends, 1)) <= 0.5)
