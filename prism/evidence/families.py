"""Group communicators of one form and rhythm into families. All communicators of a family have one kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from prism.evidence import constants as c
from prism.evidence.communicators import Communicator, components, joined
from prism.evidence.member_graphs import Pair, connected
from prism.evidence.step_period import Steps
from prism.evidence.stream_periods import Rhythm, resolved_spread
from prism.evidence.streams import Stream
from prism.loops.arrays.intervals import weighted_median


class Family(tuple[Communicator, ...]):
    """Communicators of one form and rhythm, with cached totals; a key by its identity."""

    __hash__ = object.__hash__

    @cached_property
    def octets(self) -> float:
        """Octets of all its communicators."""
        return sum(one.octets for one in self)

    @cached_property
    def size(self) -> float:
        """Median message size of its communicators, octets."""
        return weighted_median(*np.array([(one.size, one.octets) for one in self]).T.copy())

    @cached_property
    def rhythm(self) -> Rhythm:
        """Median of each property of the rhythms of its communicators."""
        return Rhythm(*np.median([one.rhythm for one in self], axis=0).tolist())

    @cached_property
    def opened(self) -> bool:
        """Whether some of its communicators continue inside hosts."""
        return any(one.opened for one in self)

    @cached_property
    def edges(self) -> dict[Pair, float]:
        """Octets by directed pair."""
        out: dict[Pair, float] = defaultdict(float)
        for one in self:
            for pair, octets in one.edges.items():
                out[pair] += octets
        return out

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Both ends of each edge; int64[edges, 2]."""
        return np.array(list(self.edges), np.int64).reshape(-1, 2)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Octets of each edge, in order of `ends`; float64[edges]."""
        return np.fromiter(self.edges.values(), np.float64, len(self.edges))

    @cached_property
    def varying(self) -> dict[int, NDArray[np.float64]]:
        """Sizes of the messages that each member sends, in order of time, if they vary; none if records are bursts."""
        sent: dict[int, list[Stream]] = defaultdict(list)
        for s in (s for one in self for s in one.streams if not (s.equal or s.bursts)):
            sent[s.src].append(s)
        starts, octets = (
            {m: np.concatenate([getattr(s, n) for s in own]) for m, own in sent.items()} for n in ("start", "octets")
        )
        return {member: own[np.argsort(starts[member])] for member, own in octets.items()}

    @cached_property
    def joins(self) -> NDArray[np.int64]:
        """Pairs that join the members of each communicator; int64[n, 2]."""
        return np.concatenate([one.joins for one in self])


def families(communicators: Sequence[Communicator], steps: Steps, hosts: Sequence[int]) -> list[Family]:
    """Group the communicators of one job into families, largest first. `hosts`: number of the host of each member."""
    by: dict[tuple[object, ...], list[Communicator]] = defaultdict(list)
    summed = any(one.bursts for one in communicators)  # then messages look equal only where each is a record of its own
    for one in communicators:
        short = one.shape in ("pair", "path")
        by[one.way if short else one.form, one.equal and not (short and summed), 0 if short else len(one.members)].append(one)
    out: list[Family] = [part for own in by.values() for part in _alike(own)]
    out = [_joined_parts(family, steps, hosts) for family in out]
    return sorted(_rounds_joined(out, steps, hosts), key=lambda family: -family.octets)


def _alike(own: list[Communicator]) -> list[Family]:
    """Group communicators with similar messages (number and size) and alternation, or with equal messages."""
    messages = np.log([one.rhythm.messages for one in own])
    sizes = np.log([one.size for one in own])
    spread = np.log([resolved_spread(one.rhythm) for one in own])
    turn = np.array([(one.overlap >= c.HALF) * (1 + (one.shape == "pair") * len(one.members)) for one in own])
    pairs: list[Pair] = []
    for i in range(1, len(own)):
        distance, size_distance = np.abs(messages[:i] - messages[i]), np.abs(sizes[:i] - sizes[i])
        near = (distance < c.LIKE_MESSAGES) & (size_distance < c.MAGNITUDE) & (turn[:i] == turn[i])
        near |= (distance < c.EQUAL_VOLUME) & (size_distance < c.ONE_CLASS_SIZE)
        near &= np.abs(spread[:i] - spread[i]) < c.MAGNITUDE
        pairs += [(i, k) for k in np.flatnonzero(near).tolist()]
    part = connected(len(own), pairs)
    return [Family(own[i] for i in np.flatnonzero(part == number).tolist()) for number in np.unique(part)]


def _rounds_joined(found: list[Family], steps: Steps, hosts: Sequence[int]) -> list[Family]:
    """Join families that are rounds of one collective: halving among ranks that are no power of two, or Bruck's algorithm."""
    pairs = [(i, k) for k in range(len(found)) for i in range(k) if _are_rounds(found[i], found[k], len(hosts))]
    part = connected(len(found), pairs)
    out = []
    for number in np.unique(part):
        own = [found[i] for i in np.flatnonzero(part == number)]
        if len(own) == 1:
            out += own
            continue
        groups = components([one for family in own for one in family], len(hosts))
        whole = [joined(group, steps, hosts) for group in groups]
        out.append(
            Family(replace(one, way="two", shape="cube") if one.shape in ("other", "tree", "path") else one for one in whole)
        )
    return out


