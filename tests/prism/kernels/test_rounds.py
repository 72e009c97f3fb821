import numpy as np
import pytest

from prism.kernels.edges import edges_of
from prism.kernels.rounds import rounds
from tests.prism.traffic import MS, T0, Wire


def edges(*moved):
    """Lanes of (sender, receiver, octets)."""
    wire = Wire()
    for a, b, octets in moved:
        wire.send(a, b, octets, T0)
        wire.send(a, b, octets, T0 + 10 * MS)
    flows = wire.flows()
    return edges_of(flows, np.flatnonzero(~flows.control()))


def ring(*ranks, octets):
    return [(a, b, octets) for a, b in zip(ranks, ranks[1:] + ranks[:1], strict=True)]


def pairs(moved):
    return {(a, b) for a, b, _ in moved}


def test_context_around_three_ranks_and_gradients_around_six_the_other_way():
    context = ring(0, 1, 2, octets=80_000) + ring(3, 4, 5, octets=80_000)
    gradients = ring(5, 4, 3, 2, 1, 0, octets=50_000)
    found = rounds(edges(*context, *gradients), {})
    assert {key for key, number in found.items() if number == found[0, 1]} == pairs(context)
    assert {key for key, number in found.items() if number == found[1, 0]} == pairs(gradients)


def test_what_stages_hand_on_comes_back_and_does_not_go_around():
    down = [(0, 1, 60_000), (1, 2, 60_000), (2, 3, 60_000)]
    assert rounds(edges(*down, *((b, a, octets) for a, b, octets in down)), {}) == {}


def test_nor_do_chunks_of_stages_of_which_less_comes_back_to_the_first():
    assert rounds(edges((0, 1, 60_000), (1, 2, 60_000), (2, 3, 60_000), (3, 0, 40_000)), {}) == {}


def test_two_ranks_exchange():
    assert rounds(edges((0, 1, 60_000), (1, 0, 60_000)), {}) == {}


@pytest.mark.parametrize("known", [True, False])
def test_a_ring_goes_on_inside_a_host(known):
    """0 to 5, two on each host: what 1 was sent goes on from 0, of the other ring what 0 was sent from 1."""
    host = {rank: f"host{rank // 2}" if known else None for rank in range(6)}
    one, other = [(0, 3, 70_000), (2, 5, 70_000), (4, 1, 70_000)], [(3, 1, 50_000), (0, 5, 50_000), (4, 2, 50_000)]
    assert set(rounds(edges(*one), host)) == (pairs(one) if known else set())
    assert set(rounds(edges(*other), host)) == (pairs(other) if known else set())
    assert rounds(edges(*one[:2]), host) == {}


def test_nothing_of_nothing():
    assert rounds({}, {}) == {}
