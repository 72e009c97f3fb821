import numpy as np
import pytest

from prism.loops.arrays.edges import edges_of
from prism.loops.communicators.rings import rounds, through_hosts
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


def test_rings_that_go_on_inside_hosts_are_told_from_what_their_endpoints_exchange_elsewhere():
    """Gradients of all go around by one endpoint of each host, those of experts from each to the one two hosts away."""
    host = {rank: f"host{rank // 2}" for rank in range(8)}
    all_of_them = [(1, 2, 17_000), (3, 4, 17_000), (5, 6, 17_000), (7, 0, 17_000)]
    experts = [(a, b, 10_000) for one in range(4) for a, b in ((one, one + 4), (one + 4, one))]
    (found,) = through_hosts(edges(*all_of_them, *experts), host)
    assert set(found) == pairs(all_of_them)
    assert through_hosts(edges(*ring(0, 2, 4, 6, octets=9000)), host) == []  # nothing is inside
    two = [(0, 4, 9000), (6, 2, 9000), (1, 5, 9000), (7, 3, 9000)]
    assert through_hosts(edges(*two), {rank: f"host{rank // 4}" for rank in range(8)}) == []  # whose is whose?


def test_replicas_of_a_pipeline_that_share_hosts_hand_on_around_those_but_it_all_comes_back():
    host = {rank: f"host{rank // 2}" for rank in range(6)}
    down = [(0, 3, 60_000), (2, 5, 60_000), (4, 1, 60_000)]
    assert set(rounds(edges(*down), host)) == pairs(down)
    up = [(b, a, 50_000) for a, b, _ in down]
    reduced = [*ring(0, 2, 4, octets=30_000), *ring(1, 3, 5, octets=30_000)]
    assert not pairs([*down, *up]) & set(rounds(edges(*down, *up, *reduced), host))
    assert not pairs([*down, *up]) & set().union(*through_hosts(edges(*down, *up, *reduced), host))


def test_a_sharded_model_gathers_around_hosts_one_way_and_scatters_the_other():
    host = {rank: f"host{rank // 2}" for rank in range(6)}
    gathered = [(0, 3, 60_000), (2, 5, 60_000), (4, 1, 60_000)]
    scattered = [(b, a, 30_000) for a, b, _ in gathered]
    found = rounds(edges(*gathered, *scattered), host)
    assert {key for key, number in found.items() if number == found[0, 3]} == pairs(gathered)
    assert {key for key, number in found.items() if number == found[3, 0]} == pairs(scattered)
    assert sorted(map(sorted, through_hosts(edges(*gathered, *scattered), host))) == sorted(
        [sorted(pairs(gathered)), sorted(pairs(scattered))]
    )


def test_nothing_of_nothing():
    assert rounds({}, {}) == {}
    assert through_hosts({}, {}) == []
