"""The beat of a cluster: a sample of its traffic, and marks of its steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from collectors.columns.record import Mask
from prism.evidence.step_period import steps_of
from prism.evidence.streams import Stream
from prism.jobs import constants as c
from prism.jobs.repetition import Floats, Ints, consistency, offsets, parts_of, shapes
from prism.loops.arrays.edges import Edge
from prism.loops.periods.stream_rhythm import Rhythm, choices, rhythm

CLEAR = 0.9  # quality at which no better marks are looked for; 1 is the most there can be
SIZES = 3  # sizes of messages of one pair that are looked at
HALF = 0.5
VAGUE = 0.7  # quality below which every level of rhythm is tried


@dataclass(frozen=True, eq=False)
class Beat:
    """Sampled `edges` of a cluster; the `times` of their records, ns, and each one's share of its edge's octets (`weight`).

    `marks`: when steps end, ns, empty where none are seen; `clear`: how consistent the traffic is between them, 0 ... 1, times
    the share of it that they span; `constant`: share of the octets on edges of which as many move in each step.
    """

    edges: tuple[Edge, ...]
    times: Ints
    weight: Floats
    marks: Ints
    clear: float = 0.0
    constant: float = 0.0

    @property
    def quality(self) -> float:
        """How good the marks are, 0 ... 1: traffic that varies in volume may still be as regular."""
        return self.clear * (1 + self.constant) / 2


def beat_of(edges: Sequence[Edge]) -> Beat:
    """The beat of a cluster from some of its edges, at least one."""
    edges = tuple(sorted(edges, key=lambda edge: -edge.volume))
    times = np.concatenate([edge.start for edge in edges])
    weight = np.concatenate([edge.octets / max(edge.volume, 1) for edge in edges])
    best = Beat(edges, times, weight, np.zeros(0, np.int64))
    for enough, marks_of in ((CLEAR, _first_marks), (VAGUE, _marks_of_levels), (VAGUE, _periodic_marks)):
        if best.quality >= enough:
            break
        for by, marks in marks_of(edges):
            best = max(best, _judged(best, by, marks), key=lambda one: one.quality)
            if best.quality >= CLEAR:
                break
    return best


def _judged(best: Beat, by: int, marks: Ints) -> Beat:
    """The beat with other marks, which edge `by` shows."""
    spanned = best.weight[(best.times >= marks[0]) & (best.times < marks[-1])].sum() / best.weight.sum()
    shape = shapes(marks, best.times, best.weight, 2 * c.BINS)
    clear = float(spanned) * consistency(shape)  # the rounds of one collective span little of the traffic
    if clear <= best.quality:
        return replace(best, marks=marks, clear=0.0)
    rounds = _are_rounds(best.edges, marks)
    return replace(best, marks=marks, clear=clear, constant=0.0 if rounds else constant(best.edges, marks, by))


def _are_rounds(edges: Sequence[Edge], marks: Ints) -> bool:
    """Whether the traffic between marks is one round of a ring: one equal message of each edge, one way. A step has more."""
    pairs = {(edge.src, edge.dst) for edge in edges}
    if any(pair[::-1] in pairs for pair in pairs):
        return False
    counts = (np.diff(np.searchsorted(edge.start, marks)) for edge in edges)
    return all(np.ptp(edge.octets) == 0 and np.median(count) == 1 for edge, count in zip(edges, counts, strict=True))


def _tried(edges: Sequence[Edge]) -> list[int]:
    return sorted({0, len(edges) // 3, 2 * len(edges) // 3, len(edges) - 1})


def _first_marks(edges: Sequence[Edge]) -> Iterator[tuple[int, Ints]]:
    """Step ends that some edges show, and the number of the edge: of whole edges, then of their messages of one size."""
    for i in _tried(edges):
        yield from _ends(i, [rhythm(*edges[i].moved)])
    for i in _tried(edges):
        for part in parts_by_size(edges[i]):
            yield from _ends(i, [rhythm(*part.moved)])


def _marks_of_levels(edges: Sequence[Edge]) -> Iterator[tuple[int, Ints]]:
    """The same of every level of their rhythms."""
    for i in _tried(edges):
        for part in (edges[i], *parts_by_size(edges[i])):
            yield from _ends(i, choices(*part.moved))


def _periodic_marks(edges: Sequence[Edge]) -> Iterator[tuple[int, Ints]]:
    """Step boundaries at the period at which most edges repeat."""
    origin = int(min(edge.start[0] for edge in edges))
    steps = steps_of([_stream(part, origin) for edge in edges for part in parts_by_size(edge) or [edge]])
    if steps is not None and len(steps.bounds) > c.MIN_STEPS + 1:
        yield -1, steps.bounds[1:-1].astype(np.int64) + origin


def constant(edges: Sequence[Edge], marks: Ints, marked_by: int = -1) -> float:
    """Share of the octets on edges that carry as many in each step, of all edges but the one that shows the marks.

    0 where these carry less than half of the octets and touch less than half of the endpoints: a few are equal by chance.
    """
    whole = _equal(edges, marks)
    volume = np.array([edge.volume for edge in edges], np.int64)
    equal = np.where(whole, volume, 0)
    parts = [(i, part) for i in np.flatnonzero(~whole).tolist() for part in parts_by_size(edges[i])]
    if parts:
        same = _equal([part for _, part in parts], marks)
        np.add.at(equal, [i for i, _ in parts], np.where(same, [part.volume for _, part in parts], 0))
    ends = np.array([(edge.src, edge.dst) for edge in edges])
    others = np.arange(len(edges)) != marked_by
    share = float(equal[others].sum() / max(volume[others].sum(), 1))
    return share if share > HALF or len(np.unique(ends[equal > 0])) > HALF * len(np.unique(ends)) else 0.0


def _equal(edges: Sequence[Edge], marks: Ints) -> Mask:
    """Which edges move as many octets in each step."""
    steps = len(marks) - 1
    number = np.repeat(np.arange(len(edges)), [len(edge.rows) for edge in edges])
    step = np.searchsorted(marks, np.concatenate([edge.start for edge in edges]), "right") - 1
    inside = (step >= 0) & (step < steps)
    octets = np.concatenate([edge.octets for edge in edges])[inside]
    moved = np.bincount(number[inside] * steps + step[inside], octets, len(edges) * steps).reshape(-1, steps)
    usual = np.median(moved, axis=1)
    differ = np.median(np.abs(moved - usual[:, None]), axis=1)
    return np.asarray((usual > 0) & (differ <= c.EQUAL * usual))


def _ends(by: int, found: Iterable[Rhythm]) -> Iterator[tuple[int, Ints]]:
    yield from ((by, one.quiet[:, 0]) for one in found if len(one.quiet) > c.MIN_STEPS)


def parts_by_size(edge: Edge) -> list[Edge]:
    """An edge's messages by their size, for the sizes that carry most, if it has several: each belongs to one collective."""
    sizes, number, counts = np.unique(edge.octets, return_inverse=True, return_counts=True)
    often = np.flatnonzero(counts > c.MIN_STEPS)
    if len(sizes) == 1 or len(sizes) > len(edge.octets) - len(often):
        return []
    often = often[np.argsort(-(sizes * counts)[often], kind="stable")][:SIZES]
    return [edge.only(number == k) for k in often.tolist()]


