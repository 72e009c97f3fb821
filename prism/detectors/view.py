"""One job as the detectors see it: per step and edge (`steps`), and what each rank did in them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from prism.detectors.dependencies import needed
from prism.detectors.steps import Floats, Rows, Steps
from prism.kernels.edges import edges_of
from prism.kernels.intervals import Ints
from prism.kernels.pieces import ByKind, by_kind, levels, typical_work
from prism.kernels.sums import counted, on_end
from prism.kernels.transfers import gone_on, joined_late
from prism.kernels.waits import parted, told, worked

__all__ = ["Floats", "View"]


class View(Steps):
    """What is known of one job: when each rank spoke, and how long it had worked for that."""

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
        talks, hears = (counted(side, len(self.code), rows) for side in (around.src, around.dst))
        ends, cuts = on_end([steps[:, 1] for steps in self.timeline.steps])
        together = parted(around.control(), around.start_ns, around.end_ns, talks, hears, self.codes, ends, cuts)
        known[together] = around.start_ns[together]
        *columns, begins = worked(told(around, known), talks, hears, self.codes)
        said, work, what = (np.split(column, begins[1:-1]) for column in columns)
        return list(zip(said, work, what, strict=True))

    @cached_property
    def needed(self) -> Ints:
        """When all had come that each record of `flows` needed, ns (`dependencies.needed`); int64[flows]."""
        return needed(self.flows, self.job, self.parallelism, [s[:, 1] for s in self.timeline.steps], self.hosts)

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
        typical, largest, total = (self._stacked(part) for part in zip(*(typical_work(*own) for own in said), strict=True))
        if self.parallelism.piped:
            every = [self.by_kind(rank, ends) for rank, (_, _, ends) in enumerate(said)]
            alike = self.stages[self.codes]
            typical = self._stacked([own.against for own in every]) * levels(every, alike)[:, None]
        return self._shared(typical), self._shared(largest), self._shared(total)

    def _stacked(self, parts: Sequence[Floats]) -> Floats:
        """A series per rank, cut or filled with NaN to the job's steps; float64[ranks, steps]."""
        out = np.full((len(parts), len(self.ends)), np.nan)
        for own, part in zip(out, parts, strict=True):
            own[: len(part)] = part[: len(own)]
        return out

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
        """Work of ranks that wait for one another inside a host: no more than the least of them.

        Nobody sees that; where one of them was seen to wait, all did.
        """
        place = {address: i for i, address in enumerate(self.job.endpoints)}
        for members in self.parallelism.unseen:
            ranks = [place[m] for m in members]
            work[ranks] = np.min(np.where(np.isnan(work[ranks]), np.inf, work[ranks]), axis=0)
        return np.where(np.isinf(work), np.nan, work)
