"""Silences of ranks and the talk around them: what the labels of phases are told from.

Places are on the line of `interval_lines`, where every rank has a stretch of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from collectors.columns.record import Mask
from prism.loops.arrays.group_sums import Places, distinct, preceding
from prism.loops.arrays.interval_lines import Bytes, Line
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.medians import in_order
from prism.loops.phases.silence_gaps import ended
from prism.model import PHASES

PP, DP, COMPUTE, IDLE, FORWARD, BACKWARD, OPTIMIZER = (
    PHASES.index(name) for name in ("pp", "dp", "compute", "idle", "forward", "backward", "optimizer")
)
Rows = Mask | Places


class Talk(NamedTuple):
    """Both ends of every record on the line, in order of start. `way` is +1 down a pipeline, −1 up, else 0.

    `ready` is when the sender was, `called` when the receiver said that it was if the record waited for that, else `NOTHING`:
    `start` itself and empty where nobody ever said anything.
    """

    start: Ints
    end: Ints
    slot: Ints
    kind: Bytes
    way: Bytes
    octets: Ints
    sends: Mask
    ready: Ints
    called: Ints

    @property
    def worded(self) -> bool:
        """Whether anybody said when it was ready."""
        return len(self.called) > 0


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
    before: Bytes
    label: Bytes

    def put(self, rows: Rows, label: int) -> None:
        """One label for whole silences."""
        self.label[rows], self.before[rows] = label, label

    def split(self, rows: Rows, cut: Ints, before: int | Bytes, label: int) -> None:
        """Two labels for silences, each with its cut."""
        self.cut[rows], self.before[rows], self.label[rows] = cut, before, label


def silences(begin: Ints, end: Ints, slot: Ints, talk: Talk, on: Line) -> Gaps:
    """The silences of the steps, cut where ranks were ready."""
    none = np.zeros(len(begin), np.bool_)
    gaps = Gaps(begin, end, slot, none, none, end == on.end[slot])
    gaps = _cut(gaps, talk) if talk.worded else gaps
    rows = by_ready(talk, talk.sends)
    speaks, called = ended(gaps.begin, gaps.end, gaps.slot, rows, talk.start, talk.ready, talk.called, on.end)
    return gaps._replace(speaks=speaks, called=called)


def _cut(gaps: Gaps, talk: Talk) -> Gaps:
    """Silences of which nobody knows who ends them, cut where ranks were ready."""
    if not len(gaps.begin):
        return gaps
    early = distinct(talk.ready[talk.sends & (talk.ready < talk.start)])
    at = preceding(gaps.begin, early, False) - 1
    inside = (at >= 0) & (early < gaps.end[at])
    if not inside.any():
        return gaps
    of, cuts = at[inside], early[inside]
    begin, end = (np.concatenate([column, cuts]) for column in (gaps.begin, gaps.end))
    order = in_order(begin)
    others: Any = (np.concatenate([column, column[of]])[order] for column in gaps[2:])
    return Gaps(begin[order], np.sort(end), *others)


def by_ready(talk: Talk, rows: Mask) -> Places:
    """The places of some talk in the order in which its senders were ready."""
    own = np.flatnonzero(rows)
    return own[in_order(talk.ready[own])] if talk.worded else own


def following(ready: Ints, gaps: Gaps, on: Line) -> tuple[Ints, Mask]:
    """For each silence which of those who were ready, in order, was so first after it began, and whether in the same step."""
    at = preceding(ready, gaps.begin, True)
    if not len(ready):
        return at, np.zeros(len(at), np.bool_)
    known = at < len(ready)
    at = np.minimum(at, len(ready) - 1)
    return at, known & (ready[at] <= on.end[gaps.slot])
