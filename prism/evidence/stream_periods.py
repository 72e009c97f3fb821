"""Measure how often a stream moves in a step, and how widely it spreads over the step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.evidence import constants as c
from prism.evidence.step_period import Steps
from prism.evidence.streams import Stream


class Rhythm(NamedTuple):
    """Rhythm of one stream.

    `messages` per step; `sure`: 1 if most steps have that number; `runs` per step, separated by idle time; `spread`: share of
    the step in which it moves; `varies`: coefficient of variation of its octets from step to step; `early` and `late`: share of
    its octets in the first and in the last third of the step; `idle`: share of the step of its longest pause.
    """

    messages: float
    sure: float
    runs: float
    spread: float
    varies: float
    early: float
    late: float
    idle: float


Rhythms = Mapping[int, Rhythm]  # by identity of the stream


def rhythm_of(stream: Stream, steps: Steps) -> Rhythm:
    """Compute the rhythm of a stream whose steps are known."""
    place = steps.places(stream.start)
    number = np.floor(place).astype(np.int64)
    messages = np.bincount(number)
    messages = messages[messages > 0]
    usual = float(np.sort(messages)[(len(messages) - 1) // 2])
    sure = len(messages) >= c.LEAST_MESSAGES and float((messages == usual).mean()) >= c.HALF
    whole = len(place) / max(round(steps.count), 1)
    if not sure and abs(whole - round(whole)) * max(round(steps.count), 1) < c.HALF and whole >= 1:
        usual, sure = float(round(whole)), True
    ended = np.maximum.accumulate(stream.end)  # rows are in order of start
    runs = int((stream.start[1:] - ended[:-1] > c.NEW_RUN_GAP * steps.period).sum()) + 1
    moved = np.bincount((place % 1 * c.BINS_OF_SPREAD).astype(np.int64), stream.octets, c.BINS_OF_SPREAD)
    octets = np.bincount(number, stream.octets)
    octets = octets[octets > 0]
    spread = float((moved > c.BUSY * moved.max()).mean())
    third, whole_step = c.BINS_OF_SPREAD // 3, moved.sum()
    early, late = float(moved[:third].sum() / whole_step), float(moved[-third:].sum() / whole_step)
    varies = float(octets.std() / octets.mean())
    return Rhythm(usual, float(sure), runs / max(steps.count, 1), spread, varies, early, late, _longest_pause(moved > 0))


def _longest_pause(busy: NDArray[np.bool_]) -> float:
    """Longest run of bins that are not busy, across the end of the step; as a share of all bins."""
    places = np.flatnonzero(busy)
    return float(np.diff(places, append=places[0] + len(busy)).max() - 1) / len(busy)
