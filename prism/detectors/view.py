"""One job as the detectors see it: per step and rank, per step and edge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.record import UDP, Flows, Transits
from prism.detectors.dependencies import needed
from prism.kernels.edges import Edge, Pair, edges_of
from prism.kernels.intervals import Ints
from prism.kernels.pieces import ByKind, by_kind, levels, typical_work
from prism.kernels.shifts import spread
from prism.kernels.sums import counted, tallied, tallies
from prism.kernels.transfers import gone_on, joined_late
from prism.kernels.waits import parting, told, work_at
from prism.model import Job, PairKind, Parallelism, Timeline
from prism.topology import Topology

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class View:
    """What is known of one job. `flows` are the records between its members, `around` all records of its members.

    `until` is when the last record of anybody ended, ns: so long the collection went on. `least` is how many steps on end make
    a stretch that a detector may tell of. `now` is when a live window ended, ns: what was not heard until then has not come.
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
    least: int = 3
    now: int = 0

    @cached_property
    def code(self) -> dict[str, int]:
        """Address to code."""
        return {address: i for i, address in enumerate(self.flows.endpoints)}

    def host(self, address: str) -> str:
        """The host of a member; itself where that is not known."""
        return (self.topology.host(address) if self.topology is not None else None) or address

    @cached_property
    def hosts(self) -> Ints:
        """The host of each rank as a number, the same for ranks that share one; -1 where it is not known. int64[ranks]."""
        known = [self.topology.host(address) if self.topology is not None else None for address in self.job.endpoints]
        number = {name: i for i, name in enumerate(sorted({name for name in known if name is not None}))}
        return np.array([-1 if name is None else number[name] for name in known], np.int64)

    @cached_property
    def ends(self) -> Ints:
        """Step ends of the whole job, ns: the median over its ranks; int64[steps]."""
        most = max((len(s) for s in self.timeline.steps), default=0)
        if not most:
            return np.zeros(0, np.int64)
        full = np.stack([s[:, 1] for s in self.timeline.steps if len(s) == most])
        first = full.min()  # a float64 holds no ns since the epoch
        return np.asarray(np.median(full - first, axis=0).astype(np.int64) + first, dtype=np.int64)

    @cached_property
    def begins(self) -> Ints:
        """Step begins of the whole job, ns: the first rank's first, then the ends before."""
        if not len(self.ends):
            return self.ends
        first = min(int(s[0, 0]) for s in self.timeline.steps if len(s))
        return np.concatenate([[first], self.ends[:-1]])

    @cached_property
    def durations(self) -> Floats:
        """Duration of each step, ns; NaN for the first, whose begin nobody saw."""
        return np.concatenate([[np.nan], np.diff(self.ends)]) if len(self.ends) else np.zeros(0)

    @cached_property
    def period(self) -> float:
        """Median duration of a step, ns."""
        return float(np.nanmedian(self.durations)) if len(self.ends) > 1 else 0.0

    @cached_property
    def uneven(self) -> float:
        """How uneven its steps are (`unevenness`)."""
        return unevenness(self.durations)

    @cached_property
    def speech(self) -> list[tuple[Ints, Ints, Ints]]:
        """For each rank when it spoke, how long it had worked for that, ns, and what it said (kernels.waits.work_at)."""
        around = self.around
        rows = np.flatnonzero(self.telling & (around.octets > 0))
        known = np.full(len(around), -1, np.int64)
        if self.inside is not None:
            known[self.inside] = self.needed
            stood = self.inside[self.continued]
            known[stood] = around.start_ns[stood]
        sides = [counted(side, len(self.code), rows) for side in (around.src, around.dst)]
        own = [
            tuple(order[begins[code] : begins[code + 1]] for order, begins in sides)
            for code in (self.code[address] for address in self.job.endpoints)
        ]
        for (talks, hears), steps in zip(own, self.timeline.steps, strict=True):
            together = talks[parting(around.control(), around.start_ns, around.end_ns, talks, hears, steps[:, 1])]
            known[together] = around.start_ns[together]
        every = told(around, known)
        return [work_at(every, talks, hears) for talks, hears in own]

    @cached_property
    def needed(self) -> Ints:
        """When all had come that each record of `flows` needed, ns (`dependencies.needed`); int64[flows]."""
        return needed(self.flows, self.job, self.parallelism, [s[:, 1] for s in self.timeline.steps], self.hosts)

    @cached_property
    def one_sided(self) -> bool:
        """Whether all goes over RDMA, whose senders wait until the receiver is ready."""
        return bool((self.flows.protocol == UDP).all())

    @cached_property
    def sent(self) -> list[Ints]:
        """The records of payload that each endpoint of `flows` sent, by its code."""
        order, begins = counted(self.flows.src, len(self.code), np.flatnonzero(~self.flows.control()))
        return np.split(order, begins[1:-1])

    @cached_property
    def continued(self) -> Rows:
        """Records of `flows` with which what stood goes on, a transfer between stages or the first of a ring.

        Over RDMA no word says who is ready; but a receiver begins to speak itself when it is.
        """
        if not self.one_sided:
            return np.zeros(0, np.intp)
        own = {self.code[address]: steps for address, steps in zip(self.job.endpoints, self.timeline.steps, strict=True)}
        piped = [edge for key, edge in self.edges.items() if self.kinds.get(key) == "pp" and len(own[key[0]])]
        out = [gone_on(piped, [own[edge.key[0]] for edge in piped], self.period)]
        rings = [edges_of(self.flows, stream.rows) for stream in self.parallelism.streams if stream.kind == "dp"]
        out += [rows for edges in rings for rows in joined_late(edges, self.period)]
        return np.concatenate(out)

    @cached_property
    def telling(self) -> NDArray[np.bool_]:
        """Which records of `around` tell whether a rank works: the job's own, and what it sends away in bulk (a checkpoint).

        To answer a monitor or to fetch data is neither speech nor the end of a wait. Bulk is a hundredth of what a rank moves.
        """
        flows = self.around
        members = flows.among(self.job.endpoints)
        inside = members[flows.src] & members[flows.dst]
        away = np.flatnonzero(members[flows.src] & ~members[flows.dst])
        if not len(away):
            return inside
        ends, weight = np.concatenate([flows.src[inside], flows.dst[inside]]), np.tile(flows.octets[inside], 2)
        own = np.bincount(ends, weights=weight, minlength=len(members))
        pair = flows.src[away].astype(np.int64) * len(members) + flows.dst[away]
        pairs, place = np.unique(pair, return_inverse=True)
        bulk = np.bincount(place, weights=flows.octets[away], minlength=len(pairs))[place] >= 0.01 * own[flows.src[away]]
        inside[away[bulk]] = True
        return inside

    @cached_property
    def work(self) -> tuple[Floats, Floats, Floats]:
        """A typical piece of each rank's own work, the largest, and all of it, ns; float64[ranks, steps] each."""
        said = [(spoke, work, steps[:, 1]) for (spoke, work, _), steps in zip(self.speech, self.timeline.steps, strict=True)]
        parts = zip(*(typical_work(*own) for own in said), strict=True)
        typical, largest, total = (np.stack([_padded(p, len(self.ends)) for p in part]) for part in parts)
        if self.parallelism.layout.pp > 1:
            every = [self.by_kind(rank, ends) for rank, (_, _, ends) in enumerate(said)]
            alike = self.stages[[self.code[address] for address in self.job.endpoints]]
            typical = np.stack([_padded(own.against, len(self.ends)) for own in every]) * levels(every, alike)[:, None]
        return self._shared(typical), self._shared(largest), self._shared(total)

    def by_kind(self, rank: int, ends: Ints) -> ByKind:
        """What a rank of a pipeline worked until each of some times, by what it said to how many stages further (`pieces`)."""
        spoke, work, what = self.speech[rank]
        own, other, pp = self.stages[self.code[self.job.endpoints[rank]]], self.stages[what // 2], self.parallelism.layout.pp
        further = np.where((own < 0) | (other < 0), 0, other - own)
        return by_kind(spoke, work, 2 * (further + pp) + what % 2, 4 * pp + 2, ends)

    @cached_property
    def stages(self) -> Ints:
        """The pipeline stage of each endpoint of `flows`, -1 where it has none; int64[endpoints]."""
        return np.array([self.parallelism.stages.get(address, -1) for address in self.flows.endpoints], np.int64)

    def _shared(self, work: Floats) -> Floats:
        """Work of ranks that are tensor parallel inside a host: no more than the least of them.

        Such ranks wait for one another unseen; where one of them was seen to wait, all did.
        """
        place = {address: i for i, address in enumerate(self.job.endpoints)}
        for group in self.parallelism.groups:
            if group.kind == "tp" and group.evidence == "placement":
                ranks = [place[m] for m in group.members]
                work[ranks] = np.min(np.where(np.isnan(work[ranks]), np.inf, work[ranks]), axis=0)
        return np.where(np.isinf(work), np.nan, work)

    @cached_property
    def edges(self) -> dict[Pair, Edge]:
        """Directed pairs with payload that comes back in at least half of the steps."""
        every = edges_of(self.flows, np.flatnonzero(~self.flows.control()))
        seen = np.count_nonzero(self.by_step(*_numbered(list(every.values()))), axis=1)
        return {key: e for (key, e), steps in zip(every.items(), seen.tolist(), strict=True) if 2 * steps >= len(self.ends) > 0}

    @cached_property
    def partners(self) -> Mapping[int, set[int]]:
        """Those with whom each endpoint exchanges payload both ways (`edges`), by code."""
        out = defaultdict[int, set[int]](set)
        for src, dst in self.edges:
            if (dst, src) in self.edges:
                out[src].add(dst)
        return out

    @cached_property
    def kinds(self) -> dict[Pair, PairKind]:
        """What most octets of each directed pair were for."""
        return {(self.code[p.src], self.code[p.dst]): p.kind for p in self.parallelism.pairs}

    def step_of(self, times: Ints) -> Ints:
        """Which step each time lies in; the number of steps for what comes after the last."""
        return np.asarray(np.searchsorted(self.ends, times, "left"), dtype=np.int64)

    @cached_property
    def _step(self) -> NDArray[np.int32]:
        """In which step each record of `flows` ended."""
        return self.step_of(self.flows.end_ns).astype(np.int32)

    def by_step(self, rows: Rows, number: NDArray[Any], n: int, column: Ints | None = None) -> Floats:
        """Sums of a column of the flows by edge and step, or how many records there are; float64[n, steps + 1].

        `number` is the edge, of `n`, of each of the `rows`; what ends after the last step is at the end.
        """
        out = np.zeros((n, len(self.ends) + 1))
        if column is None:
            tallies(rows, number, self._step, out)
        else:
            tallied(rows, number, self._step, column, out)
        return out

    def per_step(self, edge: Edge, column: Ints) -> Floats:
        """Sum of a column of the flows over an edge's records, by step; float64[steps]."""
        n = len(self.ends)
        sums = np.bincount(self._step[edge.rows], weights=column[edge.rows], minlength=n + 1)
        return np.asarray(sums[:n], dtype=np.float64)

    def per_steps(self, keys: Sequence[Pair], column: Ints) -> Floats:
        """`per_step` of several edges; float64[edges, steps]."""
        return self.by_step(*_numbered([self.edges[key] for key in keys]), column)[:, :-1]

    @cached_property
    def rates(self) -> tuple[list[Pair], Floats]:
        """Edges and their rate while sending, bit/s, by step; NaN where nothing tells. float64[edges, steps]."""
        keys = sorted(self.edges)
        return keys, _rate(self.volumes, self.per_steps(keys, self.busy))

    @cached_property
    def volumes(self) -> Floats:
        """Octets of each of `edges` by step; float64[edges, steps]."""
        return self.per_steps(list(self.edges), self.flows.octets)

    def rates_now(self, *, share: float = 0.25) -> Floats:
        """The rate of each edge of `rates` in the step that is going on; NaN before it sent a `share` of what it usually sends.

        What began before all ranks had ended the last step may belong to that.
        """
        keys = self.rates[0]
        rows, number, n = _numbered([self.edges[key] for key in keys])
        own = self.flows.start_ns[rows] >= max(int(steps[-1, 1]) for steps in self.timeline.steps if len(steps))
        octets, busy = (np.bincount(number[own], column[rows[own]], n) for column in (self.flows.octets, self.busy))
        usual = np.median(self.volumes, axis=1)
        return np.where(octets >= share * usual, _rate(octets, busy), np.nan)

    @cached_property
    def busy(self) -> Ints:
        """For how long each record of `flows` sent, ns."""
        return np.where(self.flows.busy_ns > 0, self.flows.busy_ns, self.flows.end_ns - self.flows.start_ns)

    def during(self, start: int, stop: int) -> tuple[int, int]:
        """Begin of step `start` and end of step `stop` − 1, ns."""
        return int(self.begins[start]), int(self.ends[stop - 1])

    def slowdown(self, start: int, stop: int, besides: Iterable[tuple[int, int]] = ()) -> float:
        """How much longer the steps `start` to `stop` took than the others, by their medians; at least 1.

        Steps that other faults slowed, from one to before another of `besides`, are none to compare with if others are left.
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
        """The switches most octets of each of `edges` crossed, in order; from the topology where no switch was named."""
        return {key: self._path(edge) for key, edge in self.edges.items()}

    def _path(self, edge: Edge) -> tuple[str, ...]:
        path = self.flows.paths[0]
        if len(self.flows.paths) > 1:
            codes, place = np.unique(self.flows.path[edge.rows], return_inverse=True)
            path = self.flows.paths[int(codes[np.argmax(np.bincount(place, weights=edge.octets + 1))])]
        if path or self.topology is None:
            return path
        leaves = [self.topology.leaf(self.flows.endpoints[end]) for end in edge.key]
        return tuple(dict.fromkeys(leaf for leaf in leaves if leaf is not None))


def _numbered(edges: Sequence[Edge]) -> tuple[Rows, NDArray[np.intp], int]:
    """The rows of some edges, the number of each row's edge, and how many edges there are."""
    rows = np.concatenate([np.zeros(0, np.intp), *(edge.rows for edge in edges)])
    return rows, np.repeat(np.arange(len(edges)), [len(edge.rows) for edge in edges]), len(edges)


def unevenness(durations: Floats) -> float:
    """Robust spread of the logarithms of step durations, or from one to the next; infinite without any.

    Long stretches of slow steps are steps all the same.
    """
    known = np.log(np.maximum(durations[np.isfinite(durations)], 1.0))
    return min(spread(known), spread(np.diff(known)) / float(np.sqrt(2))) if len(known) > 2 else float("inf")


def _rate(octets: NDArray[Any], busy_ns: NDArray[Any]) -> Floats:
    """bit/s; NaN where nothing was sent."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((octets > 0) & (busy_ns > 0), octets * 8e9 / busy_ns, np.nan)


def _padded(part: Floats, n: int) -> Floats:
    """A series cut or filled with NaN to n places."""
    return np.concatenate([part[:n], np.full(max(n - len(part), 0), np.nan)])
