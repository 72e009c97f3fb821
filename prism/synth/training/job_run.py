"""Simulate one attempt of a job from its first step to its last, or to its crash."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from prism.synth.scenario.cluster import Plant
from prism.synth.scenario.rank_places import Ranks, place_ranks
from prism.synth.scenario.specification import Fault, Job
from prism.synth.training._sharded_step import ShardedTrainer
from prism.synth.training.collectives import Collectives
from prism.synth.training.fabric import NEVER_NS, Batch, Fabric, Floats, Window
from prism.synth.training.faults import Work
from prism.synth.training.training_step import LANES, Clock, Piece, Trainer

NETWORK = ("nic_throttle", "nic_loss", "uplink_throttle", "uplink_loss")
WORK = ("compute_slow", "stage_imbalance", "data_imbalance")
FAR_NS = 1e18  # ns, after all other times
NOTICE_NS = 2e6  # mean time until peers of a dead rank notice, ns


@dataclass
class Attempt:
    """Result of one attempt of a job. Times are ns since the simulation's start; `begins`, `ends`, `wires` are [steps, ranks].

    `worked`: work of ranks; `faults`: faults with their times. `closes`: when each rank closed its connections.
    """

    name: str
    job: Job
    ranks: Ranks
    begin: float
    begins: Floats
    ends: Floats
    wires: Floats
    sent: list[Batch]
    messages: list[Batch]
    windows: list[Window]
    pauses: list[tuple[str, int, float, float]]  # evaluation, checkpoint or sleep, after which step, from, to
    closes: Floats
    worked: list[Piece] = field(default_factory=list)
    faults: list[tuple[Fault, float, float]] = field(default_factory=list)
    crashed: bool = False

    @property
    def over(self) -> float:
        """Time at which the last rank closed its connections, ns."""
        return float(self.closes.max())


def attempt(
    job: Job, plant: Plant, faults: tuple[Fault, ...], windows: list[Window], rng: np.random.Generator, begin: float, name: str
) -> Attempt:
    """Simulate a job from `begin`, ns, at once; see `Run`."""
    run = Run(job, plant, faults, windows, rng, begin, name)
    for _ in run.steps():
        pass
    return run.finish()


class Run:
    """An attempt, step by step. `windows`: network faults defined by other jobs' steps."""

    def __init__(
        self,
        job: Job,
        plant: Plant,
        faults: tuple[Fault, ...],
        windows: list[Window],
        rng: np.random.Generator,
        begin: float,
        name: str,
    ) -> None:
        self.job, self.faults, self.rng, self.begin, self.name = job, faults, rng, begin, name
        self.ranks = place_ranks(job, plant)
        self.fabric = Fabric(plant, job, rng, list(windows), epoch=1000 * (name != job.name))
        self.talk = Collectives(self.fabric, self.ranks.endpoint, job.transport == "tcp")
        self.work = Work(job, rng, faults, plant.host[self.ranks.endpoint])
        self.trainer = (ShardedTrainer if job.mode == "fsdp" else Trainer)(job, self.ranks, self.talk, self.work, rng)
        self.clock = Clock(np.full(job.world, begin + 0.3e9) + rng.exponential(5e6, job.world), np.zeros(job.world))
        self.own = [_window(f, plant, self.ranks) for f in faults if f.kind in NETWORK]
        self.fabric.windows += self.own
        self.begins, self.ends, self.wires = list[Floats](), list[Floats](), list[Floats]()
        self.pauses = list[tuple[str, int, float, float]]()
        self.again = FAR_NS

    def steps(self) -> Iterator[float]:
        """Simulate; after each completed step, yield the time, ns, after which all later data is sent."""
        job, clock = self.job, self.clock
        for step in range(job.steps):
            for window in self.own:
                _open(window, step, clock)
            self.work.begin(step)
            self.begins.append(clock.now.copy())
            clock.work("load", self.work.data_wait())
            self.trainer.step(clock)
            if job.world_reduce:
                _world(self.talk, clock)
            self.ends.append(clock.now.copy())
            self.wires.append(clock.communicated.copy())
            if clock.now.max() >= NEVER_NS / 2:
                return
            self.pauses += _pause(job, step, clock)
            yield float(clock.now.min())

    def taken(self) -> tuple[list[Batch], list[Batch]]:
        """Return transfers and messages since the last call; `finish` will not have them."""
        taken = self.fabric.sent, self.fabric.messages
        self.fabric.sent, self.fabric.messages, self.clock.worked = [], [], []
        return taken

    def finish(self) -> Attempt:
        """Finish the attempt, with the remaining transfers. `again`: time of the restart, ns."""
        now, fabric = self.clock.now, self.fabric
        for window in self.own:
            window.end = min(window.end, float(np.median(now)))
        begun, ended, wired = np.stack(self.begins), np.stack(self.ends), np.stack(self.wires)
        whole = begun, ended, wired, fabric.sent, fabric.messages
        done = Attempt(self.name, self.job, self.ranks, self.begin, *whole, self.own, self.pauses, now, self.clock.worked)
        _list_faults(done, self.work, self.faults)
        done = _truncated(done, self.work, self.rng)
        after = next((f.restart_s for f in self.faults if f.kind == "crash" and f.restart_s is not None), None)
        self.again = done.over + after * 1e9 if done.crashed and after is not None else FAR_NS
        return done


