"""Find communicators: connected streams of equal volume, and the shape of each.

All edges of one collective carry equal volumes. So equal streams that share an endpoint are one communicator, and different
collectives separate. The pairs of a pipeline carry equal volumes, too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from statistics import median

import numpy as np
from numpy.typing import NDArray

from prism.evidence import constants as c
from prism.evidence._stream_classes import stream_classes
from prism.evidence.collective_rounds import joined_rounds
from prism.evidence.member_graphs import Pair, connected, imbalance, weighted_medians
from prism.evidence.shapes import Shape, Way, across, shape_of, undirected
from prism.evidence.step_period import Steps
from prism.evidence.stream_periods import Rhythm, Rhythms
from prism.evidence.streams import Stream
from prism.evidence.turn_taking import apart, behind, overlap
from prism.loops.arrays.intervals import weighted_median


@dataclass(frozen=True, eq=False)
class Communicator:
    """Streams with equal messages.

    `by_pair`: streams by sender and receiver; `edges`: octets of each such pair; `pairs`: those that exchange in either
    direction, the lower member first. `way`: "two" if both directions of its pairs carry similar octets; then `overlap` is the
    share that moves at the same time, `lead` how far one direction leads in the step, and `behind` by how many runs. `levels`:
    its streams are rounds of several sizes.
    """

    streams: tuple[Stream, ...]
    rhythms: tuple[Rhythm, ...]  # one per stream
    by_pair: Mapping[Pair, list[Stream]]
    edges: Mapping[Pair, float]
    pairs: set[Pair]
    members: frozenset[int]
    rhythm: Rhythm
    way: Way = "one"
    shape: Shape = "other"
    overlap: float = 0.0
    lead: float = 0.0
    behind: float = 0.0
    levels: bool = False

    @property
    def moving(self) -> Iterator[tuple[Stream, Rhythm]]:
        """Its streams, each with its rhythm."""
        return zip(self.streams, self.rhythms, strict=True)

    @cached_property
    def octets(self) -> float:
        """Octets in both directions of all pairs."""
        return sum(self.edges.values())

    @cached_property
    def size(self) -> float:
        """Median message size, octets."""
        return weighted_median(*np.array([(s.size, s.volume) for s in self.streams]).T.copy())

    @cached_property
    def joins(self) -> NDArray[np.int64]:
        """Return the fewest pairs that connect all members, int64[n, 2]. Use them where only connectivity matters."""
        own = np.sort(np.fromiter(self.members, np.int64, len(self.members)))
        return np.stack([own[:-1], own[1:]], axis=1)

    @cached_property
    def sizes(self) -> float:
        """Median number of distinct message sizes of its edges; 1 if records are bursts. Experts send many."""
        if self.bursts:
            return 1.0
        every = ([np.round(np.log(s.octets) / c.DISTINCT_SIZE) for s in own] for own in self.by_pair.values())
        return float(np.median([len(np.unique(np.concatenate(own))) for own in every]))

    @cached_property
    def rounds(self) -> int:
        """Messages of most pairs per step; 0 if they vary, or if records are bursts. A ring has a multiple of its hops.

        Some pairs may carry a round of another algorithm, too; the mean of two numbers would be that of no ring.
        """
        moved: dict[Pair, float] = defaultdict(float)
        for s, rhythm in self.moving:
            moved[s.pair] += rhythm.messages if rhythm.sure and not s.bursts else np.nan
        number, often = Counter(moved.values()).most_common(1)[0]
        return int(number) if float(number).is_integer() and 2 * often > len(moved) else 0

    @cached_property
    def doubled(self) -> float:
        """Share of the edges with messages of one size and as many of twice that size: backward passes of ring attention.

        They pass on keys and values with their gradients.
        """
        equal = [own for every in self.by_pair.values() if (own := [s for s in every if s.equal])]
        return sum(any(_is_double(a, b) for a in own for b in own) for own in equal) / max(len(equal), 1)

    @cached_property
    def opened(self) -> bool:
        """Whether it enters a host at one member and leaves it at another: it continues inside hosts."""
        return self.way == "one" and imbalance(self.edges) > c.OPEN

    @property
    def form(self) -> str:
        """Way and shape as two words, for example "one cycle"."""
        return f"{self.way} {self.shape}"

    @property
    def bursts(self) -> bool:
        """Whether its records are bursts of TCP."""
        return self.streams[0].bursts

    @cached_property
    def equal(self) -> bool:
        """Whether most of its octets move in messages of one size."""
        return 2 * sum(s.volume for s in self.streams if s.equal) > sum(s.volume for s in self.streams)


def _is_double(one: Stream, other: Stream) -> bool:
    """Check whether one stream has messages twice as large as the other's, and as many."""
    number = abs(np.log(len(one.rows) / len(other.rows)))
    return bool(abs(np.log(one.size / other.size / 2)) < c.ONE_CLASS_SIZE and number < c.EQUAL_VOLUME)


