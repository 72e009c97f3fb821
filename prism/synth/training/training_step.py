"""Simulate a training step, operation by operation: pipelined micro-batches, gradient reduction, optimizer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from prism.synth.scenario.cluster import Ints
from prism.synth.scenario.pipeline_schedule import Task, levels
from prism.synth.scenario.rank_places import Ranks
from prism.synth.scenario.specification import Job
from prism.synth.training.collectives import Collectives
from prism.synth.training.fabric import Floats
from prism.synth.training.faults import Work

# separate connections per kind of group
LANES = {"pp": 1, "dp": 2, "tp": 3, "cp": 4, "ep": 5, "edp": 6, "world": 7, "tied": 8}


class Piece(NamedTuple):
    """A piece of work of some ranks with its times, ns: load, forward, backward or optimizer."""

    kind: str
    ranks: Ints
    begin: Floats
    end: Floats


@dataclass
class Clock:
    """Current time of every rank, ns: `now` in its work, `communicated` at the end of its last communication.

    `worked`: its work.
    """

    now: Floats
    communicated: Floats
    worked: list[Piece] = field(default_factory=list)

    def work(self, kind: str, took: Floats) -> None:
        """Advance all ranks by their work time, ns."""
        self.worked.append(Piece(kind, np.arange(len(took)), self.now, self.now + took))
        self.now = self.now + took

    def wait_until(self, done: Floats) -> None:
        """Advance all ranks to `done`, the end of their communication."""
        self.communicated = np.maximum(self.communicated, done)
        self.now = np.maximum(self.now, done)


class Trainer:
    """Simulates the steps of a job with pipeline, tensor, context, expert and data parallelism."""

    def __init__(self, job: Job, ranks: Ranks, talk: Collectives, work: Work, rng: np.random.Generator) -> None:
        self.job, self.ranks, self.talk, self.work, self.rng = job, ranks, talk, work, rng
        self.levels = levels(job.schedule, job.pp, job.micro, job.chunks)
        self.lengths = np.ones(job.micro)  # sequence lengths of the micro-batches, relative to the usual
        self.loads = np.ones((job.world, job.micro))  # further work of each rank's micro-batches, relative to the usual
        self.chunks = max(t.virtual for level in self.levels for t in level) // job.pp + 1
        self.of_stage = [np.flatnonzero(ranks.stage == s) for s in range(job.pp)]
        self.beside = job.world // job.pp  # ranks of a stage
        self.tp_wired = job.tp > 1 and job.tensor_octets > 0 and bool((work.host[ranks.tp] != work.host[ranks.tp[:, :1]]).any())

    def step(self, clock: Clock) -> None:
        """Simulate forward, backward, reduction and optimizer."""
        job = self.job
        ready = np.zeros((job.buckets, job.world))
        for _ in range(job.accumulation):
            ready = self.pipeline(clock)
        self.reduce(clock, ready)
        if job.tied_octets and job.pp > 1:
            ends = self.ranks.pp[:, [0, -1]]
            clock.wait_until(self.talk.reduce(LANES["tied"], ends, job.tied_octets, clock.now, "ring"))
        clock.work("optimizer", self.work.work_time(np.arange(job.world), job.optimizer_ms))
        if job.zero1:
            gathered = self.talk.reduce(LANES["dp"], self.ranks.dp, job.gradient_octets, clock.now, job.algorithm, half=True)
            clock.wait_until(gathered)

    def pipeline(self, clock: Clock) -> Floats:
        """Simulate all micro-batches of a step; return when each bucket of gradients was ready on each rank, ns."""
        self.lengths, self.loads = self.work.lengths(self.job.micro), self.work.loads(self.job.micro)
        shape = (2, self.chunks * self.job.pp, self.job.micro, self.beside)
        done = np.zeros(shape)
        ready = np.zeros((self.job.buckets, self.job.world))
        busy = np.zeros((2, self.job.world))  # end of the last message to each rank, by direction
        for number, level in enumerate(self.levels):
            tasks = level
            ranks = np.concatenate([self.of_stage[t.stage] for t in tasks])
            arrived = self._arrivals(clock, tasks, done, busy)
            begun = np.maximum(clock.now[ranks], arrived)
            clock.communicated[ranks] = np.maximum(clock.communicated[ranks], arrived)
            ended = self._work(clock, ranks, tasks, begun)
            stop, at = self.work.stalled(ranks, begun, ended) if number >= len(self.levels) // 2 else (begun * 0, 1.0)
            span, ended = ended - begun, ended + stop
            clock.now[ranks] = ended
            for i, task in enumerate(tasks):
                own = slice(i * self.beside, (i + 1) * self.beside)
                done[int(task.back), task.virtual, task.micro] = ended[own]
                if task.back:
                    share = np.arange(1, self.job.buckets + 1)[:, None] / self.job.buckets
                    ready[:, self.of_stage[task.stage]] = begun[own] + span[own] * share + stop[own] * (share > at)
        return ready if self.job.overlap else np.broadcast_to(clock.now, ready.shape)

    def _arrivals(self, clock: Clock, tasks: list[Task], done: Floats, busy: Floats) -> Floats:
        """Compute the arrival of each task's input, by rank in order of tasks; 0 if none is needed."""
        job, arrived = self.job, np.zeros((len(tasks), self.beside))
        last = self.chunks * job.pp - 1
        free = clock.now.copy()  # time at which a rank has returned gradients and requests the next activations
        for back in (True, False):
            needy = [i for i, t in enumerate(tasks) if t.back == back and t.virtual != (last if back else 0)]
            if not needy:
                continue
            origin = [tasks[i].virtual + (1 if back else -1) for i in needy]
            src = np.concatenate([self.of_stage[v % job.pp] for v in origin])
            dst = np.concatenate([self.of_stage[tasks[i].stage] for i in needy])
            ready = np.concatenate([done[int(back), v, tasks[i].micro] for v, i in zip(origin, needy, strict=True)])
            ready = np.maximum(ready, busy[int(back), dst])
            each = np.array([job.activation_octets * self.lengths[tasks[i].micro] for i in needy]).astype(np.int64)
            octets = np.repeat(np.maximum(each, 1), self.beside)
            end = self.talk.send(LANES["pp"], src, dst, octets, ready, (clock.now if job.batched or back else free)[dst])
            free[src] = np.maximum(free[src], end)
            busy[int(back), dst] = end
            clock.communicated[src] = np.maximum(clock.communicated[src], end)
            arrived[needy] = end.reshape(len(needy), self.beside)
        return arrived.ravel()

    def _work(self, clock: Clock, ranks: Ints, tasks: list[Task], begun: Floats) -> Floats:
        """Compute the end of tasks, including the collectives inside them."""
        job = self.job
        ms = np.repeat([self._cost(t) for t in tasks], self.beside)
        ms = ms * self.loads[ranks, np.repeat([t.micro for t in tasks], self.beside)]
        now = begun
        calls = job.tensor_calls if self.tp_wired else 0
        rounds = 2 * job.expert_layers if job.expert_octets and job.ep > 1 else 0
        pieces = max(calls, rounds, 1)
        whole = np.full(job.world, -1.0)
        for k in range(pieces):
            given = self.work.tokens[ranks] if k % 2 and rounds else 1.0  # between the all-to-alls the experts work
            ended = now + self.work.work_time(ranks, ms / pieces * given)
            clock.worked += self._pieces(tasks, ranks, now, ended)
            now = ended
            whole[:] = clock.now
            whole[ranks] = now
            if k < calls:
                whole = self.talk.reduce(
                    LANES["tp"], self._active(self.ranks.tp, ranks), self._grown(job.tensor_octets), whole, "ring"
                )
            elif job.tp > 1:
                whole[self.ranks.tp] = whole[self.ranks.tp].max(axis=1, keepdims=True)
            if k < rounds:
                whole = self._experts(ranks, whole)
            if k == 0 and job.cp > 1 and job.context_octets:
                whole = self.talk.ring_pass(
                    LANES["cp"], self._active(self.ranks.cp, ranks), self._grown(job.context_octets), whole
                )
            if pieces > 1 or job.cp > 1:
                clock.communicated[ranks] = np.maximum(clock.communicated[ranks], whole[ranks])
            now = whole[ranks]
        return now

    def _pieces(self, tasks: list[Task], ranks: Ints, begun: Floats, ended: Floats) -> list[Piece]:
        """List the activities by task; ranks in order of tasks."""
        own = [slice(i * self.beside, (i + 1) * self.beside) for i in range(len(tasks))]
        return [
            Piece("backward" if t.back else "forward", ranks[at], begun[at], ended[at])
            for t, at in zip(tasks, own, strict=True)
        ]

    def _experts(self, ranks: Ints, whole: Floats) -> Floats:
        """Simulate one all-to-all of every expert group, with varying volumes."""
        groups = self._active(self.ranks.ep, ranks)
        n = self.job.ep
        share = np.exp(self.rng.normal(0, self.job.expert_spread, (len(groups), n, n)))
        share = share * self.work.tokens[groups][:, None, :] / share.sum(axis=2, keepdims=True)
        return self.talk.exchange(LANES["ep"], groups, (share * self._grown(self.job.expert_octets)).astype(np.int64), whole)

    def _active(self, groups: Ints, ranks: Ints) -> Ints:
        """Select the groups whose members are active; either all or no ranks of a stage are."""
        return groups if len(ranks) == self.job.world else groups[np.isin(groups[:, 0], ranks)]

    def _grown(self, octets: int) -> int:
        """Scale octets of activations to the step's sequence length."""
        return max(round(octets * self.work.length), 1)

    def _cost(self, task: Task) -> float:
        job = self.job
        ms = (job.backward_ms if task.back else job.forward_ms) / self.chunks * float(self.lengths[task.micro])
        return ms * (job.uneven if task.stage in (0, job.pp - 1) else 1.0) * self.work.heavier(task.stage)

    def reduce(self, clock: Clock, ready: Floats) -> None:
        """Reduce gradients bucket by bucket; those of experts over the ranks with the same experts."""
        job, ranks = self.job, self.ranks
        if ranks.dp.shape[1] < 2:
            clock.now = np.maximum(clock.now, ready[-1])
            return
        size, done = job.gradient_octets // job.buckets, clock.now * 0
        for bucket in ready:
            joined = np.maximum(bucket, done)
            done = self.talk.reduce(LANES["dp"], ranks.dp, size, joined, job.algorithm, half=job.zero1)
            if job.ep > 1:
                done = self.talk.reduce(LANES["edp"], ranks.edp, size, done, job.algorithm)
        clock.wait_until(done)
