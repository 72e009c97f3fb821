"""From a specification and a seed to flows, transits, truth and topology."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from collectors.record import Flows, Transits
from prism.synth.cluster import build
from prism.synth.degrade import degraded, window
from prism.synth.fabric import Window
from prism.synth.nuisances import disturbances
from prism.synth.run import NETWORK, Attempt, attempt
from prism.synth.spec import Spec
from prism.synth.traffic import flows_of, rows_of, transits_of
from prism.synth.training import Piece
from prism.synth.truth import truth_of


class Simulation(NamedTuple):
    """What collection would have given, and what was really there; `worked` by job, times since the simulation's start."""

    flows: Flows
    transits: Transits
    truth: dict[str, Any]
    topology: dict[str, Any]
    worked: dict[str, list[Piece]]


def simulate(spec: Spec, seed: int = 0) -> Simulation:
    """Simulate; the same spec and seed give the same answer. Raises ValueError where a spec makes no sense."""
    plant = build(spec.cluster)
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
    rng = np.random.default_rng([seed, 1 << 20])
    parts = [rows for done in attempts for rows in rows_of(done)] + disturbances(spec, attempts, plant, rng)
    flows, transits = flows_of(parts, plant, spec.start_ns), transits_of(attempts, plant, spec.start_ns)
    seen = (int(flows.start_ns.min()), int(flows.end_ns.max())) if len(flows) else (0, 0)
    seen = window(seen, spec.degradation.keep) if spec.degradation.keep < 1 else (0, 1 << 63)
    flows, transits = degraded(flows, transits, spec.degradation, seen, rng)
    worked = {done.name: done.worked for done in attempts}
    return Simulation(flows, transits, truth_of(spec, attempts, plant, seen), plant.topology(), worked)
