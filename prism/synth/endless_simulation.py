"""Simulate a run in order of time and bounded memory: step by step, always the job that is furthest behind.

Required knowledge of the whole run (effects of other jobs' network faults, times of reads and pauses) comes from a rehearsal
that stores no transfers. TCP jobs store theirs to the end, because bursts may continue and connections open at the start. A
short run is simulated at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from prism.synth.capture.collection_losses import window
from prism.synth.capture.other_traffic import disturbances
from prism.synth.capture.packet_trains import departures, rdma_departures
from prism.synth.capture.transfer_records import Rows, attempt_records, rdma_records
from prism.synth.scenario.cluster import Plant, build
from prism.synth.scenario.specification import Job, Spec
from prism.synth.training.fabric import Batch, Window
from prism.synth.training.job_run import FAR_NS, NETWORK, Attempt, Run
from prism.synth.truth import truth_of

Extent = tuple[float, float]


class EndlessRun:
    """A run that can be played once. `packets`: rows for `packet_trains`, else records. `most`: transfers stored at once.

    After `pieces` is exhausted, `attempts` has the simulated attempts, and `rng` the random state for degradation.
    """

    def __init__(self, spec: Spec, seed: int, *, packets: bool = False, most: int = 1_000_000) -> None:
        self.spec, self.seed, self.packets, self.most = spec, seed, packets, most
        self.plant = build(spec.cluster)
        self.rng = np.random.default_rng([seed, 1 << 20])
        self.attempts: list[Attempt] = []
        self.seen: tuple[int, int] = (-(1 << 62), 1 << 62)

    def pieces(self) -> Iterator[tuple[list[Rows], float]]:
        """Yield rows with a time, ns: all rows of a piece start before it, and all later rows start at or after it."""
        whole = simulate_attempts(self.spec, self.plant, self.seed, self.most)
        if whole is not None:
            self.attempts = whole
            parts = [rows for done in whole for rows in self._rows(done)]
            parts += disturbances(self.spec, whole, self.plant, self.rng)
            self._see(_extent(parts))
            yield parts, FAR_NS
            return
        rehearsed, extent = self._rehearsed() if _needs_rehearsal(self.spec) else ([], (0.0, 0.0))
        other = disturbances(self.spec, rehearsed, self.plant, self.rng) if rehearsed else []
        self._see(_joint([extent, *([_extent(other)] if other else [])]))
        yield from self._merged(rehearsed, other)

    def truth(self) -> dict[str, Any]:
        """Return the truth, after `pieces` is exhausted."""
        begin, end = (edge + self.spec.start_ns for edge in self.seen)
        return truth_of(self.spec, self.attempts, self.plant, (begin, end))

    def _see(self, life: Extent) -> None:
        """Fix the time of collection if it covers only a part."""
        if self.spec.degradation.keep < 1:
            self.seen = window((round(life[0]), round(life[1])), self.spec.degradation.keep)

    def _rows(self, done: Attempt) -> list[Rows]:
        return departures(done) if self.packets else attempt_records(done)

    def _rehearsed(self) -> tuple[list[Attempt], Extent]:
        """Simulate all attempts without their transfers; return also the time of the first and last transfer."""
        attempts: list[Attempt] = []
        extents: list[Extent] = []
        for number, job in in_order(self.spec):
            windows = [w for done in attempts for w in done.windows]
            for run in job_attempts(self.spec, number, self.plant, self.seed, windows):
                for _ in run.steps():
                    extents += _extents(run.fabric.sent) + _extents(run.fabric.messages)
                    run.taken()
                done = run.finish()
                extents += _extents(done.sent) + _extents(done.messages)
                extents += [(done.begin, done.over + 5e4)] if job.transport == "tcp" else []
                done.sent, done.messages = [], []
                attempts.append(done)
        return attempts, _joint(extents)

    def _played(self, number: int, windows: list[Window], attempts: list[Attempt]) -> Iterator[tuple[list[Rows], float]]:
        """Yield rows of a job after each step, with the time, ns, after which all others start. Adds to the attempts."""
        job = self.spec.jobs[number]
        between = rdma_departures if self.packets else rdma_records
        for run in job_attempts(self.spec, number, self.plant, self.seed, windows):
            crash = min((f.first for f in run.faults if f.kind == "crash"), default=job.steps)
            for step, later in enumerate(run.steps()):
                if job.transport == "rdma" and step < crash:
                    yield between(job, *run.taken()), later
            done = run.finish()
            attempts.append(done)
            rows, done.sent, done.messages = self._rows(done), [], []
            yield rows, run.again

    def _merged(self, rehearsed: list[Attempt], other: list[Rows]) -> Iterator[tuple[list[Rows], float]]:
        """Merge rows of all jobs and of other traffic in order of time."""
        jobs, order = self.spec.jobs, in_order(self.spec)
        own: dict[int, list[Attempt]] = {number: [] for number, _ in order}
        sources, earlier = {}, list[str]()
        for number, job in order:
            windows = [w for done in rehearsed if done.job.name in earlier for w in done.windows]
            sources[number] = self._played(number, windows, own[number])
            earlier.append(job.name)
        later = {number: job.begin_s * 1e9 for number, job in enumerate(jobs)}
        waiting: dict[tuple[int, int], list[Rows]] = {(len(jobs), i): [rows] for i, rows in enumerate(other)}
        count = 0
        while later:
            number = min(later, key=lambda n: later[n])
            parts, later[number] = next(sources[number])
            for i, rows in enumerate(parts):
                waiting.setdefault((number, i), []).append(rows)
                count += len(rows)
            if later[number] >= FAR_NS:
                del later[number]
            if count >= self.most and later:
                edge = self._edge(min(later.values()))
                yield _split(waiting, edge), edge
                count = sum(len(rows) for some in waiting.values() for rows in some)
        self.attempts = [done for number, _ in order for done in own[number]]
        yield _split(waiting, FAR_NS), FAR_NS

    def _edge(self, until: float) -> float:
        """Round the end of a piece: to whole nanoseconds, or to the end of a bin if records are summed."""
        bin_ns = round(self.spec.degradation.aggregate_s * 1e9) or 1
        start = self.spec.start_ns % bin_ns
        return (math.floor(until) + start) // bin_ns * bin_ns - start


def _split(waiting: dict[tuple[int, int], list[Rows]], edge: float) -> list[Rows]:
    """Take the rows that start before the edge out of the waiting ones, in order of their keys."""
    out = []
    for key in sorted(waiting):
        keep = []
        for rows in waiting[key]:
            ready = np.rint(rows.columns["start_ns"]) < edge
            out.append(Rows({name: column[ready] for name, column in rows.columns.items()}))
            if not ready.all():
                keep.append(Rows({name: column[~ready] for name, column in rows.columns.items()}))
        waiting[key] = keep
    return out


def job_attempts(spec: Spec, number: int, plant: Plant, seed: int, windows: list[Window]) -> Iterator[Run]:
    """Yield the attempts of a job, to be stepped and finished one after the other. `windows`: network faults of other jobs."""
    job, rng = spec.jobs[number], np.random.default_rng([seed, number])
    faults = tuple(f for f in spec.faults if f.job == job.name)
    run = Run(job, plant, faults, windows, rng, job.begin_s * 1e9, job.name)
    yield run
    while run.again < FAR_NS:
        windows = windows + run.own
        run = Run(job, plant, (), windows, rng, run.again, f"{job.name}-restart")
        yield run


def simulate_attempts(spec: Spec, plant: Plant, seed: int, max_records: float = np.inf) -> list[Attempt] | None:
    """Simulate all attempts of all jobs with their transfers; None if they make more than `max_records` records."""
    attempts: list[Attempt] = []
    count = 0
    for number, job in in_order(spec):
        windows = [w for done in attempts for w in done.windows]
        for run in job_attempts(spec, number, plant, seed, windows):
            known = 0
            for _ in run.steps():
                fresh = run.fabric.sent[known:]
                known += len(fresh)
                count += sum(max(len(b.start), int(b.octets.sum()) // job.message_octets) for b in fresh)
                if count > max_records:
                    return None
            attempts.append(run.finish())
    return attempts


def in_order(spec: Spec) -> list[tuple[int, Job]]:
    """Order jobs by number, those with network faults first, because these affect the others."""
    troubled = {f.job for f in spec.faults if f.kind in NETWORK}
    return sorted(enumerate(spec.jobs), key=lambda one: one[1].name not in troubled)


def _needs_rehearsal(spec: Spec) -> bool:
    """Check whether the first rows depend on the whole run."""
    nuisances = spec.nuisances.bulk_gbit > 0 or spec.nuisances.monitor or spec.degradation.keep < 1
    pauses = any(job.storage_octets or job.checkpoint_every for job in spec.jobs)
    return nuisances or pauses or (len(spec.jobs) > 1 and any(f.kind in NETWORK for f in spec.faults))


def _extent(parts: list[Rows]) -> Extent:
    times = [(float(rows.columns["start_ns"].min()), float(rows.columns["end_ns"].max())) for rows in parts if len(rows)]
    return _joint(times)


def _extents(batches: list[Batch]) -> list[Extent]:
    return [(float(b.start.min()), float(b.end.max())) for b in batches if len(b.start)]


def _joint(extents: list[Extent]) -> Extent:
    return (min(a for a, _ in extents), max(b for _, b in extents)) if extents else (0.0, 0.0)
