"""Test edges that share a NIC, in some steps in turn, in others simultaneously."""

import pytest

from prism.detectors.observations.nic_sharing import shared
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
