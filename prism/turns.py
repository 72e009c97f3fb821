"""Ranks of a pipeline take turns: what they hand on next tells what they were doing.

Source: the order of a stage's work is that of 1F1B and GPipe (Narayanan et al., SC 2021, section 2.2).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from prism.kernels.intervals import Ints
from prism.kernels.ordered import in_order
from prism.kernels.paint import NOTHING, Line
from prism.kernels.shares import Moved, completes, first_of, needed, pieces_of
from prism.kernels.sums import highest
from prism.silences import (
    BACKWARD,
    COMPUTE,
    DP,
    FORWARD,
    IDLE,
    OPTIMIZER,
    PP,
    Gaps,
    Mask,
    Said,
    Talk,
    following,
    medians,
)


class Turns(NamedTuple):
    """What ranks of a pipeline hand on, piece by piece, and their reductions, by when they were ready.

    `need` is when all had come that a piece needed, `NOTHING` where unknown; `since` when its rank could work on it. `come` is
    when pieces given to ranks were whole.
    """

    own: Talk
    need: Ints
    since: Ints
    come: Ints


def take_turns(said: Said, gaps: Gaps, talk: Talk, stage: Ints, on: Line) -> None:
    """Label the silences of ranks in a pipeline by what they hand on next."""
    turns = turns_of(talk, stage, on)
    if not len(turns.own.start):
        return
    at, known = following(turns.own.ready, gaps, on)
    kind, way, need = (np.where(known, column[at], NOTHING) for column in (turns.own.kind, turns.own.way, turns.need))
    first, last = (stage[on.rank[gaps.slot]] == end for end in (0, stage.max()))
    fresh = gaps.begin == on.begin[gaps.slot]
    said.put((kind == PP) & (way > 0) & ~(first & (need >= 0)), FORWARD)  # the first stage goes backward between
    said.put((kind == PP) & (way < 0) & ~last, BACKWARD)
    _no_longer(said, gaps, turns, on, (kind == PP) & (said.label != COMPUTE) & ~fresh)
    said.put((kind == PP) & (need > gaps.begin), IDLE)
    begun = talk.start[talk.sends & (talk.kind == DP)]
    none = np.searchsorted(begun, gaps.begin, "right") == np.searchsorted(begun, on.begin[gaps.slot], "left")
    reduces = (kind == DP) & none & ~fresh
    _cool_down(said, gaps, turns, on, reduces & first)
    said.put(reduces & ~first, BACKWARD)
    _optimizer(said, gaps, turns, stage, on)


def turns_of(talk: Talk, stage: Ints, on: Line) -> Turns:
    """The turns of all ranks."""
    piped = talk.only((talk.kind == PP) & (talk.way != 0) & (talk.slot >= 0))
    given, handed = piped.only(~piped.sends), piped.only(piped.sends)
    at_stage = stage[on.rank[handed.slot]]
    leads, ends = (at_stage == 0) & (handed.way > 0), (at_stage == stage.max()) & (handed.way < 0)
    group = 2 * handed.slot + (handed.way > 0)
    asks = np.where(leads | ends, group ^ 1, group)
    came = Moved(2 * given.slot + (given.way > 0), given.end, given.octets)
    goes = Moved(group, handed.ready, handed.octets)
    outer = (at_stage == 0) | (at_stage == stage.max())
    inner = ~outer if not outer.all() else ends
    pieces = pieces_of(came, Moved(*(column[inner] for column in goes)), asks[inner])
    need = needed(came, goes, asks, turns=leads, pieces=pieces)
    need[outer & ~leads & ~ends] = NOTHING  # from the last stage on to the first: which of what is given is not told
    first = first_of(goes, pieces)
    last = np.full(len(on.begin), NOTHING, np.int64)
    highest(handed.slot, handed.ready, last)
    reduces = talk.only(talk.sends & (talk.kind == DP) & (talk.ready > last[talk.slot]))  # what goes on beside tells no turn
    columns: Any = (np.concatenate(pair) for pair in zip(handed.only(first), reduces, strict=True))
    both = Talk(*columns)
    order = in_order(both.ready)
    own, need = both.only(order), np.concatenate([need[first], np.full(len(reduces.start), NOTHING)])[order]
    before = np.r_[NOTHING, own.ready[:-1]]
    since = np.maximum(np.maximum(need, before), on.begin[own.slot])
    return Turns(own, need, since, np.sort(given.end[completes(came, pieces)]))


def _no_longer(said: Said, gaps: Gaps, turns: Turns, on: Line, rows: Mask) -> None:
    """Silences that end with a peer's word, whereupon the rank speaks: its usual piece of work, then waiting."""
    own = turns.own
    at, _ = following(own.ready, gaps, on)
    which = 2 * on.rank[own.slot] + (own.way > 0)
    free = np.zeros(len(own.start), np.bool_)
    free[at[rows & gaps.speaks & ~gaps.called & (own.ready[at] <= gaps.end)]] = True
    usual = medians(which[free], (own.ready - turns.since)[free], 2 * int(on.rank[-1]) + 2)[which[at]]
    waits = rows & gaps.called & (usual >= 0)
    label = said.label.copy()
    said.label[waits] = IDLE
    said.cut[waits] = np.clip(turns.since[at] + usual, gaps.begin, gaps.end)[waits]
    said.before[waits] = label[waits]


