"""Separate traffic from gradient reductions of the same ranks: expert tokens or context."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

import numpy as np

from collectors.columns.record import Flows
from prism.layout import constants as c
from prism.layout.labels.collective_rhythms import idle_share, moves_with, rhythm_of
from prism.loops.arrays.edges import edges_of, ends, sending
from prism.loops.arrays.intervals import Ints, at_half
from prism.loops.arrays.medians import median
from prism.loops.communicators.pair_lockstep import Collective
from prism.loops.periods.stream_rhythm import Rhythm
from prism.model import GroupKind

Members = frozenset[int]


def beside(
    flows: Flows,
    by_set: Mapping[Members, list[Collective]],
    reductions: set[Members],
    step: float,
    host: Mapping[int, str | None],
) -> dict[int, GroupKind]:
    """Return the kinds of collectives that all members of a reduction take part in but that reduce no gradients, by `id`."""
    out: dict[int, GroupKind] = {}
    for members in reductions:
        if len(own := by_set[members]) > 1:
            exchanged = _exchanged(flows, own, step, host)
            out |= {id(one): "ep" for one in exchanged} if exchanged else {id(one): "cp" for one in _goes_around(flows, own)}
    return out


def _exchanged(flows: Flows, own: list[Collective], step: float, host: Mapping[int, str | None]) -> list[Collective]:
    """Return those collectives of the same members that exchange expert tokens.

    In them each member sends to more peers than its neighbours, at other times than the collectives that use neighbours only.
    """
    many = [one for one in own if dense(one, host)]
    rings = [one for one in own if one not in many]
    if not many or not rings or len(own[0].members) <= c.TRIANGLE:
        return []
    idle = max(idle_share(rhythm_of(flows, [one]), step) for one in rings)
    return [] if moves_with(flows, many, rings, idle, step) else many


def _goes_around(
    flows: Flows,
    own: list[Collective],
    *,
    same: float = c.SAME_PERIOD,
    equal: float = c.MULTIPLE,
    least: float = c.SPREAD_OUT,
    min_steps: int = c.FEW_STEPS,
) -> list[Collective]:
    """Return those collectives of the same members in which context travels around.

    Gradients are reduced in the collective with the longest period or, of those with about that period (`same`), the longest
    idle share. Context moves in one direction, at least `least` of it while no gradients are reduced, and spread over that
    time. In sharded models the octets per step relate to the gradients: parameters are gathered once or twice, in numbers of
    another length, or per micro-batch. So context is no multiple of the gradients within `equal`, and is more than twice or
    less than half of them, or has pieces of a size that does not divide them (`_of_another_size`).
    """
    rhythms = [rhythm_of(flows, [one]) for one in own]
    slowest = max(rhythm.period_ns for rhythm in rhythms)
    reduction = max(rhythms, key=lambda rhythm: (rhythm.period_ns >= (1 - same) * slowest, rhythm.rest))
    if len(reduction.quiet) < min_steps or len(own[0].members) < c.TRIANGLE:
        return []
    ends = reduction.quiet[:, 0]
    reduced = _by_step(flows, own[rhythms.index(reduction)], ends)
    out = list[Collective]()
    for one, rhythm in zip(own, rhythms, strict=True):
        times = _by_step(flows, one, ends) / max(reduced, 1.0)
        whole = abs(times - round(times)) <= equal * times
        if rhythm is not reduction and _one_way(one) and not whole and _spread(flows, one, reduction) >= least:
            near = (1 - equal) / 2 <= times <= 2 * (1 + equal)
            out += [one] if not near or _of_another_size(flows, one, reduced, equal) else []
    return out


def _of_another_size(flows: Flows, one: Collective, reduced: float, equal: float, *, share: float = c.NEARLY_ALL) -> bool:
    """Check whether a collective moves pieces of one size that does not divide the octets `reduced` per step.

    Half and quarter pieces are compared, too: a gathered layer is as large as its gradients except for the length of numbers.
    """
    edges = edges_of(flows, one.rows).values()
    pieces = np.concatenate([edge.bursts() for edge in edges])
    size = at_half(pieces, pieces)
    alike = np.abs(pieces / size - np.rint(pieces / size)) <= equal
    many = 4 * reduced / (size * len(edges))
    return bool(pieces[alike].sum() >= share * pieces.sum() and abs(many - round(many)) > equal * many)


def _one_way(one: Collective) -> bool:
    """Check whether no receiver ever sends to its sender."""
    ways = {key[:2] for key in one.edges}
    return not any(way[::-1] in ways for way in ways)


def _by_step(flows: Flows, one: Collective, ends: Ints) -> float:
    """Median octets that a collective moves in a step; `ends` are the ends of the steps."""
    step = np.searchsorted(ends, sending(flows)[one.rows])
    return median(np.bincount(step, flows.octets[one.rows], len(ends) + 1)[1:-1])


def _spread(flows: Flows, one: Collective, reduction: Rhythm) -> float:
    """Share of a collective's octets that move while another is idle, or the share of that idle time which they take.

    The time is from the first to the last tenth of the octets. The smaller of the two shares is returned.
    """
    start, octets = sending(flows)[one.rows], flows.octets[one.rows]
    begins, ends = reduction.quiet[:-1].T
    place = np.searchsorted(begins, start, "right") - 1
    known = (place >= 0) & (start < reduction.quiet[-1, 0])
    inside = known & (start < ends[place])
    if not inside.any():
        return 0.0
    when = ((start - begins[place]) / (ends - begins)[place])[inside]
    order = np.argsort(when)
    moved = np.cumsum(octets[inside][order])
    first, last = when[order][np.searchsorted(moved, [c.FIRST_TENTH * moved[-1], c.LAST_TENTH * moved[-1]])]
    return float(min(octets[inside].sum() / octets[known].sum(), last - first))


def dense(one: Collective, host: Mapping[int, str | None]) -> bool:
    """Check whether members send to more peers than in rings and cubes; peers on the same `host` count as reached."""
    near = set(map(frozenset, neighbours(one.members, host)))
    n = len(one.members)
    return bool(2 * len(partners(one) | near) > n * max(1.0, np.log2(n) / 2) + n * (n - 1) / 2)


def neighbours(members: Iterable[int], host: Mapping[int, str | None]) -> Iterator[tuple[int, int]]:
    """Yield every two members that share a host."""
    at: dict[str, list[int]] = defaultdict(list)
    for member in members:
        if (home := host.get(member)) is not None:
            at[home].append(member)
    return (pair for own in at.values() for pair in combinations(own, 2))


def partners(one: Collective) -> set[Members]:
    """Return the pairs that exchange traffic, in either direction."""
    return {frozenset(ends(key)) for key in one.edges}
