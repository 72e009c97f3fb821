"""Find tensor parallel groups inside pipeline stages: their collectives run with every micro-batch.

If a stage's ranks belong to one kind of group only, it is not always data parallel: a pipeline of tensor parallel stages
without replicas reduces no gradients. Gradients are reduced once per step, when the last micro-batch has returned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np

from collectors.columns.record import Flows
from prism.layout import constants as c
from prism.layout.labels.collective_kinds import Members
from prism.layout.labels.collective_rhythms import rhythm_of
from prism.layout.labels.pipelines import chains_of, emptied, lanes_of
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
    handover_of: Mapping[Pair, Handover],
    *,
    min_share: float = 0.5,
    min_forward: float = c.WHILE_FORWARD,
) -> Kinds:
    """Relabel reductions as tensor parallel if their ranks have no other collective and they run with every micro-batch.

    Two conditions hold then. More than `min_share` of the time between the first and the last hand-over to a rank in a step
    lies in intervals in which its collective moves octets. And in `min_forward` of the steps the collective moves octets
    between the first hand-over of the first stage and the first return: gradients cannot exist yet.
    """
    of: dict[Members, list[Collective]] = defaultdict(list)
    for _, one in kinds:
        of[one.members].append(one)
    ranks = frozenset().union(*of)
    only = len(ranks) == sum(map(len, of)) and all(kind == "dp" for kind, _ in kinds)
    if not hands or not only or any(not ends(pair) <= ranks for pair in hands):
        return kinds
    start = sending(flows)
    active = {members: np.sort(np.concatenate([start[one.rows] for one in own])) for members, own in of.items()}
    step_ends = {members: rhythm_of(flows, own).quiet[:, 0].copy() for members, own in of.items()}
    if _active_share(step_ends, active, hands) <= min_share:
        return kinds
    by_rank = {rank: times for members, times in active.items() for rank in members}
    total = forward = 0
    for sent, back, first in _begun(hands, handover_of):
        total += len(sent)
        forward += int(np.count_nonzero(np.searchsorted(by_rank[first], back) > np.searchsorted(by_rank[first], sent)))
    return [("tp", one) for _, one in kinds] if forward >= min_forward * total > 0 else kinds


def _active_share(step_ends: Mapping[Members, Ints], active: Mapping[Members, Ints], hands: Mapping[Pair, Edge]) -> float:
    """Share of the time between hand-overs within a step in whose intervals the rank's collectives are active.

    `step_ends` and `active` are times by members, ascending.
    """
    received: dict[int, list[Ints]] = defaultdict(list)
    for key, edge in hands.items():
        received[key[1]].append(edge.end)
    used = inner = 0
    for members, times in active.items():
        for arrivals in (np.sort(np.concatenate(received[member])) for member in members if member in received):
            durations = _waited(arrivals, step_ends[members], times)
            inner, used = inner + durations[0], used + durations[1]
    return used / max(inner, 1)


def _waited(arrivals: Ints, step_ends: Ints, active: Ints) -> tuple[int, int]:
    """Sum the intervals between successive `arrivals` within one step, and those of them in which something is `active`, ns.

    All times ascend. `step_ends` separates the steps.
    """
    apart = np.diff(arrivals)
    inner = np.diff(np.searchsorted(step_ends, arrivals)) == 0
    used = inner & (np.diff(np.searchsorted(active, arrivals)) > 0)
    return int(apart[inner].sum()), int(apart[used].sum())


def _begun(hands: Mapping[Pair, Edge], handover_of: Mapping[Pair, Handover]) -> Iterator[tuple[Ints, Ints, int]]:
    """Yield for each pipeline the first hand-over of each step, the first return after it, and the first stage."""
    lanes = lanes_of(hands)
    for first, second, *_ in chains_of(hands, {}, handover_of)[0]:
        times = [hands[key].start for key in lanes[first, second]], [hands[key].end for key in lanes[second, first]]
        if not all(times):
            continue  # of a pipeline that branches, the first two may exchange nothing
        forward_times, return_times = (np.sort(np.concatenate(own)) for own in times)
        tide = emptied(first, second, lanes, handover_of)
        if tide is not None:
            sent = np.append(forward_times, FOREVER)[np.searchsorted(forward_times, np.append(forward_times[0], tide.empty))]
            back = np.append(return_times, FOREVER)[np.searchsorted(return_times, sent)]
            yield sent[back < FOREVER], back[back < FOREVER], first
