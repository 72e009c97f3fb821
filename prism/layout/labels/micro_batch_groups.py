"""Collectives inside the stages of a pipeline that go on with every micro-batch: tensor parallel groups.

Where a stage's ranks belong to one kind of group only, that need not be data parallel: a pipeline of tensor parallel stages
without replicas reduces no gradients. Those are reduced once per step, when the last micro-batch has come back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np

from collectors.columns.record import Flows
from collectors.compilation.compiled import compiled
from prism.layout.labels.collective_kinds import Members
from prism.layout.labels.pipelines import chains_of, emptied, lanes_of
from prism.layout.labels.rest_times import beat_of
from prism.loops.arrays.edges import Edge, Pair, ends, sending
from prism.loops.arrays.intervals import Ints
from prism.loops.communicators.handover_test import Handover
from prism.loops.communicators.pair_lockstep import Collective
from prism.loops.periods.stream_rhythm import FOREVER
from prism.model import GroupKind

Kinds = list[tuple[GroupKind, Collective]]


def by_batch(
    flows: Flows,
    kinds: Kinds,
    hands: Mapping[Pair, Edge],
    tides: Mapping[Pair, Handover],
    *,
    most: float = 0.5,
    often: float = 0.8,
) -> Kinds:
    """The collectives with what they are for; reductions of ranks that have no others are tensor parallel if they go on with
    every micro-batch, forwards too.

    That is so if of the time between the first and the last that a rank is handed in a step `most` lies in intervals, from one
    to the next, in which its collective moves something; and if that does so as `often` between what a first stage hands on
    first and what comes back: gradients may be reduced batch by batch, but not before there are any.
    """
    of: dict[Members, list[Collective]] = defaultdict(list)
    for _, one in kinds:
        of[one.members].append(one)
    ranks = frozenset().union(*of)
    only = len(ranks) == sum(map(len, of)) and all(kind == "dp" for kind, _ in kinds)
    if not hands or not only or any(not ends(pair) <= ranks for pair in hands):
        return kinds
    start = sending(flows)
    spoken = {members: np.sort(np.concatenate([start[one.rows] for one in own])) for members, own in of.items()}
    over = {members: beat_of(flows, own).quiet[:, 0].copy() for members, own in of.items()}
    if _with_each(over, spoken, hands) <= most:
        return kinds
    by_rank = {rank: times for members, times in spoken.items() for rank in members}
    begun = forward = 0
    for sent, back, first in _begun(hands, tides):
        begun += len(sent)
        forward += int(np.count_nonzero(np.searchsorted(by_rank[first], back) > np.searchsorted(by_rank[first], sent)))
    return [("tp", one) for _, one in kinds] if forward >= often * begun > 0 else kinds


def _with_each(over: Mapping[Members, Ints], spoken: Mapping[Members, Ints], hands: Mapping[Pair, Edge]) -> float:
    """Which share of the time between the first and the last that ranks are handed in a step lies in intervals, from one to the
    next, in which something is `spoken` in their collectives, whose steps are `over` then.
    """
    came: dict[int, list[Ints]] = defaultdict(list)
    for key, edge in hands.items():
        came[key[1]].append(edge.end)
    used = inner = 0
    for members, times in spoken.items():
        for given in (np.sort(np.concatenate(came[member])) for member in members if member in came):
            waited = _waited(given, over[members], times)
            inner, used = inner + waited[0], used + waited[1]
    return used / max(inner, 1)


@compiled
def _waited(given: Ints, over: Ints, spoken: Ints) -> tuple[int, int]:
    """How long it is from one of the times `given` to the next, but for those between which a step is `over`, in all; and of
    that, where something is `spoken` in between, ns. All times ascend.
    """
    step, said = np.searchsorted(over, given), np.searchsorted(spoken, given)  # many are spoken for each that is given
    inner = used = 0
    for i in range(1, len(given)):
        if step[i] == step[i - 1]:
            inner += given[i] - given[i - 1]
            if said[i] > said[i - 1]:
                used += given[i] - given[i - 1]
    return inner, used


def _begun(hands: Mapping[Pair, Edge], tides: Mapping[Pair, Handover]) -> Iterator[tuple[Ints, Ints, int]]:
    """When each first stage handed on the first of each step, when something came back first after that, and the stage."""
    lanes = lanes_of(hands)
    for first, second, *_ in chains_of(hands, {}, tides)[0]:
        went, came = (
            np.sort(np.concatenate(own))
            for own in ([hands[key].start for key in lanes[first, second]], [hands[key].end for key in lanes[second, first]])
        )
        tide = emptied(first, second, lanes, tides)
        if tide is not None:
            sent = np.append(went, FOREVER)[np.searchsorted(went, np.append(went[0], tide.empty))]
            back = np.append(came, FOREVER)[np.searchsorted(came, sent)]
            yield sent[back < FOREVER], back[back < FOREVER], first
