"""Find gaps between transfers of each rank, and the records around them; labels of phases are derived from them.

Places are on the line of `interval_lines`, on which each rank has its own stretch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from collectors.columns.record import Mask
from prism.loops.arrays.group_sums import Places, distinct, preceding
from prism.loops.arrays.interval_lines import Bytes, Line
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.orders import in_order
from prism.loops.phases.silence_gaps import ended
from prism.model import PHASES

PP, DP, COMPUTE, IDLE, FORWARD, BACKWARD, OPTIMIZER = (
    PHASES.index(name) for name in ("pp", "dp", "compute", "idle", "forward", "backward", "optimizer")
)
Rows = Mask | Places


class LineRecords(NamedTuple):
    """Both ends of every record on the line, in order of start. `way` is +1 down a pipeline, −1 up, else 0.

    `ready`: when the sender was ready; `start` if there are no ready messages. `called`: when the receiver sent its ready
    message, if the record waited for it, else `NOTHING`; empty if there are no ready messages.
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
    def has_ready(self) -> bool:
        """Whether there are ready messages."""
        return len(self.called) > 0


class Gaps(NamedTuple):
    """Gaps of ranks inside steps, split where ranks became ready; in order; places on the line, slots.

    `speaks`: the rank itself was ready, or sent, at the end. `called`: it sent when its peer was ready, so it may have waited.
    `tail`: the step ends with the gap.
    """

    begin: Ints
    end: Ints
    slot: Ints
    speaks: Mask
    called: Mask
    tail: Mask


class Labels(NamedTuple):
    """The label of each gap: `before` up to a `cut`, then `label`."""

    cut: Ints
    before: Bytes
    label: Bytes

    def put(self, rows: Rows, label: int) -> None:
        """Set one label for whole gaps."""
        self.label[rows], self.before[rows] = label, label

    def split(self, rows: Rows, cut: Ints, before: int | Bytes, label: int) -> None:
        """Set two labels for gaps, each with its cut."""
        self.cut[rows], self.before[rows], self.label[rows] = cut, before, label


def silences(begin: Ints, end: Ints, slot: Ints, records: LineRecords, on: Line) -> Gaps:
    """Find the gaps of the steps, split where ranks became ready."""
    none = np.zeros(len(begin), np.bool_)
    gaps = Gaps(begin, end, slot, none, none, end == on.end[slot])
    gaps = _cut(gaps, records) if records.has_ready else gaps
    rows = by_ready(records, records.sends)
    speaks, called = ended(gaps.begin, gaps.end, gaps.slot, rows, records.start, records.ready, records.called, on.end)
    return gaps._replace(speaks=speaks, called=called)


def _cut(gaps: Gaps, records: LineRecords) -> Gaps:
    """Split gaps at the times at which ranks became ready."""
    if not len(gaps.begin):
        return gaps
    early = distinct(records.ready[records.sends & (records.ready < records.start)])
    at = preceding(gaps.begin, early, False) - 1
    inside = (at >= 0) & (early < gaps.end[at])
    if not inside.any():
        return gaps
    of, cuts = at[inside], early[inside]
    begin, end = (np.concatenate([column, cuts]) for column in (gaps.begin, gaps.end))
    order = in_order(begin)
    others: Any = (np.concatenate([column, column[of]])[order] for column in gaps[2:])
    return Gaps(begin[order], np.sort(end), *others)


def by_ready(records: LineRecords, rows: Mask) -> Places:
    """Order the selected records by the time at which their senders were ready."""
    own = np.flatnonzero(rows)
    return own[in_order(records.ready[own])] if records.has_ready else own


def following(ready: Ints, gaps: Gaps, on: Line) -> tuple[Ints, Mask]:
    """For each gap, find the first of the sorted `ready` times after its begin, and whether it is in the same step."""
    at = preceding(ready, gaps.begin, True)
    if not len(ready):
        return at, np.zeros(len(at), np.bool_)
    known = at < len(ready)
    at = np.minimum(at, len(ready) - 1)
    return at, known & (ready[at] <= on.end[gaps.slot])
