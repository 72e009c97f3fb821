"""Estimate the rhythm of a cluster: a sample of its traffic, and marks at the bounds of its steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from collectors.columns.record import Flows
from prism.evidence.step_period import steps_of
from prism.evidence.streams import streams_of
from prism.jobs import constants as c
from prism.jobs._repetition import Floats, Ints, consistency, offsets, shapes
from prism.loops.arrays.edges import Edge
from prism.loops.constants import MAD_TO_SIGMA


@dataclass(frozen=True, eq=False)
class ClusterRhythm:
    """The sampled `edges` of a cluster, the heaviest first, and all records. Few clusters need `marks` of their own."""

    flows: Flows
    edges: tuple[Edge, ...]

    @cached_property
    def times(self) -> Ints:
        """Start of each record, ns."""
        return np.concatenate([edge.start for edge in self.edges])

    @cached_property
    def weight(self) -> Floats:
        """Share of each record in its edge's octets."""
        return np.concatenate([edge.octets / max(edge.volume, 1) for edge in self.edges])

    @cached_property
    def marks(self) -> Ints:
        """Bounds of steps, ns; empty if none were found."""
        some = self.edges[:: -(-len(self.edges) // c.SAMPLED_PAIRS)]
        rows = np.sort(np.concatenate([edge.rows for edge in some]))
        ends = sorted({end for edge in some for end in (edge.src, edge.dst)})
        origin = int(self.times.min())
        streams = streams_of(self.flows.take(rows), tuple(self.flows.endpoints[end] for end in ends), origin=origin)
        steps = steps_of(streams) if streams else None
        return np.zeros(0, np.int64) if steps is None else steps.bounds.astype(np.int64) + origin

    @cached_property
    def period(self) -> float:
        """Median duration of a step, ns; 0 without steps."""
        return float(np.median(np.diff(self.marks))) if len(self.marks) > c.MIN_STEPS else 0.0

    @cached_property
    def regularity(self) -> float:
        """Consistency of the traffic between marks, 0 ... 1."""
        return consistency(shapes(self.marks, self.times, self.weight, 2 * c.BINS)) if self.period else 0.0


def repeats(edges: Sequence[Edge], marks: Ints) -> bool:
    """Check whether enough octets are on edges with equal octets in each step, or in messages of one size with equal octets.

    Hand-overs of sequences of varying length count as well if as much goes back, and other octets are equal in each step, such
    as gradients; those of inference are not.
    """
    enough, equal, answered = c.CONSTANT * sum(edge.volume for edge in edges), 0, 0
    of = {edge.key: edge for edge in edges}
    for edge in edges:
        whole = _is_equal(edge, marks)
        same = edge.volume if whole else sum(part.volume for part in parts_by_size(edge) if _is_equal(part, marks))
        back = None if same else of.get((edge.dst, edge.src))
        equal, answered = equal + same, answered + (edge.volume if back is not None and _is_answered(edge, back, marks) else 0)
        if equal and equal + answered >= enough:
            return True
    return False


def _is_answered(edge: Edge, back: Edge, marks: Ints) -> bool:
    """Check whether as many octets go back as go forth in each step, so not as in most requests and responses."""
    forth, returned = (np.histogram(one.start, marks, weights=one.octets)[0] for one in (edge, back))
    return bool(np.median(np.abs(forth - returned)) < c.EQUAL * np.median(forth))


def _is_equal(edge: Edge, marks: Ints) -> bool:
    """Check whether an edge moves equal octets in each step; steps begin at the marks, or in the longest pause of the edge.

    Lost records make steps differ, but less than if records came at random: then the variance of their number is their number.
    In few steps that may be chance.
    """
    steps, inside = len(marks) - 1, (edge.start >= marks[0]) & (edge.start < marks[-1])
    place, octets = np.interp(edge.start[inside], marks, np.arange(steps + 1.0)), edge.octets[inside]
    if not len(place):
        return False
    record = float(octets @ octets.astype(np.float64)) / max(int(octets.sum()), 1)
    for begin in (0.0, longest_pause(place % 1)):
        step = np.floor(place - begin).astype(np.int64) + 1  # 0: before the first whole step
        moved = np.bincount(step, octets, steps + 1)[1:]
        usual = float(np.median(moved))
        differ = float(np.median(np.abs(moved - usual)))
        lost = np.sqrt(c.RANDOM * usual * record) / MAD_TO_SIGMA * (steps > 2 * c.MIN_STEPS) * (usual > record)
        if usual > 0 and differ <= max(c.EQUAL * usual, lost):
            return True
    return False


def longest_pause(places: Floats) -> float:
    """Middle of the longest pause between places in the step, 0 ... 1."""
    ascending = np.sort(places)
    pauses = np.diff(ascending, append=ascending[0] + 1)
    longest = int(pauses.argmax())
    return float(ascending[longest] + pauses[longest] / 2) % 1


def parts_by_size(edge: Edge) -> list[Edge]:
    """Select the messages of each frequent size of an edge: each belongs to one collective."""
    number, counts = np.unique(edge.octets, return_inverse=True, return_counts=True)[1:]
    return [edge.only(number == k) for k in np.flatnonzero(counts > c.MIN_STEPS).tolist()]


def in_step(one: ClusterRhythm, other: ClusterRhythm) -> bool:
    """Check whether two clusters run in lockstep.

    Traffic of one repeats at the steps of the other without drift, or equal messages of both begin together in all steps.
    """
    near = c.TOGETHER * max(one.period or other.period, 1.0)
    return _follows(one, other) or _coincide(one, other, near) or _follows(other, one)


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
    for part in (part for edge in rhythm.edges for part in parts_by_size(edge)):
        out[int(part.octets[0]), len(part.rows)].append(part.start)
    return out


def _follows(leader: ClusterRhythm, follower: ClusterRhythm) -> bool:
    """Check whether the follower's traffic repeats in most steps of the leader, without drift."""
    if leader.regularity <= 0:
        return False
    own, theirs = (shapes(leader.marks, one.times, one.weight, c.BINS) for one in (leader, follower))
    if 2 * len(theirs) < len(own) or consistency(theirs) < c.LOCKED * max(consistency(own), c.CONSTANT):
        return False
    fine = 8 * c.BINS
    shift = offsets(shapes(leader.marks, follower.times, follower.weight, fine))
    shift = shift[:: -(-len(shift) // fine)]
    early, late = np.triu_indices(len(shift), 1)
    slope = np.median((shift[late] - shift[early]) / (late - early))  # Theil and Sen: odd steps, as of faults, are no drift
    return bool(abs(slope) * len(shift) <= c.MOST_DRIFT)
