import numpy as np

from prism.evidence.lockstep import drift_of
from tests.prism.evidence.made import Wire, evidence


def test_twins_of_a_host_drift_less_than_replicas():
    wire = Wire(["a0", "a1", "a2", "b0", "b1", "b2"])
    for step in range(10):
        late = float(wire.rng.normal(0, 3))
        for k in range(2):
            wire.send(0, 3, step * 100 + 10 * k, 1_000_000)
            wire.send(1, 4, step * 100 + 10 * k + 0.01, 1_000_000)
            wire.send(2, 5, step * 100 + 10 * k + late, 1_000_000)
    _, _, found, _ = evidence(wire, [0, 0, 0, 1, 1, 1])
    drift = drift_of(found, [0, 0, 0, 1, 1, 1])
    apart = {(a, b): d for a, b, d in zip(drift.first.tolist(), drift.second.tolist(), drift.apart.tolist(), strict=True)}
    assert apart[0, 1] + np.log(10) < min(apart[0, 2], apart[1, 2])