def _window(fault: Fault, plant: Plant, ranks: Ranks) -> Window:
    leaf, spine = (plant.switches.index(name) if name else -1 for name in (fault.switch, fault.spine))
    return Window(fault, ranks.endpoint[list(fault.ranks)], leaf, NEVER_NS, spine=spine)


def _open(window: Window, step: int, clock: Clock) -> None:
    """Start and end a network fault when the first rank starts a step."""
    fault, now = window.fault, float(clock.now.min())
    if fault.first == step:
        window.begin = now
    if fault.stop == step:
        window.end = now


def _world(talk: Collectives, clock: Clock) -> None:
    """Pass a scalar around all ranks twice: no rank ends before all have joined."""
    ring = talk.endpoint
    for _ in range(2):
        when = np.full(len(ring), clock.now.max())
        arrives = talk.fabric.send_messages(LANES["world"], ring, np.roll(ring, 1), when, 68)
        clock.wait_until(np.roll(arrives, 1))


def _pause(job: Job, step: int, clock: Clock) -> list[tuple[str, int, float, float]]:
    """Simulate evaluation, checkpoint and sleep after a step."""
    out = []
    for kind, every, seconds in (
        ("eval", job.evaluate_every, job.evaluate_s),
        ("ckpt", job.checkpoint_every, 0.05 + job.checkpoint_octets / 2e9),
    ):
        if every and (step + 1) % every == 0 and step + 1 < job.steps:
            begin = float(clock.now.min())
            clock.now = np.full_like(clock.now, clock.now.max() + seconds * 1e9)
            out.append((kind, step, begin, float(clock.now.max())))
    if job.pause_s and step == job.pause_after and step + 1 < job.steps:
        begin = float(clock.now.min())
        clock.now = clock.now + job.pause_s * 1e9
        out.append(("pause", step, begin, float(clock.now.max())))
    return out


def _list_faults(done: Attempt, work: Work, faults: tuple[Fault, ...]) -> None:
    """List the start and end of each fault."""
    for stall in work.stalls:
        if not stall.pending:
            length = 0.0 if stall.fault.kind == "crash" else stall.length
            done.faults.append((stall.fault, stall.begin, stall.begin + length))
    done.faults += [(w.fault, w.begin, w.end) for w in done.windows if w.begin < NEVER_NS]
    n = len(done.ends)
    for fault in faults:
        if fault.kind in WORK and fault.first < n:
            stop = min(n if fault.stop is None else fault.stop, n)
            own = affected(fault, done.ranks) or slice(None)
            done.faults.append((fault, float(done.begins[fault.first, own].min()), float(done.ends[stop - 1, own].max())))
    for fault, step in work.input_waits:
        begin = float(done.begins[step].min())
        done.pauses.append((fault.kind, step, begin, float(done.begins[step].max()) + fault.seconds * 1e9))


def affected(fault: Fault, ranks: Ranks) -> list[int]:
    """Ranks that a fault names: its own, or those of its pipeline stage; none if it names no rank."""
    return list(fault.ranks) if fault.stage is None else np.flatnonzero(ranks.stage == fault.stage).tolist()


def _truncated(done: Attempt, work: Work, rng: np.random.Generator) -> Attempt:
    """Truncate a crashed attempt: an unfinished step, connections closed, the dead rank's first, nothing afterwards."""
    crash = next((s for s in work.stalls if s.fault.kind == "crash" and not s.pending), None)
    if crash is None:
        return done
    done.crashed = True
    closes = crash.begin + NOTICE_NS * (0.5 + rng.exponential(0.5, len(done.closes)))
    closes[list(crash.fault.ranks)] = crash.begin + 1e5
    if done.job.transport == "rdma":  # blocked peers notice after their last retry
        closes = np.where(closes > crash.begin + 1e5, closes + 3e9, closes)
    heard = done.job.transport == "tcp"
    latest = np.full(int(done.ranks.endpoint.max()) + 1, np.inf)
    latest[done.ranks.endpoint] = closes
    return replace(
        done,
        begins=done.begins[:-1],
        ends=done.ends[:-1],
        wires=done.wires[:-1],
        sent=[_until(b, latest, heard=heard) for b in done.sent],
        messages=[_until(b, latest, heard=heard) for b in done.messages],
        closes=closes,
    )


def _until(batch: Batch, latest: Floats, *, heard: bool) -> Batch:
    """Select the data sent before the sender closed its connections, with truncated transfers.

    If senders do not learn (`heard`) of a receiver's end (RDMA), their data is still sent, without an answer.
    """
    end = np.minimum(latest[batch.src], latest[batch.dst]) if heard else latest[batch.src]
    keep = batch.start < end
    length = np.maximum(batch.end - batch.start, 1.0)
    share = np.clip((end - batch.start) / length, 0.0, 1.0)
    octets = np.where(batch.octets > 256, (batch.octets * share).astype(np.int64) + 1, batch.octets)
    return Batch(
        batch.start[keep], np.minimum(batch.end, end)[keep], batch.src[keep], batch.dst[keep], octets[keep], batch.lane,
        batch.retransmits[keep], batch.spine[keep], batch.queue[keep], batch.turn[keep],
    )  # fmt: skip
