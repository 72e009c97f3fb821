"""Compare families: rounds of one collective, shards and their replicas have message sizes in simple ratios."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import chain, combinations, permutations, product

import numpy as np

from prism.evidence.communicators import Communicator
from prism.evidence.families import Family
from prism.evidence.shapes import undirected
from prism.evidence.streams import Stream
from prism.layout import constants as c


def may_halve(family: Family, hosts: int) -> bool:
    """Check whether a family may be levels of halving between the hosts of a group: a cube, or the pairs or squares of few."""
    form = family[0].form
    return form in ("two cube", "two path") or (form, hosts) in (("two pair", 2), ("two cycle", c.SQUARE))


def several_sizes(reducing: Sequence[Family]) -> list[list[Stream]]:
    """Sort streams of equal messages by size: those with sizes in whole ratios belong together. Few octets are left out."""
    classes: dict[float, list[Stream]] = defaultdict(list)  # by the first size of each
    for stream in (s for family in reducing for one in family for s in one.streams if s.equal):
        classes[next((known for known in classes if _whole(known, stream.size)), stream.size)].append(stream)
    moved = [sum(s.volume for s in own) for own in classes.values()]
    return [own for own, volume in zip(classes.values(), moved, strict=True) if volume > c.FEW_OCTETS * sum(moved)]


def sharded(families: Sequence[Family], members: int, size: Callable[[Sequence[int]], int], hosts: Sequence[int]) -> float:
    """Return how clearly some of the families move shards, and the others reduce replicas of each; 0 if there is one group.

    Below 0 if families of crossing groups are neither that nor rounds of one reduction: who reduces the same gradients over
    two kinds of groups has a reason. `members`: of all replicas of a model. `size`: members of the groups that some join.
    `hosts`: the number of each member's.
    """
    every, out = range(len(families)), 0.0
    for last in chain.from_iterable(combinations(every, number) for number in range(1, len(families))):
        first = [i for i in every if i not in last]
        moving, reducing, (s, r) = [families[i] for i in first], [families[i] for i in last], (size(first), size(last))
        hidden, odd = divmod(members, s * r)
        if odd or hidden == 0 or r == 1:
            continue
        if s > 1:
            out = max(out, shards(moving, reducing, (s, r), hosts, hidden))
        if hidden > 1 and all(one.shape in ("pair", "path", "cycle") for family in moving for one in family):
            out = max(out, shards(moving, reducing, (s * hidden, r), hosts))  # a ring goes on through hosts
    return out or c.NO_SHARDS * crossing(families, size)


def crossing(families: Sequence[Family], size: Callable[[Sequence[int]], int]) -> bool:
    """Check whether groups of some families cross that are not rounds of one collective; `size`: as in `sharded`."""
    apart = [(i, j) for i, j in combinations(range(len(families)), 2) if not are_rounds(families[i], families[j])]
    return any(size((i, j)) > max(size((i,)), size((j,))) for i, j in apart)


def parted(families: Sequence[Family], size: Callable[[Sequence[int]], int]) -> bool:
    """Check whether a family reduces within parts of the groups of another, as only gradients of experts do.

    It does so in rings or cliques, or in pairs beside a ring; other pairs may be levels of halving. `size`: as in `sharded`.
    """
    for i, j in permutations(range(len(families)), 2):
        part, whole = families[i], families[j]
        closed = part[0].form in ("one cycle", "two clique") or (part[0].form, whole[0].form) == ("two pair", "one cycle")
        if closed and not part.opened and size((i,)) < size((j,)) == size((i, j)):
            return True
    return False


def are_rounds(one: Family, other: Family, *, branches: bool = False) -> bool:
    """Whether families are rounds of one reduction, such as levels of halving: they move as often, in as much of the step, and
    pairs move as much, or half, or a quarter.

    What their rhythm shows of the kind is one observation, not several. `branches`: whether they are parts of a tree instead;
    where hosts hide what is between, rings of several dimensions look alike.
    """
    alike = {one[0].form, other[0].form} <= (c.BRANCHES if branches else c.ROUNDS)
    both = alike and max(one[0].lead, other[0].lead) <= c.AROUND
    often = abs(np.log(one.rhythm.runs / other.rhythm.runs)) < c.ALIKE_RUNS
    halved = not (one[0].form == other[0].form == "two pair") or _in_doublings(one.octets / len(one), other.octets / len(other))
    return bool(both and often and halved and abs(one.rhythm.spread - other.rhythm.spread) < c.ALIKE_SPREAD)


def _in_doublings(one: float, other: float) -> bool:
    """Check whether one number is the other, doubled some times: octets of two rounds of one halving, or doubling.

    Within half of `EQUAL_VOLUME`, so one of seven other pairs passes by chance.
    """
    doublings = np.log2(one / other)
    return bool(abs(doublings - round(doublings)) * np.log(2) < c.EQUAL_VOLUME / 2)


def shards(
    moving: Sequence[Family], reducing: Sequence[Family], sizes: tuple[int, int], hosts: Sequence[int], hidden: int = 1
) -> float:
    """Return how clearly families move shards of a model, and others reduce each among its replicas; 0 if not at all.

    Per step, shards are gathered once or twice (again for the backward pass), and scattered once as gradients; each replica
    then reduces its own shard, so no more often. The first move 2 … 3 times what a gather takes, (s − 1) / s of the model per
    rank. Gloo scatters by a reduction of all gradients, which takes one more; who scatters by doubling sends (s − 2^i) / s of
    the gradients in round i. Evaluations only gather; then usual steps count. It is clearest if all layers are gathered as
    often, and messages of one side are whole parts of the other's. Both sides may have several families: levels of halving, or
    gathers beside scatters. `sizes`: s and r, the members of a group that shards the model, and of one of replicas. Where each
    member stands for as many as `hidden` in its host, of which the wire shows the outer rounds only, nothing else counts.
    """
    (s, r), (one, other) = sizes, (max(own, key=lambda family: family.octets) for own in (moving, reducing))
    a, b = _sent_by_rank(moving, s, hosts), _sent_by_rank(reducing, r, hosts)
    runs = [max(family.rhythm.runs for family in own) for own in (moving, reducing)]
    doubling = np.log2(s) * s / (s - 1) - 2 if any(family[0].form in c.ROUNDS for family in moving) else 0.0
    most, out = c.SHARD_MOVES[1] + max(doubling, float(one[0].bursts)), 0.0
    whole = one[0].equal and other[0].equal and _whole(one.size, other.size)
    for per_shard, inside in product(_sent_to_reduce(other, r), {hidden, 1 if other[0].form in c.ROUNDS else hidden}):
        times = a / (s - 1) * per_shard / b / inside
        if times > most * (1 + c.FEW_OCTETS):
            usual = [_sent_by_rank(own, n, hosts, in_step=True) for own, n in ((moving, s), (reducing, r))]
            times *= usual[0] / a * b / max(usual[1], 1.0)
        if c.SHARD_MOVES[0] * (1 - c.FEW_OCTETS) <= times <= most * (1 + c.FEW_OCTETS) and runs[0] * c.AS_OFTEN > runs[1]:
            exact = abs(times - round(times)) <= c.FEW_OCTETS * times
            out = max(out, c.CLEAR_SHARDS if whole and exact else float(hidden == 1))
    return out


def _sent_by_rank(families: Sequence[Family], members: int, hosts: Sequence[int], *, in_step: bool = False) -> float:
    """Octets that each rank sends in groups of so many members, or `in_step` those of a usual step. Where hosts hide some, what
    all channels carry between two hosts is what each sends, both ways: rings that gather may turn one way, and rings that
    scatter the other.
    """

    def ranks(one: Communicator) -> int:
        hops = min(len(undirected(one.edges)), max(len({hosts[member] for member in one.members}), 2))
        return len(one.members) if len(one.members) >= members else hops

    def octets(family: Family) -> float:
        return sum(rhythm.octets for one in family for rhythm in one.rhythms) if in_step else family.octets

    return sum(octets(family) / sum(map(ranks, family)) for family in families)


def _sent_to_reduce(family: Family, members: int) -> set[float]:
    """What each of so many members sends to reduce something, in its size: rings, trees and halving, or doubling."""
    halved = 2 * (members - 1) / members
    return {halved, float(np.log2(members))} if family[0].form in c.ROUNDS else {halved}


def _whole(one: float, other: float) -> bool:
    ratio = max(one, other) / min(one, other)
    return abs(ratio - round(ratio)) < c.SAME_RATIO * ratio
