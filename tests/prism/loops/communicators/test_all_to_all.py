import numpy as np
import pytest

from prism.loops.arrays.edges import edges_of
from prism.loops.communicators.all_to_all import completed
from prism.loops.communicators.pair_lockstep import of_lanes
from tests.prism.traffic import T0, Wire


@pytest.mark.parametrize(("octets", "lost", "whole"), [(9_000, 1, 1), (4_000, 1, 2), (9_000, 2, 2)])
def test_an_exchange_takes_the_few_lanes_that_it_misses(octets, lost, whole):
    """They move about as much; all of what is missing must be there."""
    wire = Wire()
    everyone = {(a, b) for a in range(5) for b in range(5) if a != b}
    apart = {(1, 3), (3, 1)}
    for a, b in sorted(everyone):
        wire.send(a, b, octets if (a, b) in apart else 10_000, T0)
    flows = wire.flows()
    edges = edges_of(flows, np.flatnonzero(~flows.control()))
    (few,) = of_lanes([[edge for key, edge in edges.items() if key[:2] in apart]])
    gone = {(0, 4)} if lost > 1 else set()
    (big,) = of_lanes([[edge for key, edge in edges.items() if key[:2] in everyone - apart - gone]])
    found = completed([few, big], edges)
    assert len(found) == whole
    assert set().union(*(one.edges for one in found)) == few.edges | big.edges


def test_a_ring_both_ways_misses_nothing():
    wire = Wire()
    for a in range(4):
        for b in {(a + 1) % 4, (a - 1) % 4, (a + 2) % 4}:
            wire.send(a, b, 10_000, T0)
    flows = wire.flows()
    edges = edges_of(flows, np.flatnonzero(~flows.control()))
    parts = of_lanes([[e for k, e in edges.items() if ((k[0] - k[1]) % 4 == 2) == across] for across in (False, True)])
    assert len(completed(parts, edges)) == 2
