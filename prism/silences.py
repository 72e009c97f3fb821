"""Silences of ranks and the talk around them: what the labels of phases are told from.

Places are on the line of kernels.paint, where every rank has a stretch of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from prism.kernels.intervals import Ints
from prism.kernels.ordered import in_order
from prism.kernels.paint import NOTHING, Line
from prism.kernels.sums import counted
from prism.model import PHASES

PP, DP, COMPUTE, IDLE, FORWARD, BACKWARD, OPTIMIZER = (
    PHASES.index(name) for name in ("pp", "dp", "compute", "idle", "forward", "backward", "optimizer")
)
Mask = NDArray[np.bool_]


class Talk(NamedTuple):
    """Both ends of every record on the line, in order of start. `way` is +1 down a pipeline, −1 up, else 0.

    `ready` is when the sender was, `called` when the receiver said that it was if the record waited for that, else `NOTHING`.
    """

    start: Ints
    end: Ints
    slot: Ints
    kind: Ints | NDArray[np.int8]
    way: Ints | NDArray[np.int8]
    octets: Ints
    sends: Mask
    ready: Ints
    called: Ints

    def only(self, rows: Mask | NDArray[np.intp]) -> Self:
        """The given ends alone."""
        if rows.dtype == np.bool_:
            if rows.all():
                return self
            rows = np.flatnonzero(rows)
        columns: Any = (column.take(rows) for column in self)  # sooner done than column[rows]
        return type(self)(*columns)


class Gaps(NamedTuple):
    """Silences of ranks inside steps, cut where ranks were ready to speak; in order: places on the line, slots.

    `speaks` says that the rank itself was ready or spoke at the end of one, `called` that it spoke when its peer had, so
    that it may have waited, `tail` that a step ends with it.
    """

    begin: Ints
    end: Ints
    slot: Ints
    speaks: Mask
    called: Mask
    tail: Mask


class Said(NamedTuple):
    """What went on in each silence: `before` up to a `cut`, then `label`."""

    cut: Ints
    before: Ints
    label: Ints

    def put(self, rows: Mask, label: int) -> None:
        """One label for whole silences."""
        self.label[rows], self.before[rows] = label, label

    def split(self, rows: Mask, cut: Ints, before: int, label: int) -> None:
        """Two labels for silences."""
        self.cut[rows], self.before[rows], self.label[rows] = cut[rows], before, label


def silences(begin: Ints, end: Ints, slot: Ints, talk: Talk, on: Line) -> Gaps:
    """The silences of the steps, cut where ranks were ready."""
    tail = end == on.end[slot]
    early = np.unique(talk.ready[talk.sends & (talk.ready < talk.start)])
    at = np.searchsorted(begin, early, "left") - 1
    inside = (at >= 0) & (early < end[at])
    of, cuts = at[inside], early[inside]
    order = in_order(np.concatenate([begin, cuts]))
    begin, slot = (np.concatenate(pair)[order] for pair in ((begin, cuts), (slot, slot[of])))
    end = np.sort(np.concatenate([end, cuts]))
    none = np.zeros(len(begin), np.bool_)
    gaps = Gaps(begin, end, slot, none, none, np.concatenate([tail, tail[of]])[order])
    rows = by_ready(talk)
    own = talk.ready[rows]
    at, known = following(own, gaps, on)
    if not known.any():
        return gaps
    ready, at = own[at], rows[at]
    start, word = talk.start[at], talk.called[at]
    speaks = known & (ready <= end)
    near = begin + (end - begin) * 11 // 10
    called = speaks & (start == end) & (word > begin) & (end - word < (end - begin) / 10)
    called |= known & ~speaks & (ready <= near)
    return gaps._replace(speaks=speaks, called=called)


def by_ready(own: Talk) -> NDArray[np.intp]:
    """The places of senders' ends among some, in the order in which they were ready."""
    rows = np.flatnonzero(own.sends)
    return rows[in_order(own.ready[rows])]


def following(ready: Ints, gaps: Gaps, on: Line) -> tuple[Ints, Mask]:
    """For each silence which of those who were ready, in order, was so first after it began, and whether in the same step."""
    at = np.searchsorted(ready, gaps.begin, "right")
    if not len(ready):
        return at, np.zeros(len(at), np.bool_)
    known = at < len(ready)
    at = np.minimum(at, len(ready) - 1)
    return at, known & (ready[at] <= on.end[gaps.slot])


def medians(group: Ints, values: Ints, n: int) -> Ints:
    """The lower median of the values of each of `n` groups; `NOTHING` where there is none."""
    order, begins = counted(group, n, in_order(values))
    count = np.diff(begins)
    at = begins[:-1] + np.maximum(count - 1, 0) // 2
    return np.where(count > 0, np.append(values[order], NOTHING)[np.minimum(at, len(values))], NOTHING)
