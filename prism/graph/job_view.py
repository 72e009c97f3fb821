"""Describe one job for detectors: by step and edge (`job_steps`), and the own work of each rank."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.graph import constants as c
from prism.graph.job_steps import Floats, Rows, Steps
from prism.graph.record_dependencies import needed
from prism.loops.arrays.group_sums import counted, highest, on_end
from prism.loops.arrays.intervals import Ints, union
from prism.loops.detection.equal_transfers import gone_on
from prism.loops.detection.late_entry import joined_late
from prism.loops.detection.own_work import send_records, step_end_records, work_of_ranks
from prism.loops.detection.work_pieces import ByKind, by_kind, kinds_of, levels, no_more_than_the_least, typical_works

__all__ = ["Floats", "View"]


class RankSends(NamedTuple):
    """Times at which ranks sent, own work before each, ns, and the message (`own_work.work_at`), rank by rank.

    Entries of rank k are at `begins[k]` to `begins[k + 1]`.
    """

    sent_ns: Ints
    work: Ints
    message: Ints
    begins: Ints

    def of(self, rank: int) -> RankSends:
        """Entries of one rank."""
        low, high = self.begins[rank : rank + 2].tolist()
        return RankSends(self.sent_ns[low:high], self.work[low:high], self.message[low:high], np.array([0, high - low]))


class Pause(NamedTuple):
    """A silence of the whole job from `start` to `end`, ns, that made step `step` longer by `over`, ns, than usual
    silences do.
    """

    step: int
    start: int
    end: int
    over: int


class View(Steps):
    """One job by step and edge, with the times at which each rank sent, and its own work before each."""

    @cached_property
    def rank_sends(self) -> RankSends:
        """Times at which each rank sent, own work before each, ns, and the message."""
        around = self.around
        rows = np.flatnonzero(self.work_relevant & (around.octets > 0))
        known = np.full(len(around), -1, np.int64)
        if self.inside is not None:
            known[self.inside] = self.needed
            stood = self.inside[self.continued]
            known[stood] = around.start_ns[stood]
        talks, hears = (counted(side, len(self.code), rows) for side in (around.src, around.dst))
        ends, cuts = on_end([steps[:, 1] for steps in self.timeline.steps])
        together = step_end_records(around.control(), around.start_ns, around.end_ns, talks, hears, self.codes, ends, cuts)
        known[together] = around.start_ns[together]
        return RankSends(*work_of_ranks(send_records(around, known), talks, hears, self.codes))

    @cached_property
    def needed(self) -> Ints:
        """Time at which all data that each record of `flows` needs had arrived, ns (`record_dependencies.needed`);
        int64[flows].
        """
        return needed(self.flows, self.job, self.parallelism, [s[:, 1] for s in self.timeline.steps], self.hosts)

    @cached_property
    def continued(self) -> Rows:
        """Records of `flows` with which a stalled transfer between stages, or the first of a ring, continues.

        RDMA has no visible readiness message; but a receiver starts to send itself when it is ready.
        """
        if not self.one_sided:
            return np.zeros(0, np.intp)
        own = {self.code[address]: steps for address, steps in zip(self.job.endpoints, self.timeline.steps, strict=True)}
        piped = [edge for key, edge in self.edges.items() if self.kinds.get(key) == "pp" and len(own[key[0]])]
        rings = [stream.rows for stream in self.parallelism.streams if stream.kind == "dp"]
        on = gone_on(piped, [own[edge.key[0]] for edge in piped], self.period)
        return np.concatenate([on, joined_late(self.flows, rings, self.period)])

    @cached_property
    def work_relevant(self) -> NDArray[np.bool_]:
        """Mask of records of `around` that show whether a rank works: the job's own, and bulk that it sends away (a
        checkpoint).

        Answers to a monitor and fetched data are neither the end of own work nor the end of a wait. Bulk is a hundredth of a
        rank's octets.
        """
        flows = self.around
        members = flows.among(self.job.endpoints)
        sends, hears = members.take(flows.src), members.take(flows.dst)
        inside = sends & hears
        away = np.flatnonzero(sends > hears)
        if not len(away):
            return inside
        ends, weight = np.concatenate([flows.src[inside], flows.dst[inside]]), np.tile(flows.octets[inside], 2)
        own = np.bincount(ends, weights=weight, minlength=len(members))
        pair = flows.src[away].astype(np.int64) * len(members) + flows.dst[away]
        pairs, place = np.unique(pair, return_inverse=True)
        bulk = np.bincount(place, weights=flows.octets[away], minlength=len(pairs))[place] >= c.BULK * own[flows.src[away]]
        inside[away[bulk]] = True
        return inside

    @cached_property
    def work(self) -> tuple[Floats, Floats, Floats]:
        """Typical piece of each rank's own work, the largest piece, and the sum, ns; float64[ranks, steps] each."""
        sends = self.rank_sends
        ends, cuts = on_end([steps[:, 1] for steps in self.timeline.steps])
        typical, largest, total = typical_works(sends.sent_ns, sends.work, sends.begins, ends, cuts)
        if self.parallelism.piped:
            every = self.by_kind(sends, self.codes, ends, cuts)
            typical = every.against * levels(every, self.stages[self.codes])[:, None]
        place = {address: i for i, address in enumerate(self.job.endpoints)}
        unseen = on_end([np.array([place[m] for m in members], np.int64) for members in self.parallelism.unseen])
        for work in (typical, largest, total):
            no_more_than_the_least(work, *unseen)  # their waits are invisible: if one of them waited, all did
        return typical, largest, total

    def by_kind(self, sends: RankSends, codes: Ints, ends: Ints, cuts: Ints) -> ByKind:
        """Own work of ranks of a pipeline by kind of message and number of stages to the receiver (`work_pieces.by_kind`)."""
        pp = self.parallelism.layout.pp
        kind = kinds_of(sends.message, sends.begins, self.stages[codes], self.stages, pp)
        return by_kind(sends.sent_ns, sends.work, kind, 4 * pp + 2, sends.begins, ends, cuts)

    @cached_property
    def pauses(self) -> list[Pause]:
        """Longest silence of each step, if it is longer than usual by the share `PAUSE` of a step."""
        flows, n = self.flows, len(self.ends)
        payload = ~flows.control()
        if n < c.SPAN or not payload.any():
            return []
        every = payload.all()  # as in most RDMA jobs
        begin, end = union(*(column if every else column[payload] for column in (flows.start_ns, flows.end_ns)))
        silence = begin[1:] - end[:-1]
        step = np.searchsorted(self.ends, begin[1:], "left")  # a silence belongs to the step that it delays
        most = np.zeros(n + 1, np.int64)
        highest(step, silence, most)
        first = np.flatnonzero(silence == most[step])[::-1]  # the first of equal silences of a step
        longest = {k: i for k, i in zip(step[first].tolist(), first.tolist(), strict=True) if 0 < k < n}
        if not longest:
            return []
        usual = float(np.median([silence[i] for i in longest.values()]))
        long = {
            k
            for k, i in longest.items()
            if silence[i] - usual >= c.PAUSE * self.period and silence[i] >= c.LONG_SILENCE * usual
        }  # adjacent long silences are slow steps, not pauses
        alone = [(k, longest[k]) for k in sorted(long) if not long & {k - 1, k + 1}]
        return [Pause(k, int(end[i]), int(begin[i + 1]), int(silence[i] - usual)) for k, i in alone]

    @cached_property
    def stages(self) -> Ints:
        """Pipeline stage of each endpoint of `flows`, -1 if unknown; int64[endpoints]."""
        return np.array([self.parallelism.stages.get(address, -1) for address in self.flows.endpoints], np.int64)
