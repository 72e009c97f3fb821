"""Simulate durations of work: jitter, spikes, uneven ranks, other load, slow and stopped ranks, imbalances, late input."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from prism.synth.scenario.cluster import Ints
from prism.synth.scenario.specification import Fault, Job
from prism.synth.training.fabric import NEVER_NS, Floats


@dataclass
class Stall:
    """A rank that stops inside a step, and the time of the stop, ns (unknown before)."""

    fault: Fault
    pending: bool = True
    begin: float = NEVER_NS

    @property
    def length(self) -> float:
        """Duration, ns."""
        return NEVER_NS if self.fault.kind == "crash" else self.fault.seconds * 1e9


@dataclass
class Work:
    """Durations of the pieces of work of one job's ranks. Arrays are over ranks."""

    job: Job
    rng: np.random.Generator
    faults: tuple[Fault, ...]
    host: Ints
    step: int = 0
    stalls: list[Stall] = field(default_factory=list)

    def __post_init__(self) -> None:
        job = self.job
        self.usual = np.exp(self.rng.normal(0, job.uneven_ranks, job.world))
        self.usual = self.usual[np.arange(job.world) // job.tp * job.tp]  # TP partners share each piece of work
        self.factor = self.usual
        self.length = 1.0  # sequence length of the step, relative to the usual
        self.stalls = [Stall(f) for f in self.faults if f.kind in ("hang", "crash")]
        self.replica = np.arange(job.world) % (job.world // job.pp) // (job.cp * job.tp)  # all its ranks get the same data
        self.input_waits: list[tuple[Fault, int]] = []  # input stalls, and the step of each
        self.tokens = np.ones(job.world)  # tokens that the experts of each rank get in this step, relative to the usual

    def begin(self, step: int) -> None:
        """Draw the speed of each rank in this step."""
        self.step = step
        factor = self.usual.copy()
        for fault in self.faults:
            if fault.kind == "compute_slow" and fault.active(step):
                factor[list(fault.ranks)] *= fault.factor
        if self.job.foreign:
            loaded = np.unique(self.host)[self.rng.random(len(np.unique(self.host))) < self.job.foreign]
            factor = np.where(np.isin(self.host, loaded), factor * (1 + 0.5 * self.rng.random()), factor)
        self.factor = factor
        if self.job.lengths:
            self.length = float(np.exp(self.rng.normal(0, self.job.lengths)))
        self.tokens = np.ones(self.job.world)
        for fault in self._now("data_imbalance"):
            if fault.experts:
                self.tokens *= np.exp(self.rng.normal(0, fault.spread, self.job.world))

    def _now(self, kind: str) -> list[Fault]:
        """Faults of a kind that act in this step."""
        return [fault for fault in self.faults if fault.kind == kind and fault.active(self.step)]

    def lengths(self, n: int) -> Floats:
        """Draw the sequence lengths of n micro-batches, relative to the usual."""
        spread = self.job.micro_lengths
        return np.asarray(self.length * np.exp(self.rng.normal(0, spread, n)) if spread else np.full(n, self.length))

    def loads(self, n: int) -> Floats:
        """Draw the work that n micro-batches of each rank need, relative to the usual; float64[ranks, n]."""
        out = np.ones((self.job.world, n))
        for fault in self._now("data_imbalance"):
            if not fault.experts:
                out *= np.exp(self.rng.normal(0, fault.spread, (self.job.dp, n)))[self.replica]
        return out

    def heavier(self, stage: int) -> float:
        """Factor on forward and backward of a pipeline stage in this step."""
        return math.prod(fault.factor for fault in self._now("stage_imbalance") if fault.stage == stage)

    def data_wait(self) -> Floats:
        """Draw the data waiting time of each rank, ns."""
        took, job = self.work_time(np.arange(self.job.world), self.job.load_ms), self.job
        for fault in self._now("input_stall"):
            if fault.chance >= 1 or self.rng.random() < fault.chance:
                took = took + fault.seconds * 1e9
                self.input_waits.append((fault, self.step))
        if not job.stall_chance:
            return took
        late = self.rng.random(job.world) < job.stall_chance
        return np.asarray(took + late * job.stall_ms * 1e6 * self.rng.uniform(0.5, 1.5, job.world))

    def work_time(self, ranks: Ints, ms: Floats | float) -> Floats:
        """Compute the duration of a piece of `ms` of undisturbed work for the given ranks, ns."""
        n, job = len(ranks), self.job
        noise = np.exp(self.rng.normal(0, job.jitter, n))
        noise = np.where(self.rng.random(n) < job.spike_chance, noise * job.spike_factor, noise)
        return np.asarray(np.asarray(ms) * 1e6 * noise * self.factor[ranks])

    def stalled(self, ranks: Ints, begun: Floats, ended: Floats) -> tuple[Floats, float]:
        """Compute the extra time of pieces in which a rank stops, ns, and the share of its piece before the stop."""
        extra, at = np.zeros(len(ranks)), 1.0
        for stall in self.stalls:
            if stall.pending and stall.fault.first == self.step:
                hit = np.isin(ranks, stall.fault.ranks)
                if hit.any():
                    at = float(self.rng.uniform(0.2, 0.8))
                    stall.pending, stall.begin = False, float((begun + at * (ended - begun))[hit].min())
                    extra[hit] = stall.length
        return extra, at
