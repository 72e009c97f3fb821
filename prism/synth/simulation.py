"""Simulate flows, transits, truth and topology from a specification and a seed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from collectors.columns.record import Flows, Transits
from prism.synth.capture.collection_losses import Collection, window
from prism.synth.capture.other_traffic import disturbances
from prism.synth.capture.transfer_records import attempt_records, flows_of, transits_of
from prism.synth.endless_simulation import simulate_attempts
from prism.synth.scenario.cluster import build
from prism.synth.scenario.specification import Spec
from prism.synth.training.training_step import Piece
from prism.synth.truth import truth_of


class Simulation(NamedTuple):
    """Collected data and the truth; `worked` by job, times since the simulation's start."""

    flows: Flows
    transits: Transits
    truth: dict[str, Any]
    topology: dict[str, Any]
    worked: dict[str, list[Piece]]


def simulate(spec: Spec, seed: int = 0) -> Simulation:
    """Simulate; the same specification and seed give the same result. Raises ValueError for an invalid specification."""
    plant = build(spec.cluster)
    attempts = simulate_attempts(spec, plant, seed) or []
    rng = np.random.default_rng([seed, 1 << 20])
    parts = [rows for done in attempts for rows in attempt_records(done)] + disturbances(spec, attempts, plant, rng)
    flows, transits = flows_of(parts, plant, spec.start_ns), transits_of(attempts, plant, spec.start_ns)
    seen = (int(flows.start_ns.min()), int(flows.end_ns.max())) if len(flows) else (0, 0)
    seen = window(seen, spec.degradation.keep) if spec.degradation.keep < 1 else (0, 1 << 63)
    flows, transits = Collection(spec.degradation, seen, rng).degrade(flows, transits)
    worked = {done.name: done.worked for done in attempts}
    return Simulation(flows, transits, truth_of(spec, attempts, plant, seen), plant.topology(), worked)
