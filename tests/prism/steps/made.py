"""Jobs whose steps are known: data parallel, with a hang, cut anywhere, and with a scalar reduction at the end of each step."""

import numpy as np

from prism.steps.record_sequences import sequences_of
from tests.prism.evidence.made import MS, Wire


def buckets(steps=10, period=100, jitter=0.0, hang=(), seed=0, signal=True):
    """Four ranks; three buckets in the second half of a step, then a small reduction. Also when each step ends."""
    wire, rng, at, ends = Wire([f"a{i}" for i in range(4)]), np.random.default_rng(seed), 0.0, []
    for step in range(steps):
        length = period * float(np.exp(jitter * rng.standard_normal()))
        for bucket in range(3):
            wire.ring([0, 1, 2, 3], at + length * (0.4 + 0.15 * bucket), 2_000_000, long=length / 200)
        if signal:
            wire.ring([0, 1, 2, 3], at + length * 0.85, 4096, rounds=1, long=length / 200)
        ends.append(wire.rows[-1][1])
        at += length + (period * 20 if step in hang else 0)
    return wire, np.array(ends)


def sequences(wire):
    flows = wire.flows()
    return sequences_of(flows, np.arange(len(flows)))


__all__ = ["MS", "buckets", "sequences"]
