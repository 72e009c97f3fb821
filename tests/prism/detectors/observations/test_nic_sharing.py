"""Test edges that share a NIC, in some steps in turn, in others simultaneously."""

import pytest

from prism.detectors.observations.nic_sharing import as_fast_in_sum, shared
from prism.detectors.slow_link import slow_link
from prism.model import Severity
from tests.prism.traffic import MS, T0, Wire, placed, seen

MET = range(10, 14)  # the steps in which they meet


def trees(*, slow=False):
    """Two leaves send up to one rank, that hands on to the root: one after the other, or in the steps `MET` at once.

    `slow`: they meet because the NIC to which they come is slow.
    """
    wire = Wire()
    for step in range(24):
        at, met = T0 + step * 100 * MS, step in MET
        gbits = (2.5 if slow else 5.0) if met else 10.0
        wire.send(2, 1, 10_000_000, at, gbits)
        wire.send(3, 1, 10_000_000, at if met else at + 9 * MS, gbits)
        for src, dst in ((1, 0), (0, 1), (1, 2), (1, 3)):
            wire.send(src, dst, 10_000_000, at + (40 + 10 * (src == 0) + 20 * (dst > 1) + 9 * (dst == 3)) * MS)
    return seen(wire.flows(), placed(4))


@pytest.mark.parametrize("slow", [False, True])
def test_who_takes_turns_is_as_fast_together_as_one_alone(slow):
    view = trees(slow=slow)
    keys = [key for key in view.edges if key[1] == 1 and key[0] > 1]
    assert len(keys) == 2
    assert shared(view, keys, 10, 14, slower=1.1) == (not slow)
    loud = [f for f in slow_link(view) if f.severity is not Severity.INFO]
    assert bool(loud) == slow


def test_others_there_are_as_slow_though_that_is_usual_for_them():
    """One edge is fast while the other hardly sends, because its own NIC is slow: they do not share."""
    view = trees()
    one = [key for key in view.edges if key[:2] == (2, 1)]
    assert shared(view, one, 10, 14, slower=1.1)
    assert not shared(view, one, 2, 8, slower=1.1)  # the other moves at another time, and as fast


def test_an_edge_alone_at_its_ends_shares_nothing():
    view = trees()
    assert not shared(view, [key for key in view.edges if key[:2] == (1, 0)], 2, 8, slower=1.1)


@pytest.mark.parametrize(("gbits", "fast"), [(10.0, True), (3.0, False)])
def test_all_that_send_to_one_rank_are_as_fast_in_sum_as_one_elsewhere(gbits, fast):
    """Three ranks send to the root at once, each at a third of `gbits`; in between each sends to its neighbour."""
    wire = Wire()
    for step in range(8):
        at = T0 + step * 100 * MS
        for rank in (1, 2, 3):
            wire.send(rank, 0, 10_000_000, at, gbits / 3)
            wire.send(rank, 1 + rank % 3, 10_000_000, at + 80 * MS, 10.0)
    view = seen(wire.flows(), placed(4))
    gathered = [key for key in view.edges if key[1] == 0]
    others = [key for key in view.edges if key[1] != 0]
    assert as_fast_in_sum(view, gathered, others, slower=1.1) == fast
    assert not as_fast_in_sum(view, gathered[:1], others, slower=1.1)
