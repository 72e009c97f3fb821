"""Test packets that wait between switches while steps take longer, although every sender sends at full rate."""

import numpy as np
import pytest

from collectors.columns.record import Transits
from prism.detectors.slow_link import slow_link
from prism.diagnosis.switch_evidence.switch_queues import queued_link, queues
from prism.graph.job_view import View
from prism.model import Severity
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
def test_the_link_on_which_packets_wait_is_to_blame(clock_ms):
    view = delayed({(0, 2), (2, 0)}, 8.0 + 12 * (clock_ms != 0), clock_ms=clock_ms)
    (one,) = queued_link(view)
    assert (one.kind, one.subject, one.ids) == ("slow_link", "link", ("leaf0", "spine0"))
    assert one.evidence["steps"] == [BAD.start, BAD.stop]
    assert one.severity is not Severity.INFO
    assert set(queues(view, BAD.start, BAD.stop)) == {("leaf0", "spine0"), ("spine0", "leaf0")}
    assert slow_link(view) == []
    waited = 2 * (8.0 + 12 * (clock_ms != 0))  # one bin in a step and both ways
    assert one.evidence["waits_at_worst"] == pytest.approx(waited / 182, rel=0.03)


@pytest.mark.parametrize("hops", [{(0, 2), (1, 2)}, {(0, 2), (2, 1), (1, 2), (2, 0)}])
def test_the_switch_at_which_packets_wait_whatever_way_they_go_is_to_blame(hops):
    (one,) = queued_link(delayed(hops, 8.0))
    assert (one.kind, one.subject, one.ids) == ("slow_switch", "switch", ("spine0",))


def test_packets_that_wait_too_briefly_for_how_long_steps_take_explain_nothing():
    assert queued_link(delayed({(0, 2)}, 0.3)) == []


def test_packets_that_wait_while_steps_take_what_they_usually_do_harm_nobody():
    assert queued_link(delayed({(0, 2)}, 8.0, extra_ms=0.0)) == []


def test_nothing_is_told_where_nobody_saw_packets_twice():
    work = {"work": lambda step, _rank: 20.0 + 60.0 * (step in BAD)}
    assert queued_link(seen(training(dp=RANKS, **work).flows(TOPOLOGY), TOPOLOGY)) == []
