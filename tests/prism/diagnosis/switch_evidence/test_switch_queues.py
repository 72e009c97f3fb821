"""Test hops between switches on which packets wait."""

import numpy as np
import pytest

from collectors.columns.record import Transits
from prism.diagnosis.switch_evidence.switch_queues import queues, waiting
from prism.graph.job_view import View
from tests.prism.faults import BAD
from tests.prism.traffic import MS, placed, seen, training

RANKS = 8
TOPOLOGY = placed(RANKS)
SWITCHES = ("leaf0", "leaf1", "spine0")
HOPS = [(0, 2), (2, 1), (1, 2), (2, 0)]


def delayed(hops, waits_ms, *, extra_ms=60.0, clock_ms=0.0) -> View:
    """Build a ring over two leaves with longer steps in BAD, when packets wait on some hops; spine0's clock may be ahead."""
    wire = training(dp=RANKS, work=lambda step, _rank: 20.0 + extra_ms * (step in BAD))
    flows = wire.flows(TOPOLOGY)
    ends = seen(flows, TOPOLOGY).ends
    step, (sender, receiver) = np.repeat(np.arange(len(ends)), len(HOPS)), np.tile(HOPS, (len(ends), 1)).T
    slow = np.isin(step, list(BAD)) & np.array([tuple(hop) in hops for hop in zip(sender, receiver, strict=True)])
    ahead = clock_ms * ((receiver == 2) * 1 - (sender == 2))
    delay = (np.where(slow, waits_ms, 0.01) + ahead) * MS
    delay = np.rint(delay * (1 + 0.01 * (np.arange(len(delay)) % 3))).astype(np.int64)
    transits = Transits(
        ends[step] - 5 * MS, sender.astype(np.int32), receiver.astype(np.int32), np.full(len(step), 9), delay, delay, SWITCHES
    )
    return seen(flows, TOPOLOGY, transits)


@pytest.mark.parametrize("clock_ms", [0.0, 3.0, -3.0])
def test_hops_on_which_packets_wait_longer_than_usual(clock_ms):
    wait_ms = 8.0 + 12 * (clock_ms != 0)
    found = queues(delayed({(0, 2), (2, 0)}, wait_ms, clock_ms=clock_ms), BAD.start, BAD.stop)
    assert set(found) == {("leaf0", "spine0"), ("spine0", "leaf0")}
    assert waiting(found, ("leaf0", "spine0")).endswith("from leaf0 to spine0, at least 4 times the usual delay")
    assert max(found.values()) == pytest.approx(wait_ms * MS, rel=0.4)


def test_without_other_steps_or_delays_nothing_is_known():
    view = delayed({(0, 2)}, 8.0)
    assert queues(view, 0, len(view.ends)) == {}
    assert queues(seen(training(dp=RANKS).flows(TOPOLOGY), TOPOLOGY), BAD.start, BAD.stop) == {}
