"""Measure how often a stream moves in a step, and how widely it spreads over the step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.evidence import constants as c
from prism.evidence.step_period import Steps
from prism.evidence.streams import Streams

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Rhythm(NamedTuple):
    """Rhythm of one stream.

    `messages` per step; `sure`: 1 if most steps have that number; `runs` per step, separated by idle time; `spread`: share of
    the step in which it moves; `varies`: coefficient of variation of its octets from step to step; `octets`: those of a usual
    step in which it moves.
    """

    messages: float
    sure: float
    runs: float
    spread: float
    varies: float
    octets: float


def resolved_spread(rhythm: Rhythm) -> float:
    """Spread over the step, plus one bin: brief bursts differ by a bin."""
    return rhythm.spread + 1 / c.BINS_OF_SPREAD


Rhythms = Mapping[int, Rhythm]  # by identity of the stream


def rhythms_of(streams: Streams, steps: Steps) -> Rhythms:
    """Compute the rhythm of each stream of a job whose steps are known; all at once, in parts that fit into memory."""
    out: dict[int, Rhythm] = {}
    for i in range(0, len(streams), c.STREAMS_AT_ONCE):
        begins = streams.begins[i : i + c.STREAMS_AT_ONCE + 1]
        start, end, octets = (column[begins[0] : begins[-1]] for column in streams.records[1:])
        found = _rhythms(np.diff(begins), start, end, octets, steps)
        out |= {id(s): own for s, own in zip(streams[i : i + len(found)], found, strict=True)}
    return out


def _rhythms(size: Ints, start: Floats, end: Floats, octets: Floats, steps: Steps) -> list[Rhythm]:
    """Rhythms of streams of so many records, which are on end in the columns."""
    n, of = len(size), np.repeat(np.arange(len(size)), size)
    place = steps.places(start)
    step = np.floor(place).astype(np.int64)
    messages, sure = _messages(_table(of, step, n, len(steps.bounds)))
    octets_of_steps = _table(of, step, n, len(steps.bounds), octets)
    moved = octets_of_steps > 0
    mean = octets_of_steps.sum(1) / moved.sum(1)
    varies = np.sqrt((np.where(moved, octets_of_steps - mean[:, None], 0.0) ** 2).sum(1) / moved.sum(1)) / mean
    in_bin = _table(of, (place % 1 * c.BINS_OF_SPREAD).astype(np.int64), n, c.BINS_OF_SPREAD, octets)
    spread = (in_bin > c.BUSY * in_bin.max(1, keepdims=True)).mean(1)
    runs = _runs(of, start, end, c.NEW_RUN_GAP * steps.period) / max(steps.count, 1)
    columns = (messages, sure, runs, spread, varies, _usual(octets_of_steps))
    return [Rhythm(*own) for own in zip(*(column.tolist() for column in columns), strict=True)]


def _table(of: Ints, column: Ints, rows: int, columns: int, weights: Floats | None = None) -> NDArray[Any]:
    """Sum weights, or count, by row and column; [rows, columns]."""
    return np.bincount(of * columns + column, weights, rows * columns).reshape(rows, columns)


def _messages(counts: Ints) -> tuple[Floats, Floats]:
    """Usual number of messages per step of each stream (its lower median over steps with messages), and if that is sure."""
    active, usual = np.count_nonzero(counts, axis=1), _usual(counts)
    sure = (active >= c.LEAST_MESSAGES) & (2 * (counts == usual[:, None]).sum(1) >= active)
    return usual, sure.astype(np.float64)


def _usual(values: NDArray[Any]) -> Floats:
    """Lower median of each row's values above 0."""
    active, ordered = np.count_nonzero(values, axis=1), np.sort(values, axis=1)
    return np.asarray(ordered[np.arange(len(values)), values.shape[1] - active + (active - 1) // 2], np.float64)


def _runs(of: Ints, start: Floats, end: Floats, gap: float) -> Ints:
    """Count the runs of messages of each stream, separated by gaps; messages of a stream are in order of start."""
    offset = of * (int(end.max()) - min(int(start.min()), 0) + 1)
    ended = np.maximum.accumulate(end.astype(np.int64) + offset) - offset  # a later stream's offset exceeds all ends before
    begins = (start[1:] - ended[:-1] > gap) & (of[1:] == of[:-1])
    return np.bincount(of[1:], begins, int(of[-1]) + 1).astype(np.int64) + 1
