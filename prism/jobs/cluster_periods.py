"""Estimate the rhythm of a cluster: a sample of its traffic, and marks at the ends of its steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from collectors.columns.record import Mask
from prism.evidence.step_period import steps_of
from prism.evidence.streams import Stream
from prism.jobs import constants as c
from prism.jobs._repetition import Floats, Ints, consistency, offsets, parts_of, shapes
from prism.loops.arrays.edges import Edge
from prism.loops.periods.stream_rhythm import Rhythm, choices, rhythm


@dataclass(frozen=True, eq=False)
class ClusterRhythm:
    """Sampled `edges` of a cluster; `times` of their records, ns; `weight`: share of each record in its edge's octets.

    `marks`: ends of steps, ns, empty if none were found. `regularity`: consistency of the traffic between marks, 0 ... 1, times
    the share of traffic between the first and the last. `constant`: share of the octets on edges with equal octets in each
    step.
    """

    edges: tuple[Edge, ...]
    times: Ints
    weight: Floats
    marks: Ints
    regularity: float = 0.0
    constant: float = 0.0

    @property
    def quality(self) -> float:
        """Quality of the marks, 0 ... 1: traffic of varying volume may still be regular."""
        return self.regularity * (1 + self.constant) / 2


def cluster_rhythm(edges: Sequence[Edge]) -> ClusterRhythm:
    """Estimate the rhythm of a cluster from at least one of its edges."""
    edges = tuple(sorted(edges, key=lambda edge: -edge.volume))
    times = np.concatenate([edge.start for edge in edges])
    weight = np.concatenate([edge.octets / max(edge.volume, 1) for edge in edges])
    best = ClusterRhythm(edges, times, weight, np.zeros(0, np.int64))
    for enough, marks_of in (
        (c.CLEAR_MARKS, _first_marks),
        (c.VAGUE_MARKS, _marks_of_levels),
        (c.VAGUE_MARKS, _periodic_marks),
    ):
        if best.quality >= enough:
            break
        for by, marks in marks_of(edges):
            best = max(best, _with_marks(best, by, marks), key=lambda one: one.quality)
            if best.quality >= c.CLEAR_MARKS:
                break
    return best


def _with_marks(best: ClusterRhythm, by: int, marks: Ints) -> ClusterRhythm:
    """Evaluate other marks, which edge number `by` shows."""
    spanned = best.weight[(best.times >= marks[0]) & (best.times < marks[-1])].sum() / best.weight.sum()
    shape = shapes(marks, best.times, best.weight, 2 * c.BINS)
    regularity = float(spanned) * consistency(shape)  # the rounds of one collective span little of the traffic
    if regularity <= best.quality:
        return replace(best, marks=marks, regularity=0.0)
    rounds = _are_rounds(best.edges, marks)
    return replace(best, marks=marks, regularity=regularity, constant=0.0 if rounds else constant(best.edges, marks, by))


def _are_rounds(edges: Sequence[Edge], marks: Ints) -> bool:
    """Check whether the traffic between marks is a single round of a ring: one equal message per edge, in one direction."""
    pairs = {(edge.src, edge.dst) for edge in edges}
    if any(pair[::-1] in pairs for pair in pairs):
        return False
    counts = (np.diff(np.searchsorted(edge.start, marks)) for edge in edges)
    return all(np.ptp(edge.octets) == 0 and np.median(count) == 1 for edge, count in zip(edges, counts, strict=True))


def _examined_edges(edges: Sequence[Edge]) -> list[int]:
    return sorted({0, len(edges) // 3, 2 * len(edges) // 3, len(edges) - 1})


def _first_marks(edges: Sequence[Edge]) -> Iterator[tuple[int, Ints]]:
    """Yield step ends that some edges show, and the number of the edge: whole edges, then their messages of one size."""
    for i in _examined_edges(edges):
        yield from _ends(i, [rhythm(*edges[i].moved)])
    for i in _examined_edges(edges):
        for part in parts_by_size(edges[i]):
            yield from _ends(i, [rhythm(*part.moved)])


def _marks_of_levels(edges: Sequence[Edge]) -> Iterator[tuple[int, Ints]]:
    """Yield step ends of every level of the edges' rhythms."""
    for i in _examined_edges(edges):
        for part in (edges[i], *parts_by_size(edges[i])):
            yield from _ends(i, choices(*part.moved))


