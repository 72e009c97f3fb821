"""From a specification and a seed to flows, transits, truth and topology."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from collectors.record import Flows, Transits
from prism.synth.cluster import Plant, build
from prism.synth.degrade import degraded, window
from prism.synth.fabric import Window
from prism.synth.nuisances import disturbances
from prism.synth.run import NETWORK, Attempt, attempt
from prism.synth.spec import Spec
from prism.synth.traffic import Rows, flows_of, rows_of, transits_of
from prism.synth.trains import departures
from prism.synth.truth import truth_of


class Simulation(NamedTuple):
    """What collection would have given, and what was really there."""

    flows: Flows
    transits: Transits
    truth: dict[str, Any]
    topology: dict[str, Any]


class Planned(NamedTuple):
    """The same run before packets are made of it: what is sent, where, and when collection ran, ns since the start."""

    plant: Plant
    parts: list[Rows]
    seen: tuple[float, float]
    truth: dict[str, Any]


def simulate(spec: Spec, seed: int = 0) -> Simulation:
    """Simulate; the same spec and seed give the same answer. Raises ValueError where a spec makes no sense."""
    plant = build(spec.cluster)
    attempts = _attempts(spec, plant, seed)
    rng = np.random.default_rng([seed, 1 << 20])
    parts = [rows for done in attempts for rows in rows_of(done)] + disturbances(spec, attempts, plant, rng)
    flows, transits = flows_of(parts, plant, spec.start_ns), transits_of(attempts, plant, spec.start_ns)
    seen = (int(flows.start_ns.min()), int(flows.end_ns.max())) if len(flows) else (0, 0)
    seen = window(seen, spec.degradation.keep) if spec.degradation.keep < 1 else (0, 1 << 63)
    flows, transits = degraded(flows, transits, spec.degradation, seen, rng)
    return Simulation(flows, transits, truth_of(spec, attempts, plant, seen), plant.topology())


def plan(spec: Spec, seed: int = 0) -> Planned:
    """The run `simulate` gives the flows of, for packets. Raises as it does."""
    plant = build(spec.cluster)
    attempts = _attempts(spec, plant, seed)
    rng = np.random.default_rng([seed, 1 << 20])
    parts = [rows for done in attempts for rows in departures(done)] + disturbances(spec, attempts, plant, rng)
    times = [(part.columns["start_ns"].min(), part.columns["end_ns"].max()) for part in parts if len(part)]
    seen = (round(min(a for a, _ in times)), round(max(b for _, b in times))) if times else (0, 0)
    seen = window(seen, spec.degradation.keep) if spec.degradation.keep < 1 else (-(1 << 62), 1 << 62)
    told = seen[0] + spec.start_ns, seen[1] + spec.start_ns
    return Planned(plant, parts, seen, truth_of(spec, attempts, plant, told))


def _attempts(spec: Spec, plant: Plant, seed: int) -> list[Attempt]:
    """All attempts of all jobs; those with faults of the network first, since these hit the others too."""
    attempts: list[Attempt] = []
    troubled = {f.job for f in spec.faults if f.kind in NETWORK}
    windows: list[Window] = []
    for number, job in sorted(enumerate(spec.jobs), key=lambda one: one[1].name not in troubled):
        rng = np.random.default_rng([seed, number])
        faults = tuple(f for f in spec.faults if f.job == job.name)
        done = attempt(job, plant, faults, windows, rng, job.begin_s * 1e9, job.name)
        attempts.append(done)
        windows = windows + done.windows
        again = next((f.restart_s for f in faults if f.kind == "crash" and f.restart_s is not None), None)
        if done.crashed and again is not None:
            attempts.append(attempt(job, plant, (), windows, rng, done.over + again * 1e9, f"{job.name}-restart"))
    return attempts