def _cool_down(said: Said, gaps: Gaps, turns: Turns, on: Line, rows: Mask) -> None:
    """The first stage after its last activations: it goes backward with each gradient, as long as with the last, or waits."""
    own = turns.own
    piped = np.flatnonzero(own.kind == PP)
    given, handed = _last(turns.come, gaps.begin), _last(own.ready[piped], gaps.begin)
    answered = _last(own.ready[piped], gaps.begin, turns.need[piped])
    work = given > np.maximum(answered, on.begin[gaps.slot])
    reduces = np.flatnonzero(own.kind == DP)
    slot, at = np.unique(own.slot[reduces], return_index=True)
    length = np.full(len(on.begin), NOTHING, np.int64)
    length[slot] = (own.ready - _last(turns.come, own.ready))[reduces[at]]
    usual = length[gaps.slot]
    until = np.clip(np.maximum(given, handed) + usual, gaps.begin, gaps.end)
    said.put(rows & ~work, IDLE)
    said.split(rows & work & (usual >= 0), until, BACKWARD, IDLE)


def _last(places: Ints, before: Ints, values: Ints | None = None) -> Ints:
    """The last of some sorted places up to each of others, or the value that goes with it; `NOTHING` where there is none."""
    return np.concatenate([[NOTHING], places if values is None else values])[np.searchsorted(places, before, "right")]


def _optimizer(said: Said, gaps: Gaps, turns: Turns, stage: Ints, on: Line) -> None:
    """The silences that begin steps: the optimizer, then the first stage's forward, or waiting for it."""
    own, n = turns.own, len(on.begin)
    fresh, first = gaps.begin == on.begin[gaps.slot], stage[on.rank[gaps.slot]] == 0
    pair = (own.way[1:] > 0) & (own.way[:-1] > 0) & (own.slot[1:] == own.slot[:-1]) & (own.slot[1:] >= 0)
    pair &= (turns.need[1:] < 0) & (stage[on.rank[own.slot[1:]]] == 0)
    took = medians(own.slot[1:][pair], np.diff(own.ready)[pair], n)
    begins = first & fresh & (said.label == FORWARD)
    known = begins & (took[gaps.slot] >= 0)
    said.put(begins & ~known, COMPUTE)
    cut = np.maximum(gaps.end - took[gaps.slot], gaps.begin)
    said.split(known, cut, OPTIMIZER, FORWARD)
    step = on.step[gaps.slot]
    usual = medians(step[known], (cut - gaps.begin)[known], int(on.step.max()) + 1)
    rest = fresh & ~first & (said.label == IDLE) & (usual[step] >= 0)
    said.split(rest, np.minimum(gaps.begin + usual[step], gaps.end), OPTIMIZER, IDLE)