def communicators(
    streams: Sequence[Stream],
    rhythms: Rhythms,
    steps: Steps,
    hosts: Sequence[int],
    links: Callable[[NDArray[np.int64]], NDArray[np.int64]] | None = None,
) -> list[Communicator]:
    """Find communicators: the connected components of each class of equal streams, largest first.

    `rhythms` maps the identity of a stream to its rhythm. `hosts` is the number of each member's host. `links` maps the pairs
    of equal streams to pairs of members of one host, inside which these streams continue; both int64[n, 2].
    """
    found = []
    classes = stream_classes(streams, rhythms)
    one_class = {id(s): i for i, own in enumerate(classes) for s in own}
    for own in joined_rounds(classes, rhythms, len(hosts)):
        ends = np.array([s.pair for s in own], np.int64)
        part = connected(len(hosts), ends if links is None else np.concatenate([ends, links(ends)]))
        by: dict[int, list[Stream]] = defaultdict(list)
        for s in own:
            by[int(part[s.src])].append(s)
        levels = len({one_class[id(s)] for s in own}) > 1
        found += [_of([(s, rhythms[id(s)]) for s in together], levels) for together in by.values()]
    found.sort(key=lambda one: (-len(one.edges), -one.octets))
    merged = [formed(one, steps, hosts) for one in _merged(found, steps)]
    return _untangled(_both_ways(merged, steps, hosts), steps, hosts)


def _of(moving: Sequence[tuple[Stream, Rhythm]], levels: bool = False) -> Communicator:
    by: dict[Pair, list[Stream]] = defaultdict(list)
    streams, rhythms = zip(*moving, strict=True)
    for s in streams:
        by[s.pair].append(s)
    edges = {pair: sum([s.volume for s in own]) for pair, own in by.items()}
    members = frozenset(chain.from_iterable(edges))
    rhythm = Rhythm(*weighted_medians(np.array(rhythms), [s.volume for s in streams])) if len(rhythms) > 1 else rhythms[0]
    return Communicator(streams, rhythms, by, edges, undirected(edges), members, rhythm, levels=levels)


def _merged(found: list[Communicator], steps: Steps) -> list[Communicator]:
    """Merge communicators on the same edges with similar rhythm: collectives of several sizes in one group."""
    out: list[Communicator] = []
    at: dict[Pair, list[int]] = defaultdict(list)
    for one in found:
        near = Counter(i for pair in one.pairs for i in at[pair])
        same = next((i for i in sorted(near) if near[i] == len(one.pairs) and _are_alike(one, out[i], steps)), None)
        if same is not None:
            out[same] = _of([*out[same].moving, *one.moving], out[same].levels or one.levels)
        else:
            for pair in one.pairs:
                at[pair].append(len(out))
            out.append(one)
    return out


def _are_alike(one: Communicator, other: Communicator, steps: Steps) -> bool:
    """Check whether communicators, one of which has all pairs of the other, are one ring or have similar runs per step.

    Two stages that hand over may also exchange the gradients of tied embeddings: only of the first does one direction lead.
    """
    if len(one.pairs) != len(other.pairs):
        return False
    ring = len(one.edges) == len(one.pairs) >= c.TRIANGLE and one.edges.keys() == other.edges.keys()
    runs = one.rhythm.runs, other.rhythm.runs
    if not ring and len(one.edges) == len(other.edges) == 2 == 2 * len(one.pairs) and runs[0] != runs[1]:
        return max(runs) <= 3 * min(runs) + 2 and _leads(one, steps) == _leads(other, steps)
    return ring or max(runs) <= 3 * min(runs) + 2


def _leads(pair: Communicator, steps: Steps) -> bool:
    """Whether one direction of a pair's traffic leads the other."""
    forth, back = pair.by_pair.values()
    return apart(forth, back, steps) > c.AROUND


