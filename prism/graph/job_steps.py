"""Store the steps of one job, and the octets of each edge in each step."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows, Transits
from prism.graph import constants as c
from prism.loops.arrays.change_points import spread
from prism.loops.arrays.edges import Edge, Pair, edges_of, laid_out
from prism.loops.arrays.group_sums import places_in
from prism.loops.arrays.intervals import Ints
from prism.loops.detection.edge_tallies import numbers_of, tally
from prism.model import Job, PairKind, Parallelism, Timeline
from prism.topology import Topology

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Steps:
    """One job by step and edge.

    `flows` are the records between its members, `around` all records of its members. `until` is the end of the last record of
    all jobs, ns: the collection lasted at least so long. `least` is the least number of consecutive steps that a detector may
    report.
    """

    flows: Flows
    around: Flows
    transits: Transits
    job: Job
    parallelism: Parallelism
    timeline: Timeline
    topology: Topology | None = None
    until: int = 0
    inside: NDArray[np.intp] | None = None  # the place in `around` of each record of `flows`
    least: int = c.SPAN

    @cached_property
    def code(self) -> dict[str, int]:
        """Code of each address."""
        return {address: i for i, address in enumerate(self.flows.endpoints)}

    @cached_property
    def codes(self) -> Ints:
        """Code of each rank; int64[ranks]."""
        return np.array([self.code[address] for address in self.job.endpoints], np.int64)

    def host(self, address: str) -> str:
        """Host of a member; the address itself if the host is unknown."""
        return (self.topology.host(address) if self.topology is not None else None) or address

    def leaf(self, address: str) -> str | None:
        """Leaf of a member; None if it is unknown."""
        return self.topology.leaf(address) if self.topology is not None else None

    @cached_property
    def hosts(self) -> Ints:
        """Number of each rank's host; -1 if unknown. int64[ranks]."""
        known = [self.topology.host(address) if self.topology is not None else None for address in self.job.endpoints]
        number = {name: i for i, name in enumerate(sorted({name for name in known if name is not None}))}
        return np.array([-1 if name is None else number[name] for name in known], np.int64)

    @cached_property
    def places(self) -> Ints:
        """Number of each rank's host, or of the rank if its host is unknown; int64[ranks]."""
        return np.where(self.hosts < 0, len(self.hosts) + np.arange(len(self.hosts)), self.hosts)

    @cached_property
    def ends(self) -> Ints:
        """Step ends of the whole job, ns: the median over its ranks; int64[steps]."""
        most = max((len(s) for s in self.timeline.steps), default=0)
        if not most:
            return np.zeros(0, np.int64)
        full = np.stack([s[:, 1] for s in self.timeline.steps if len(s) == most])
        first = full.min()  # a float64 holds no ns since the epoch
        return np.asarray(np.median(full - first, axis=0).astype(np.int64) + first, dtype=np.int64)

    def numbers(self, start: int, stop: int) -> list[int]:
        """Numbers in the job (prism.tracking.step_numbers) of steps `start` and `stop` of the window."""
        return [self.timeline.first + start, self.timeline.first + stop]

    @cached_property
    def begins(self) -> Ints:
        """Step begins of the whole job, ns: the previous ends; for the first step see `_first_begin`."""
        if not len(self.ends):
            return self.ends
        first = min(int(s[0, 0]) for s in self.timeline.steps if len(s))
        return np.concatenate([[first if self._first_begin is None else min(first, self._first_begin)], self.ends[:-1]])

    @cached_property
    def _first_begin(self) -> int | None:
        """Begin of the first step, ns, if its first payload came as soon as in other steps; None if the step lacks octets.

        Edges that send first in other steps give the time. Own work before is assumed as usual: the records do not show it.
        """
        moved, n = self.volumes, len(self.ends)
        if n <= c.SPAN or not len(moved):
            return None
        whole = moved.sum(axis=0)
        if abs(whole[0] - np.median(whole[1:])) > c.WHOLE * np.median(whole[1:]):
            return None
        rows = np.flatnonzero(~self.flows.control() & (self._edge >= 0) & (self._step < n))
        rows = rows[::-1]  # they are in order of sending: the first one of a cell is assigned last
        begun = np.full((len(moved), n), np.inf)
        begun[self._edge[rows], self._step[rows]] = self.flows.sent_ns[rows] - self.ends[0]
        lead = np.median(begun[:, 1:] - (self.ends[:-1] - self.ends[0]), axis=1)
        lead[~np.isfinite(begun[:, 0])] = np.inf
        soon = np.isfinite(lead) & (lead <= lead.min() + c.WHOLE * float(np.median(np.diff(self.ends))))
        if not soon.any() or lead.min() < 0:
            return None
        return int(np.median(begun[soon, 0] - lead[soon])) + int(self.ends[0])

    @cached_property
    def durations(self) -> Floats:
        """Duration of each step, ns; NaN for the first if its begin is not known (`begins`)."""
        if not len(self.ends):
            return np.zeros(0)
        first = np.nan if self._first_begin is None else float(self.ends[0] - self.begins[0])
        return np.concatenate([[first], np.diff(self.ends)])

    @cached_property
    def period(self) -> float:
        """Median duration of a step, ns."""
        return float(np.nanmedian(self.durations)) if len(self.ends) > 1 else 0.0

    @cached_property
    def uneven(self) -> float:
        """Spread of the step durations (`unevenness`)."""
        return unevenness(self.durations)

    @cached_property
    def edges(self) -> dict[Pair, Edge]:
        """Directed pairs with payload in at least half of the steps."""
        every, moved = self._every
        seen = np.count_nonzero(moved, axis=1)
        return {key: e for (key, e), steps in zip(every.items(), seen.tolist(), strict=True) if 2 * steps >= len(self.ends) > 0}

    @cached_property
    def _every(self) -> tuple[dict[Pair, Edge], Floats]:
        """Directed pairs with payload, and octets of each by step; float64[pairs, steps + 1]."""
        every = edges_of(self.flows, np.flatnonzero(~self.flows.control()))
        return every, self._tallied(self._numbers(every.values()), len(every), self.flows.octets)

    def _numbers(self, edges: Collection[Edge]) -> NDArray[np.int32]:
        """Number of the edge of each record of `flows`; -1 if it belongs to none."""
        of, low, high = laid_out(edges)
        return numbers_of(of.rows, low, high, len(self.flows))

    def _tallied(self, number: NDArray[np.int32], n: int, column: Ints) -> Floats:
        """Sums of a column of the flows by edge, of `n`, and step; the last column is for records after the last step."""
        total = np.zeros((n, len(self.ends) + 1))
        tally(number, self._step, np.ascontiguousarray(column), total)
        return total

    @cached_property
    def kinds(self) -> dict[Pair, PairKind]:
        """Kind of most octets of each directed pair."""
        return {(self.code[p.src], self.code[p.dst]): p.kind for p in self.parallelism.pairs}

    def step_of(self, times: Ints) -> Ints:
        """Step that contains each time; the number of steps for times after the last step."""
        return np.asarray(np.searchsorted(self.ends, times, "left"), dtype=np.int64)

    def step_at(self, rows: Rows) -> NDArray[np.int32]:
        """Step of the sender in which each of some records of `flows` ended; the number of steps after the last."""
        return self._step[rows]

    @cached_property
    def _step(self) -> NDArray[np.int32]:
        """Step of the sender in which each record of `flows` ended; the job's step if the sender's steps are incomplete."""
        own = dict(zip(self.codes.tolist(), (steps[:, 1] for steps in self.timeline.steps), strict=True))
        ends = [own.get(code, self.ends) for code in range(len(self.code))]
        ends = [steps if len(steps) == len(self.ends) else self.ends for steps in ends]
        return places_in(ends, self.flows.src.astype(np.int64), self.flows.end_ns).astype(np.int32)

    def by_step(self, rows: Rows, number: NDArray[Any], n: int, column: Ints) -> Floats:
        """Sums of a column of the flows by edge and step; float64[n, steps + 1].

        `number` is the edge, of `n`, of each of the `rows`. The last column is for records after the last step.
        """
        parts = len(self.ends) + 1
        cell = number.astype(np.int64) * parts + self._step[rows]
        return np.bincount(cell, column[rows], n * parts).astype(np.float64).reshape(n, parts)

    @cached_property
    def _edge(self) -> NDArray[np.int32]:
        """Number of the edge of each record of `flows`, in the order of `edges`; -1 if it belongs to none."""
        return self._numbers(self.edges.values())

    @cached_property
    def volumes(self) -> Floats:
        """Octets of each of `edges` by step; float64[edges, steps]."""
        every, moved = self._every
        return moved[[key in self.edges for key in every], :-1]

    @cached_property
    def whole(self) -> bool:
        """Whether the records begin with the first step and end with the last: all move as much, and nothing else moves."""
        moved = self._every[1].sum(axis=0)
        usual = float(np.median(moved[1:-2])) if len(moved) > c.SPAN else 0.0
        return bool(np.abs(moved[[0, -2]] - usual).max(initial=moved[-1]) <= c.WHOLE * usual) if usual else False

    @cached_property
    def busy(self) -> Ints:
        """Time for which each record of `flows` sent, ns."""
        return np.where(self.flows.busy_ns > 0, self.flows.busy_ns, self.flows.end_ns - self.flows.start_ns)

    def during(self, start: int, stop: int) -> tuple[int, int]:
        """Begin of step `start` and end of step `stop` − 1, ns."""
        return int(self.begins[start]), int(self.ends[stop - 1])

    def slowdown(self, start: int, stop: int, besides: Iterable[tuple[int, int]] = ()) -> float:
        """Median duration of the steps `start` to `stop` over that of the other steps; at least 1.

        Steps that other faults slowed (`besides`: first step and step after the last of each) are left out if enough others
        remain.
        """
        outside = np.isfinite(self.durations)
        outside[start:stop] = False
        healthy = outside.copy()
        for one in besides:
            healthy[slice(*one)] = False
        there = self.durations[start:stop]
        other = self.durations[healthy if np.count_nonzero(healthy) >= self.least else outside]
        if not np.isfinite(there).any() or not np.isfinite(other).any():
            return 1.0
        return max(float(np.nanmedian(there) / max(np.nanmedian(other), 1.0)), 1.0)

    @cached_property
    def paths(self) -> dict[Pair, tuple[str, ...]]:
        """Switches that most octets of each of `edges` crossed, in order; from the topology if the records name no switch."""
        if len(self.flows.paths) > 1:
            return {key: self._path(edge) for key, edge in self.edges.items()}
        if self.flows.paths[0] or self.topology is None:
            return dict.fromkeys(self.edges, self.flows.paths[0])
        known: dict[tuple[str | None, str | None], tuple[str, ...]] = {}
        for key in self.edges:
            leaves = self._leaves[key[0]], self._leaves[key[1]]
            if leaves not in known:
                known[leaves] = self._between(key)
        return {key: known[self._leaves[key[0]], self._leaves[key[1]]] for key in self.edges}

    def _path(self, edge: Edge) -> tuple[str, ...]:
        path = self.flows.paths[int(np.bincount(self.flows.path[edge.rows], edge.octets + 1).argmax())]
        return path or self._between(edge.key)

    def _between(self, pair: Pair) -> tuple[str, ...]:
        """Leaves of both ends of a pair."""
        leaves = self._leaves[pair[0]], self._leaves[pair[1]]
        return tuple(dict.fromkeys(leaf for leaf in leaves if leaf is not None))

    @cached_property
    def _leaves(self) -> list[str | None]:
        """Leaf of each endpoint of `flows`; None if it is unknown."""
        return [self.leaf(address) for address in self.flows.endpoints]


def unevenness(durations: Floats) -> float:
    """Robust spread of the logarithms of step durations, or of their differences from step to step; infinite if unknown.

    The smaller of the two: long spans of slow steps are steps all the same.
    """
    known = np.log(np.maximum(durations[np.isfinite(durations)], 1.0))
    return min(spread(known), spread(np.diff(known)) / float(np.sqrt(2))) if len(known) > 2 else float("inf")