def _stream(edge: Edge, low: int) -> Stream:
    start, end, octets = (edge.start - low).astype(np.float64), (edge.end - low).astype(np.float64), edge.octets.astype(float)
    equal = bool(np.ptp(octets) == 0)
    return Stream(edge.src, edge.dst, edge.rows, start, end, octets, equal, bursts=not equal)


def locked(one: Beat, other: Beat) -> bool:
    """Whether two clusters run in lockstep: the traffic of one repeats at the steps of the other, and does not drift."""
    return _follows(one, other) or _follows(other, one)


def _follows(leader: Beat, follower: Beat) -> bool:
    if len(leader.marks) <= c.MIN_STEPS or leader.clear <= 0:
        return False
    bins = parts_of(leader.marks, follower.marks)
    own = consistency(shapes(leader.marks, leader.times, leader.weight, bins))
    theirs = consistency(shapes(leader.marks, follower.times, follower.weight, bins))
    if theirs < c.LOCKED * max(own, c.CONSTANT):
        return False
    shift = offsets(shapes(leader.marks, follower.times, follower.weight, 8 * bins))
    drift = abs(float(np.polyfit(np.arange(len(shift)), shift, 1)[0])) * len(shift)
    return drift <= c.MOST_DRIFT or _alike(leader.marks, follower.marks)


def _alike(one: Ints, other: Ints) -> bool:
    """Whether the steps of two clusters are long and short at the same times."""
    if not 0.5 < len(one) / max(len(other), 1) < 2:
        return False
    near = np.interp(one, other, np.arange(float(len(other))))
    paired = other[np.minimum(np.round(near).astype(np.int64), len(other) - 1)]
    a, b = np.diff(one).astype(np.float64), np.diff(paired).astype(np.float64)
    a, b = a - a.mean(), b - b.mean()
    return float(a @ b) >= c.ALIKE * float(np.sqrt((a @ a) * (b @ b))) > 0
