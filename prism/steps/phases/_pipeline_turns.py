"""Label gaps of pipeline ranks by their next hand-over: forward, backward, optimizer or idle.

Source: the order of a stage's work is that of 1F1B and GPipe (Narayanan et al., SC 2021, section 2.2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Mask
from prism.loops.arrays.group_sums import preceding
from prism.loops.arrays.interval_lines import NOTHING, Bytes, Line
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.orders import in_order
from prism.loops.detection.matched_volumes import Moved, completes, first_of, needed, pieces_of, piped
from prism.loops.phases.silence_gaps import medians
from prism.steps.phases.rank_silences import (
    BACKWARD,
    COMPUTE,
    DP,
    FORWARD,
    IDLE,
    OPTIMIZER,
    PP,
    Gaps,
    Labels,
    LineRecords,
    following,
)

Places = NDArray[np.intp]


class Turns(NamedTuple):
    """Hand-overs of pipeline ranks, piece by piece, and their reductions, in order of `ready`; `ready` as in `LineRecords`.

    `need`: when all inputs of a piece had arrived, `NOTHING` if unknown. `since`: when its rank could start on it. `inputs`:
    when pieces that ranks received were complete.
    """

    ready: Ints
    slot: Ints
    kind: Bytes
    way: Bytes
    need: Ints
    since: Ints
    inputs: Ints


def take_turns(labels: Labels, gaps: Gaps, records: LineRecords, stage: Ints, on: Line) -> None:
    """Label the gaps of ranks in a pipeline by their next hand-over."""
    turns = turns_of(records, stage, on)
    if not len(turns.ready):
        return
    at, known = following(turns.ready, gaps, on)
    kind, way, need = (np.where(known, column[at], NOTHING) for column in (turns.kind, turns.way, turns.need))
    first, last = (stage[on.rank[gaps.slot]] == end for end in (0, stage.max()))
    at_step_begin = gaps.begin == on.begin[gaps.slot]
    forward = (kind == PP) & (way > 0) & ~(first & (need >= 0))  # the first stage runs backward in between
    backward = (kind == PP) & (way < 0) & ~last
    labels.put(forward, FORWARD)
    labels.put(backward, BACKWARD)
    _split_at_usual_work(labels, gaps, turns, on, at, (forward | backward) & ~at_step_begin)
    labels.put((kind == PP) & (need > gaps.begin), IDLE)
    reductions = records.start[records.sends & (records.kind == DP)]
    none = preceding(reductions, gaps.begin, True) == preceding(reductions, on.begin, False)[gaps.slot]
    reduces = (kind == DP) & none & ~at_step_begin
    _cool_down(labels, gaps, turns, on, np.flatnonzero(reduces & first))
    labels.put(reduces & ~first, BACKWARD)
    _optimizer(labels, gaps, turns, stage, on, np.flatnonzero(at_step_begin))


def turns_of(records: LineRecords, stage: Ints, on: Line) -> Turns:
    """Compute the turns of all ranks."""
    received, sent, sent_pieces = piped(
        records.kind == PP, records.way, records.slot, records.sends, records.end, records.ready, records.octets
    )
    stages = stage.take(on.rank)
    slot, way, ready, at_stage = (
        sent_pieces.group >> 1,
        records.way.take(sent),
        sent_pieces.time,
        stages.take(sent_pieces.group >> 1),
    )
    is_first_forward, is_last_backward = (at_stage == 0) & (way > 0), (at_stage == stage.max()) & (way < 0)
    requesters = np.where(is_first_forward | is_last_backward, sent_pieces.group ^ 1, sent_pieces.group)
    outer = (at_stage == 0) | (at_stage == stage.max())
    inner = ~outer if not outer.all() else is_last_backward
    pieces = pieces_of(received, Moved(*(column[inner] for column in sent_pieces)), requesters[inner])
    need = needed(received, sent_pieces, requesters, turns=is_first_forward, pieces=pieces)
    # Between the last and the first stage the inputs of a piece are unknown.
    need[outer & ~is_first_forward & ~is_last_backward] = NOTHING
    first = np.flatnonzero(first_of(sent_pieces, pieces))
    last = np.full(len(on.begin), NOTHING, np.int64)
    np.maximum.at(last, slot, ready)
    # Concurrent traffic is excluded.
    reduces = np.flatnonzero(records.sends & (records.kind == DP) & (records.ready > last[records.slot]))
    own = np.concatenate([sent[first], reduces])
    order = in_order(records.ready[own])
    own, need = own[order], np.concatenate([need[first], np.full(len(reduces), NOTHING)])[order]
    ready, slot = records.ready[own], records.slot[own]
    since = np.maximum(np.maximum(need, np.r_[NOTHING, ready[:-1]]), on.begin[slot])
    leading = np.flatnonzero(stages.take(received.group >> 1) == 0)
    inputs = Moved(*(column.take(leading) for column in received))
    return Turns(ready, slot, records.kind[own], records.way[own], need, since, np.sort(inputs.time[completes(inputs, pieces)]))


def _split_at_usual_work(labels: Labels, gaps: Gaps, turns: Turns, on: Line, at: Ints, rows: Mask) -> None:
    """Split gaps that end with a peer's ready message and the rank's transfer: its usual piece of work, then waiting.

    `at` is the turn after each gap.
    """
    which = 2 * on.rank[turns.slot] + (turns.way > 0)
    free = np.zeros(len(turns.ready), np.bool_)
    own = np.flatnonzero(rows & gaps.speaks & ~gaps.called)
    free[at[own[turns.ready[at[own]] <= gaps.end[own]]]] = True
    usual = medians(which[free], (turns.ready - turns.since)[free], 2 * int(on.rank[-1]) + 2)
    waits = np.flatnonzero(rows & gaps.called)
    waits = waits[usual[which[at[waits]]] >= 0]
    until = turns.since[at[waits]] + usual[which[at[waits]]]
    labels.split(waits, np.clip(until, gaps.begin[waits], gaps.end[waits]), labels.label[waits], IDLE)


def _cool_down(labels: Labels, gaps: Gaps, turns: Turns, on: Line, rows: Places) -> None:
    """Split gaps of the first stage after its last activations: backward for each gradient, as long as the last one, or
    waiting.
    """
    begin, end, slot = gaps.begin[rows], gaps.end[rows], gaps.slot[rows]
    handovers = np.flatnonzero(turns.kind == PP)
    last_input, sent = _last(turns.inputs, begin), _last(turns.ready[handovers], begin)
    last_answered = _last(turns.ready[handovers], begin, turns.need[handovers])
    work = last_input > np.maximum(last_answered, on.begin[slot])
    reduces = np.flatnonzero(turns.kind == DP)
    ending, at = np.unique(turns.slot[reduces], return_index=True)
    ready = turns.ready[reduces[at]]
    length = np.full(len(on.begin), NOTHING, np.int64)
    length[ending] = ready - _last(turns.inputs, ready)
    usual = length[slot]
    until = np.clip(np.maximum(last_input, sent) + usual, begin, end)
    labels.put(rows[~work], IDLE)
    known = work & (usual >= 0)
    labels.split(rows[known], until[known], BACKWARD, IDLE)


def _last(places: Ints, before: Ints, values: Ints | None = None) -> Ints:
    """Return the last of sorted places up to each of others, or its value; `NOTHING` if there is none."""
    return np.concatenate([[NOTHING], places if values is None else values])[preceding(places, before, True)]


def _optimizer(labels: Labels, gaps: Gaps, turns: Turns, stage: Ints, on: Line, at_step_begin: Places) -> None:
    """Split the gaps at the begin of steps: the optimizer, then the first stage's forward, or waiting for it."""
    begin, end, slot, n = gaps.begin[at_step_begin], gaps.end[at_step_begin], gaps.slot[at_step_begin], len(on.begin)
    pair = (turns.way[1:] > 0) & (turns.way[:-1] > 0) & (turns.slot[1:] == turns.slot[:-1]) & (turns.slot[1:] >= 0)
    pair &= (turns.need[1:] < 0) & (stage[on.rank[turns.slot[1:]]] == 0)
    duration = medians(turns.slot[1:][pair], np.diff(turns.ready)[pair], n)[slot]
    first, step = stage[on.rank[slot]] == 0, on.step[slot]
    begins = first & (labels.label[at_step_begin] == FORWARD)
    known = begins & (duration >= 0)
    labels.put(at_step_begin[begins & ~known], COMPUTE)
    cut = np.maximum(end - duration, begin)
    labels.split(at_step_begin[known], cut[known], OPTIMIZER, FORWARD)
    usual = medians(step[known], (cut - begin)[known], int(on.step.max()) + 1)[step]
    rest = ~first & (labels.label[at_step_begin] == IDLE) & (usual >= 0)
    labels.split(at_step_begin[rest], np.minimum(begin + usual, end)[rest], OPTIMIZER, IDLE)
