"""Ranks of a pipeline take turns: what they hand on next tells what they were doing.

Source: the order of a stage's work is that of 1F1B and GPipe (Narayanan et al., SC 2021, section 2.2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Mask
from prism.loops.arrays.group_sums import highest, preceding
from prism.loops.arrays.interval_lines import NOTHING, Bytes, Line
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.medians import in_order
from prism.loops.dependencies.matched_volumes import Moved, completes, first_of, needed, pieces_of, piped
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
    Said,
    Talk,
    following,
)

Places = NDArray[np.intp]


class Turns(NamedTuple):
    """What ranks of a pipeline hand on, piece by piece, and their reductions, by when they were `ready`, with that of `Talk`.

    `need` is when all had come that a piece needed, `NOTHING` where unknown; `since` when its rank could work on it. `come` is
    when pieces given to ranks were whole.
    """

    ready: Ints
    slot: Ints
    kind: Bytes
    way: Bytes
    need: Ints
    since: Ints
    come: Ints


def take_turns(said: Said, gaps: Gaps, talk: Talk, stage: Ints, on: Line) -> None:
    """Label the silences of ranks in a pipeline by what they hand on next."""
    turns = turns_of(talk, stage, on)
    if not len(turns.ready):
        return
    at, known = following(turns.ready, gaps, on)
    kind, way, need = (np.where(known, column[at], NOTHING) for column in (turns.kind, turns.way, turns.need))
    first, last = (stage[on.rank[gaps.slot]] == end for end in (0, stage.max()))
    fresh = gaps.begin == on.begin[gaps.slot]
    forward = (kind == PP) & (way > 0) & ~(first & (need >= 0))  # the first stage goes backward between
    backward = (kind == PP) & (way < 0) & ~last
    said.put(forward, FORWARD)
    said.put(backward, BACKWARD)
    _no_longer(said, gaps, turns, on, at, (forward | backward) & ~fresh)
    said.put((kind == PP) & (need > gaps.begin), IDLE)
    begun = talk.start[talk.sends & (talk.kind == DP)]
    none = preceding(begun, gaps.begin, True) == preceding(begun, on.begin, False)[gaps.slot]
    reduces = (kind == DP) & none & ~fresh
    _cool_down(said, gaps, turns, on, np.flatnonzero(reduces & first))
    said.put(reduces & ~first, BACKWARD)
    _optimizer(said, gaps, turns, stage, on, np.flatnonzero(fresh))


def turns_of(talk: Talk, stage: Ints, on: Line) -> Turns:
    """The turns of all ranks."""
    came, handed, goes = piped(talk.kind == PP, talk.way, talk.slot, talk.sends, talk.end, talk.ready, talk.octets)
    stages = stage.take(on.rank)
    slot, way, ready, at_stage = goes.group >> 1, talk.way.take(handed), goes.time, stages.take(goes.group >> 1)
    leads, ends = (at_stage == 0) & (way > 0), (at_stage == stage.max()) & (way < 0)
    asks = np.where(leads | ends, goes.group ^ 1, goes.group)
    outer = (at_stage == 0) | (at_stage == stage.max())
    inner = ~outer if not outer.all() else ends
    pieces = pieces_of(came, Moved(*(column[inner] for column in goes)), asks[inner])
    need = needed(came, goes, asks, turns=leads, pieces=pieces)
    need[outer & ~leads & ~ends] = NOTHING  # from the last stage on to the first: which of what is given is not told
    first = np.flatnonzero(first_of(goes, pieces))
    last = np.full(len(on.begin), NOTHING, np.int64)
    highest(slot, ready, last)
    reduces = np.flatnonzero(talk.sends & (talk.kind == DP) & (talk.ready > last[talk.slot]))  # what goes on beside tells none
    own = np.concatenate([handed[first], reduces])
    order = in_order(talk.ready[own])
    own, need = own[order], np.concatenate([need[first], np.full(len(reduces), NOTHING)])[order]
    ready, slot = talk.ready[own], talk.slot[own]
    since = np.maximum(np.maximum(need, np.r_[NOTHING, ready[:-1]]), on.begin[slot])
    leading = np.flatnonzero(stages.take(came.group >> 1) == 0)
    come = Moved(*(column.take(leading) for column in came))
    return Turns(ready, slot, talk.kind[own], talk.way[own], need, since, np.sort(come.time[completes(come, pieces)]))


def _no_longer(said: Said, gaps: Gaps, turns: Turns, on: Line, at: Ints, rows: Mask) -> None:
    """Silences that end with a peer's word, whereupon the rank speaks: its usual piece of work, then waiting.

    `at` is the turn that follows each silence.
    """
    which = 2 * on.rank[turns.slot] + (turns.way > 0)
    free = np.zeros(len(turns.ready), np.bool_)
    own = np.flatnonzero(rows & gaps.speaks & ~gaps.called)
    free[at[own[turns.ready[at[own]] <= gaps.end[own]]]] = True
    usual = medians(which[free], (turns.ready - turns.since)[free], 2 * int(on.rank[-1]) + 2)
    waits = np.flatnonzero(rows & gaps.called)
    waits = waits[usual[which[at[waits]]] >= 0]
    until = turns.since[at[waits]] + usual[which[at[waits]]]
    said.split(waits, np.clip(until, gaps.begin[waits], gaps.end[waits]), said.label[waits], IDLE)


def _cool_down(said: Said, gaps: Gaps, turns: Turns, on: Line, rows: Places) -> None:
    """The first stage after its last activations: it goes backward with each gradient, as long as with the last, or waits."""
    begin, end, slot = gaps.begin[rows], gaps.end[rows], gaps.slot[rows]
    piped = np.flatnonzero(turns.kind == PP)
    given, handed = _last(turns.come, begin), _last(turns.ready[piped], begin)
    answered = _last(turns.ready[piped], begin, turns.need[piped])
    work = given > np.maximum(answered, on.begin[slot])
    reduces = np.flatnonzero(turns.kind == DP)
    ending, at = np.unique(turns.slot[reduces], return_index=True)
    ready = turns.ready[reduces[at]]
    length = np.full(len(on.begin), NOTHING, np.int64)
    length[ending] = ready - _last(turns.come, ready)
    usual = length[slot]
    until = np.clip(np.maximum(given, handed) + usual, begin, end)
    said.put(rows[~work], IDLE)
    known = work & (usual >= 0)
    said.split(rows[known], until[known], BACKWARD, IDLE)


def _last(places: Ints, before: Ints, values: Ints | None = None) -> Ints:
    """The last of some sorted places up to each of others, or the value that goes with it; `NOTHING` where there is none."""
    return np.concatenate([[NOTHING], places if values is None else values])[preceding(places, before, True)]


def _optimizer(said: Said, gaps: Gaps, turns: Turns, stage: Ints, on: Line, fresh: Places) -> None:
    """The silences that begin steps, the `fresh` ones: the optimizer, then the first stage's forward, or waiting for it."""
    begin, end, slot, n = gaps.begin[fresh], gaps.end[fresh], gaps.slot[fresh], len(on.begin)
    pair = (turns.way[1:] > 0) & (turns.way[:-1] > 0) & (turns.slot[1:] == turns.slot[:-1]) & (turns.slot[1:] >= 0)
    pair &= (turns.need[1:] < 0) & (stage[on.rank[turns.slot[1:]]] == 0)
    took = medians(turns.slot[1:][pair], np.diff(turns.ready)[pair], n)[slot]
    first, step = stage[on.rank[slot]] == 0, on.step[slot]
    begins = first & (said.label[fresh] == FORWARD)
    known = begins & (took >= 0)
    said.put(fresh[begins & ~known], COMPUTE)
    cut = np.maximum(end - took, begin)
    said.split(fresh[known], cut[known], OPTIMIZER, FORWARD)
    usual = medians(step[known], (cut - begin)[known], int(on.step.max()) + 1)[step]
    rest = ~first & (said.label[fresh] == IDLE) & (usual >= 0)
    said.split(fresh[rest], np.minimum(begin + usual, end)[rest], OPTIMIZER, IDLE)