def _are_rounds(one: Family, other: Family, members: int) -> bool:
    """Check whether two families may be rounds of one collective: sizes are a whole ratio, and each round follows another.

    A round of n blocks is n times as large as one of a block. Rings of one size are several rings.
    """
    if any(own[0].bursts or not own[0].equal for own in (one, other)):
        return False
    ratio = max(one.size / other.size, other.size / one.size)
    if abs(ratio - round(ratio)) > c.ONE_CLASS_SIZE * ratio or ratio > members:
        return False
    rings = "one cycle" in (one[0].form, other[0].form)
    return not (rings and round(ratio) == 1) and _follows(one, other) and _follows(other, one)


def _follows(one: Family, other: Family) -> bool:
    """Check whether most messages of a family are next to one of the other at the same member, within a duration."""
    at: dict[int, list[Stream]] = defaultdict(list)
    for each in other:
        for s in each.streams:
            for end in s.pair:
                at[end].append(s)
    touching = [(s, at[end]) for each in one for s in each.streams for end in s.pair if at[end]]
    gaps = [_gap(s, near) for s, near in touching[:: max(1, len(touching) // c.PAIRS_TRIED)]]
    return bool(gaps) and float(np.median(gaps)) < 1


def _gap(stream: Stream, others: Sequence[Stream]) -> float:
    """Median time from the messages of a stream to the nearest message of the others, in durations of the longer ones."""
    start, end = (np.concatenate([getattr(s, name) for s in others]) for name in ("start", "end"))
    order = np.argsort(start)
    duration = max(float(np.median(stream.end - stream.start)), float(np.median(end - start)), 1.0)
    start, end = start[order], np.maximum.accumulate(end[order])
    after = np.searchsorted(start, stream.end)
    later = np.append(start, np.inf)[after] - stream.end
    earlier = stream.start - np.append(-np.inf, end)[after]
    return float(np.median(np.maximum(np.minimum(later, earlier), 0.0))) / duration


def _joined_parts(family: Family, steps: Steps, hosts: Sequence[int]) -> Family:
    """Join pairs and paths that form cliques (all-to-all in unequal sizes), cubes (halving) or longer chains."""
    if len(family) < 2 or family[0].way != "two":
        return family
    parts = components(family, len(hosts))
    if len(parts) == len(family):
        return family
    out = Family(joined(part, steps, hosts) for part in parts)
    fits = all(one.shape in ("clique", "cube", "path") or len(one.members) == 2 for one in out)
    return out if fits else family