def _periodic_marks(edges: Sequence[Edge]) -> Iterator[tuple[int, Ints]]:
    """Yield step bounds at the period at which most edges repeat; none of a single edge, whose levels show as much."""
    if len(edges) == 1:
        return
    origin = int(min(edge.start[0] for edge in edges))
    steps = steps_of([_stream(part, origin) for edge in edges for part in parts_by_size(edge) or [edge]])
    if steps is not None and len(steps.bounds) > c.MIN_STEPS + 1:
        yield -1, steps.bounds[1:-1].astype(np.int64) + origin


def constant(edges: Sequence[Edge], marks: Ints, marked_by: int = -1) -> float:
    """Share of the octets on edges with equal octets in each step, without the edge that shows the marks.

    0 if these carry less than half of the octets and touch less than half of the endpoints: a few are equal by chance.
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
    return share if share > c.MOSTLY or len(np.unique(ends[equal > 0])) > c.MOSTLY * len(np.unique(ends)) else 0.0


def _equal(edges: Sequence[Edge], marks: Ints) -> Mask:
    """Select edges with equal octets in each step."""
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
    """Split an edge by message size, for the sizes with most octets. Each size belongs to one collective."""
    sizes, number, counts = np.unique(edge.octets, return_inverse=True, return_counts=True)
    frequent = np.flatnonzero(counts > c.MIN_STEPS)
    if len(sizes) == 1 or len(sizes) > len(edge.octets) - len(frequent):
        return []
    frequent = frequent[np.argsort(-(sizes * counts)[frequent], kind="stable")][: c.SIZES_OF_A_PAIR]
    return [edge.only(number == k) for k in frequent.tolist()]


def _stream(edge: Edge, low: int) -> Stream:
    start, end, octets = (edge.start - low).astype(np.float64), (edge.end - low).astype(np.float64), edge.octets.astype(float)
    equal = bool(np.ptp(octets) == 0)
    return Stream(edge.src, edge.dst, edge.rows, start, end, octets, equal, bursts=not equal)


def in_step(one: ClusterRhythm, other: ClusterRhythm) -> bool:
    """Check whether two clusters run in lockstep.

    Traffic of one repeats at the steps of the other without drift, or equal messages of both begin together in all steps. Parts
    of one job begin, or end, in the same step.
    """
    period = max((float(np.median(np.diff(own.marks))) for own in (one, other) if len(own.marks) > 1), default=0.0)
    begin, end = (float(pick(one.times) - pick(other.times)) / max(period, 1.0) for pick in (np.min, np.max))
    if min(abs(begin), abs(end)) > c.SAME_STEP and (begin > 0) == (end > 0):
        return False
    return _follows(one, other) or _follows(other, one) or _coincide(one, other, c.TOGETHER * period)


def _coincide(one: ClusterRhythm, other: ClusterRhythm, near: float) -> bool:
    """Check whether two clusters send equally many messages of one size, and all begin within `near` ns of each other.

    The reduction of a scalar joins hidden parts of a job in each step, also if their other work varies within the step.
    """
    sent = _equal_messages(one), _equal_messages(other)
    alike = sent[0].keys() & sent[1].keys()
    return any(np.abs(a - b).max() < near for key in alike for a in sent[0][key] for b in sent[1][key])


def _equal_messages(rhythm: ClusterRhythm) -> dict[tuple[int, int], list[Ints]]:
    """Start times of the messages of one size of one edge, by size and number."""
    out: dict[tuple[int, int], list[Ints]] = defaultdict(list)
    for edge in rhythm.edges:
        sizes, number, counts = np.unique(edge.octets, return_inverse=True, return_counts=True)
        for k in np.flatnonzero(counts > c.MIN_STEPS).tolist():
            out[int(sizes[k]), int(counts[k])].append(edge.start[number == k])
    return out


def _follows(leader: ClusterRhythm, follower: ClusterRhythm) -> bool:
    if len(leader.marks) <= c.MIN_STEPS or leader.regularity <= 0:
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
    """Check whether the steps of two clusters are long and short at the same times."""
    if not 0.5 < len(one) / max(len(other), 1) < 2:
        return False
    near = np.interp(one, other, np.arange(float(len(other))))
    paired = other[np.minimum(np.round(near).astype(np.int64), len(other) - 1)]
    a, b = np.diff(one).astype(np.float64), np.diff(paired).astype(np.float64)
    a, b = a - a.mean(), b - b.mean()
    return float(a @ b) >= c.ALIKE * float(np.sqrt((a @ a) * (b @ b))) > 0
