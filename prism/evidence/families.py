"""Group communicators of one form and rhythm into families. All communicators of a family have one kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from statistics import median

import numpy as np
from numpy.typing import NDArray

from prism.evidence import constants as c
from prism.evidence.communicators import Communicator, components, joined
from prism.evidence.member_graphs import Pair, connected
from prism.evidence.step_period import Steps
from prism.evidence.stream_periods import Rhythm, resolved_spread
from prism.evidence.streams import Stream
from prism.loops.arrays.group_sums import on_end
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
    def usual(self) -> dict[str, float]:
        """Median of each property by which its communicators are told apart."""
        names = ("overlap", "lead", "behind", "sizes", "doubled")
        return {name: float(median([getattr(one, name) for one in self])) for name in names}

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
        short = one.shape == "pair" or one.form == "two path"  # pipelines; one way, a path is part of a ring
        by[one.way if short else one.form, one.equal and not (short and summed), 0 if short else len(one.members)].append(one)
    every = [part for own in by.values() for family in _alike(own) for part in _joined_parts(family, steps, hosts)]
    return sorted(every, key=lambda family: -family.octets)


def _alike(own: Sequence[Communicator]) -> list[Family]:
    """Group communicators with similar messages (number and size) and alternation, or with equal messages."""
    messages = np.log([one.rhythm.messages for one in own])
    sizes = np.log([one.size for one in own])
    spread = np.log([resolved_spread(one.rhythm) for one in own])
    turn = np.array([(2 * one.overlap >= 1) * (1 + (one.shape == "pair") * len(one.members)) for one in own])
    alike = []
    for i in range(1, len(own)):
        distance, size_distance = np.abs(messages[:i] - messages[i]), np.abs(sizes[:i] - sizes[i])
        near = (distance < c.LIKE_MESSAGES) & (size_distance < c.MAGNITUDE) & (turn[:i] == turn[i])
        near |= (distance < c.EQUAL_VOLUME) & (size_distance < c.ONE_CLASS_SIZE)
        near &= np.abs(spread[:i] - spread[i]) < c.MAGNITUDE
        alike.append(np.flatnonzero(near))
    others, bounds = on_end(alike)
    part = connected(len(own), np.stack([np.repeat(np.arange(1, len(own)), np.diff(bounds)), others], axis=1))
    return [Family(own[i] for i in np.flatnonzero(part == number).tolist()) for number in np.unique(part)]


def _joined_parts(family: Family, steps: Steps, hosts: Sequence[int]) -> list[Family]:
    """Divide pairs and paths that touch into stages and others, and join those that form cliques, cubes or longer chains.

    Stages hand over: one direction leads. The others reduce or exchange context: they move other sizes or octets than stages
    (the chunks of a library have one size), or all move both ways at once. Cliques are all-to-all in unequal sizes, cubes are
    halving.
    """
    if len(family) < 2 or family[0].way != "two":
        return [family]
    parts = components(family, len(hosts))
    if len(parts) == len(family):
        return [family]
    ahead, beside = (Family(one for one in family if (one.lead > c.AROUND) == leads) for leads in (True, False))
    apart = _apart(ahead, beside, "size") > c.ONE_CLASS_SIZE or _apart(ahead, beside, "octets") > c.EQUAL_VOLUME
    at_once = min((one.overlap for one in beside), default=0.0) >= 0.5 > max((one.overlap for one in ahead), default=1.0)
    if ahead and beside and (apart or at_once):
        return [part for own in (ahead, beside) for part in _joined_parts(own, steps, hosts)]
    out = Family(joined(part, steps, hosts) for part in parts)
    shaped = all(one.shape in ("clique", "cube", "path") or len(one.members) == 2 for one in out)
    return [out] if shaped else _in_two_sizes(family, len(hosts)) or [family]


def _in_two_sizes(family: Family, members: int) -> list[Family] | None:
    """Divide pairs that touch into two families by the size of their messages, or by octets, if the pairs of neither touch.

    One operation runs more often, or joins some of the members only, as the ends of pipelines exchange the gradients of tied
    embeddings. Rounds of one operation, such as exchanges with both neighbours, do not: all members take part in each.
    """
    if any(one.shape != "pair" for one in family):
        return None
    for what in ("size", "octets"):
        ordered = sorted(family, key=lambda one: float(getattr(one, what)))
        jumps = np.diff(np.log([getattr(one, what) for one in ordered]))
        largest = int(np.argmax(jumps)) + 1
        parts = [Family(ordered[:largest]), Family(ordered[largest:])]
        pairs = all(len(components(own, members)) == len(own) for own in parts)
        fewer, more = sorted(own.rhythm.runs for own in parts)
        some = len(parts[0]) != len(parts[1])
        if pairs and jumps[largest - 1] > c.ONE_CLASS_SIZE and (some or more > fewer * np.exp(c.ALIKE_RUNS)):
            return parts
    return None


def _apart(one: Family, other: Family, what: str) -> float:
    """Smallest difference of logarithms of a property between two families."""
    values = (np.log([getattr(each, what) for each in part]) for part in (one, other))
    return float(np.abs(np.subtract.outer(*values)).min(initial=np.inf))
