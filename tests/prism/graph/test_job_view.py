import numpy as np
import pytest

from prism.loops.detection.own_work import step_end_mask
from tests.prism.faults import BAD, RANK, RANKS, case
from tests.prism.traffic import MS, T0, Wire


def test_own_work_is_the_rank_s_own():
    typical, largest, total = case("slow rank").work
    assert typical.shape == largest.shape == total.shape == (RANKS, 14)
    work = typical[:, 1:] / MS  # the beginning of the first step was not seen
    slow = np.zeros(work.shape, bool)
    slow[RANK, BAD.start - 1 : BAD.stop - 1] = True
    assert work[slow] == pytest.approx(np.full(5, 105), rel=0.1)
    assert np.median(work[~slow]) == pytest.approx(60, rel=0.05)


def test_words_said_when_a_step_is_done_are_nobodys_work():
    """All ranks send a message after the last has finished; a message before further payload is the rank's own."""
    wire = Wire(jitter_ns=1001)
    for step in range(3):
        at = T0 + step * 1000 * MS
        wire.send(0, 1, 64, at + 100 * MS)  # it is ready
        wire.send(0, 1, 1_000_000, at + 101 * MS)
        wire.send(1, 0, 1_000_000, at + 101 * MS)
        wire.send(0, 1, 64, at + 700 * MS)
    flows = wire.flows()
    talks, hears = np.flatnonzero(flows.src == 0), np.flatnonzero(flows.dst == 0)
    ends = T0 + np.arange(3) * 1000 * MS + 701 * MS
    told = flows.control(), flows.start_ns, flows.end_ns, talks, hears
    assert step_end_mask(*told, ends).tolist() == [False, False, True] * 3
    assert not step_end_mask(*told, ends - 500 * MS).any()