def formed(communicator: Communicator, steps: Steps, hosts: Sequence[int]) -> Communicator:
    """Add the form: whether both directions are used, and the shape of the graph."""
    pairs, edges, by = communicator.pairs, communicator.edges, communicator.by_pair
    forth_and_back = [pair for pair in pairs if pair in edges and pair[::-1] in edges]
    both = [pair for pair in forth_and_back if 1 / c.TWO_WAYS <= edges[pair] / edges[pair[::-1]] <= c.TWO_WAYS]
    more_than_half = len(edges) > across(communicator.members, hosts)  # of all directed pairs
    everywhere = len(communicator.members) > c.TRIANGLE and more_than_half
    if len(both) >= c.MOST_PAIRS * len(pairs) or (everywhere and not communicator.equal):
        both = both or forth_and_back
        sample = both[:: max(1, len(both) // c.PAIRS_TRIED)]
        overlaps = median([overlap(by[p], by[p[::-1]]) for p in sample])
        ahead = median([apart(by[p], by[p[::-1]], steps) for p in sample])
        turn = median([behind(by[p], by[p[::-1]]) for p in sample])
        communicator = replace(communicator, way="two", overlap=overlaps, lead=ahead, behind=turn)
    shape = shape_of(pairs, communicator.members, communicator.way, hosts)
    if communicator.levels and shape in ("other", "tree", "path"):
        return replace(communicator, way="two", shape="cube")
    return replace(communicator, shape=shape)


def _both_ways(found: Sequence[Communicator], steps: Steps, hosts: Sequence[int]) -> list[Communicator]:
    """Join one-way bursts that leave a member's traffic unbalanced, although its host hides nothing, with those the other way.

    What a stage hands over, and what it gets back, may take unlike shares of a step, and so be unlike bursts.
    """
    sizes = Counter(hosts)
    alone = {member for member, host in enumerate(hosts) if sizes[host] == 1}
    is_half = [one.bursts and one.opened and one.members <= alone for one in found]
    halves = [one for one, is_one in zip(found, is_half, strict=True) if is_one]
    back = {pair[::-1]: i for i, one in enumerate(halves) for pair in one.edges}
    part = connected(len(halves), [(i, back[pair]) for i, one in enumerate(halves) for pair in one.edges if pair in back])
    whole = [[one for one, number in zip(halves, part.tolist(), strict=True) if number == own] for own in np.unique(part)]
    others = [one for one, is_one in zip(found, is_half, strict=True) if not is_one]
    return others + [joined(own, steps, hosts) if len(own) > 1 else own[0] for own in whole]


def _untangled(found: list[Communicator], steps: Steps, hosts: Sequence[int]) -> list[Communicator]:
    """Assign tangled streams to regular communicators: equal streams of several groups can touch without being one group."""
    regular = sorted((one for one in found if one.shape not in ("other", "tree")), key=lambda one: len(one.edges))
    clean = {pair: one for one in regular for pair in one.edges}
    more: dict[int, list[tuple[Stream, Rhythm]]] = defaultdict(list)
    out = []
    for one in found:
        owners = {id(clean[pair]) for pair in one.edges if pair in clean}
        known = sum(pair in clean for pair in one.edges)
        tangled = one.shape in ("other", "tree") and len(one.edges) > len(one.members)
        if tangled and known >= c.NEARLY_ALL * len(one.edges) and len(owners) > 1:
            for s, rhythm in one.moving:
                if s.pair in clean:
                    more[id(clean[s.pair])].append((s, rhythm))
        else:
            out.append(one)
    return [formed(_of([*one.moving, *more[id(one)]], one.levels), steps, hosts) if more[id(one)] else one for one in out]


def joined(parts: Sequence[Communicator], steps: Steps, hosts: Sequence[int]) -> Communicator:
    """Join several communicators into one."""
    return formed(_of([own for one in parts for own in one.moving], any(one.levels for one in parts)), steps, hosts)


def components(parts: Sequence[Communicator], members: int) -> list[list[Communicator]]:
    """Group communicators that share members."""
    part = connected(members, [pair for one in parts for pair in one.edges])
    by: dict[int, list[Communicator]] = defaultdict(list)
    for one in parts:
        by[int(part[next(iter(one.members))])].append(one)
    return list(by.values())
