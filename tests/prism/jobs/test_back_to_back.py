import numpy as np
import pytest

from prism.jobs.back_to_back import only_transfers
from prism.model import PHASES, Phases
from tests.prism.traffic import MS, T0, Wire, address

RANKS = [address(i) for i in range(4)]


def ring(rests_ms):
    """Rounds of 1 ms around a ring, and a rest after each."""
    wire, at = Wire(), float(T0)
    for rest in rests_ms:
        for rank in range(4):
            wire.send(rank, (rank + 1) % 4, 1_250_000, at)
        at += (1 + rest) * MS
    return wire.flows()


def throughout(flows, phase):
    """All ranks in one phase from the first record to the last."""
    start, end = (np.full(4, time) for time in flows.window)
    return Phases(start, end, np.arange(4, dtype=np.int32), np.zeros(4, np.int32), np.full(4, PHASES.index(phase), np.int8))


@pytest.mark.parametrize(
    ("rests_ms", "phase", "only"),
    [
        ([0.0] * 60, "compute", True),  # the records know better
        ([0.1] * 60, "dp", True),  # rounds follow each other, a little later each time
        ([0.1] * 60, "compute", False),
        (([0.0] * 9 + [3.0]) * 6, "dp", False),  # reductions with work between them
    ],
)
def test_who_rests_for_longer_than_a_transfer_takes_computes(rests_ms, phase, only):
    flows = ring(rests_ms)
    assert only_transfers(flows, throughout(flows, phase), RANKS) == only
