"""Compare families: rounds of one collective, shards and their replicas have message sizes in simple ratios."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import chain, combinations

from prism.evidence.families import Family
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


def sharded(families: Sequence[Family], members: int, size: Callable[[Sequence[int]], int]) -> float:
    """Return how clearly some of the families move shards, and the others reduce replicas of each; 0 if not at all.

    The largest family moves shards: twice or more what each replica reduces. `members`: of all replicas of a model. `size`:
    members of the groups that some families join.
    """
    order, out = sorted(range(len(families)), key=lambda i: -families[i].octets), 0.0
    for last in chain.from_iterable(combinations(order[1:], number) for number in range(1, len(order))):
        first = [i for i in order if i not in last]
        sizes = size(sorted(first)), size(sorted(last))
        hidden, odd = divmod(members, sizes[0] * sizes[1])
        if hidden and not odd and min(sizes) > 1:
            out = max(out, shards([families[i] for i in first], [families[i] for i in last], sizes, hidden))
    return out


def shards(moving: Sequence[Family], reducing: Sequence[Family], sizes: tuple[int, int], hidden: int = 1) -> float:
    """Return how clearly families move shards of a model, and others reduce each among its replicas; 0 if not at all.

    Per step, shards are gathered once or twice (again for the backward pass), and scattered once as gradients; each replica
    then reduces its own shard. So the first move 2 … 3 times what a gather takes, (s − 1) / s of the model per rank. Gloo
    scatters by a reduction of all gradients, which takes one more. It is clearest if all layers are gathered as often, and
    messages of one side are whole parts of the other's. Both sides may have several families: levels of halving, or gathers
    beside scatters. `sizes`: s and r, the members of a group that shards the model, and of one of replicas. Where each member
    stands for as many as `hidden` in its host, of which the wire shows the outer rounds only, nothing else counts.
    """
    (s, r), (one, other) = sizes, (max(own, key=lambda family: family.octets) for own in (moving, reducing))
    a, b = (sum(family.octets / sum(len(each.members) for each in family) for family in own) for own in (moving, reducing))
    times, most = a / (s - 1) * 2 * (r - 1) / (b * r) / hidden, c.SHARD_MOVES[1] + one[0].bursts
    if not c.SHARD_MOVES[0] * (1 - c.FEW_OCTETS) <= times <= most * (1 + c.FEW_OCTETS):
        return 0.0
    whole = one[0].equal and other[0].equal and max(one.size, other.size) > c.AS_OFTEN * min(one.size, other.size)
    exact = abs(times - round(times)) <= c.FEW_OCTETS * times
    return c.CLEAR_SHARDS if whole and exact and _whole(one.size, other.size) else float(hidden == 1)


def _whole(one: float, other: float) -> bool:
    ratio = max(one, other) / min(one, other)
    return abs(ratio - round(ratio)) < c.SAME_RATIO * ratio
