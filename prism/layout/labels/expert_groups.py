"""What all ranks of a reduction move beside it: experts' tokens are exchanged among them, or context goes around."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

import numpy as np

from collectors.columns.record import Flows
from prism.layout.labels.rest_times import beat_of, goes_with, rest_of
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
    """What the collectives of all members of a reduction, by `id`, are for that reduce no gradients."""
    out: dict[int, GroupKind] = {}
    for members in reductions:
        if len(own := by_set[members]) > 1:
            exchanged = _exchanged(flows, own, step, host)
            out |= {id(one): "ep" for one in exchanged} if exchanged else {id(one): "cp" for one in _goes_around(flows, own)}
    return out


def _exchanged(flows: Flows, own: list[Collective], step: float, host: Mapping[int, str | None]) -> list[Collective]:
    """Those of some collectives of the same members that exchange experts' tokens.

    In these each member talks to more than to its neighbours, beside others that only do to these, and at other times.
    """
    many = [one for one in own if dense(one, host)]
    rings = [one for one in own if one not in many]
    if not many or not rings or len(own[0].members) <= 3:
        return []
    calm = max(rest_of(beat_of(flows, [one]), step) for one in rings)
    return [] if goes_with(flows, many, rings, calm, step) else many


def _goes_around(
    flows: Flows, own: list[Collective], *, same: float = 0.15, equal: float = 0.005, least: float = 0.2, few: int = 4
) -> list[Collective]:
    """Those of some collectives of the same members in which context goes around: gradients are reduced in the one that comes
    again last, or of those that come as often (`same`), that rests longest.

    It goes around one way, `least` of it while no gradients are reduced, and not all at once there. What it moves in a step has
    to do with them in sharded models only, which gather parameters: as much as is reduced, some of it twice, numbers of another
    length, or as often as micro-batches come. So it is no multiple within the share `equal`, and more than twice as much, less
    than half, or in pieces of one size that do not make up the gradients (`_of_another_size`).
    """
    beats = [beat_of(flows, [one]) for one in own]
    slowest = max(beat.period_ns for beat in beats)
    calm = max(beats, key=lambda beat: (beat.period_ns >= (1 - same) * slowest, beat.rest))
    if len(calm.quiet) < few or len(own[0].members) < 3:
        return []
    ends = calm.quiet[:, 0]
    reduced = _by_step(flows, own[beats.index(calm)], ends)
    out = list[Collective]()
    for one, beat in zip(own, beats, strict=True):
        times = _by_step(flows, one, ends) / max(reduced, 1.0)
        whole = abs(times - round(times)) <= equal * times
        if beat is not calm and _one_way(one) and not whole and _spread(flows, one, calm) >= least:
            near = (1 - equal) / 2 <= times <= 2 * (1 + equal)
            out += [one] if not near or _of_another_size(flows, one, reduced, equal) else []
    return out


def _of_another_size(flows: Flows, one: Collective, reduced: float, equal: float, *, share: float = 0.95) -> bool:
    """Whether a collective moves pieces of one size, several at once now and then, and that many octets `reduced` in a step are
    no number of them, nor of half or a quarter of one: a gathered layer is as large as its gradients, but for numbers' length.
    """
    edges = edges_of(flows, one.rows).values()
    pieces = np.concatenate([edge.bursts() for edge in edges])
    size = at_half(pieces, pieces)
    alike = np.abs(pieces / size - np.rint(pieces / size)) <= equal
    many = 4 * reduced / (size * len(edges))
    return bool(pieces[alike].sum() >= share * pieces.sum() and abs(many - round(many)) > equal * many)


def _one_way(one: Collective) -> bool:
    """Whether nobody answers whoever sends to it."""
    ways = {key[:2] for key in one.edges}
    return not any(way[::-1] in ways for way in ways)


def _by_step(flows: Flows, one: Collective, ends: Ints) -> float:
    """The octets that a collective usually moves in a step, of which each is over at one of `ends`."""
    step = np.searchsorted(ends, sending(flows)[one.rows])
    return median(np.bincount(step, flows.octets[one.rows], len(ends) + 1)[1:-1])


def _spread(flows: Flows, one: Collective, calm: Rhythm) -> float:
    """How much of what a collective moves it moves while another rests, or for how much of that rest, from the first tenth of
    it to the last; what is less.
    """
    start, octets = sending(flows)[one.rows], flows.octets[one.rows]
    begins, ends = calm.quiet[:-1].T
    place = np.searchsorted(begins, start, "right") - 1
    known = (place >= 0) & (start < calm.quiet[-1, 0])
    inside = known & (start < ends[place])
    if not inside.any():
        return 0.0
    when = ((start - begins[place]) / (ends - begins)[place])[inside]
    order = np.argsort(when)
    moved = np.cumsum(octets[inside][order])
    first, last = when[order][np.searchsorted(moved, [0.1 * moved[-1], 0.9 * moved[-1]])]
    return float(min(octets[inside].sum() / octets[known].sum(), last - first))


def dense(one: Collective, host: Mapping[int, str | None]) -> bool:
    """Whether members talk to more than neighbours in rings and cubes do: nearer to all of them. Inside a `host` they may."""
    near = set(map(frozenset, neighbours(one.members, host)))
    n = len(one.members)
    return bool(2 * len(partners(one) | near) > n * max(1.0, np.log2(n) / 2) + n * (n - 1) / 2)


def neighbours(members: Iterable[int], host: Mapping[int, str | None]) -> Iterator[tuple[int, int]]:
    """Every two that share a host."""
    at: dict[str, list[int]] = defaultdict(list)
    for member in members:
        if (home := host.get(member)) is not None:
            at[home].append(member)
    return (pair for own in at.values() for pair in combinations(own, 2))


def partners(one: Collective) -> set[Members]:
    """Who talks to whom, whichever way."""
    return {frozenset(ends(key)) for key in one.edges}
