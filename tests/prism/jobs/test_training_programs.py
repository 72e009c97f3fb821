import numpy as np
import pytest

from prism.jobs._training_programs import classify, lopsided
from prism.loops.arrays.pair_volumes import carried as summed
from tests.prism.jobs.made import carried, edge, rhythm
from tests.prism.jobs.test_cluster_periods import beat

RING = carried(*((k, (k + 1) % 4, 10**6) for k in range(4)))
FOUR = [frozenset(range(4))]


def sides(steady, host):
    return lopsided(steady.src, steady.dst, steady.volume.astype(float), host)


def test_a_ring_with_steps_trains():
    assert classify(FOUR, [beat()], RING, np.arange(4), 4) == "training"
    assert classify(FOUR, [beat()], RING, None, 4) == "training"


def test_without_repetitions_nobody_knows():
    few = rhythm([edge(0, 1, [0, 5, 100, 105])])
    assert classify(FOUR, [few], RING, np.arange(4), 4) == "unknown"


@pytest.mark.parametrize("host", [np.arange(8), None])
def test_a_broadcast_is_lopsided(host):
    assert sides(carried(*((0, k, 10**6) for k in range(1, 8))), host)


def test_a_reduction_by_merged_ranks_may_leave_more_at_a_host_than_enters_it():
    """Ranks beyond a power of two send all gradients to a neighbour, which then takes part in their place."""
    steady = carried((0, 1, 65), (0, 2, 65), (1, 0, 35), (2, 0, 35))
    assert not sides(steady, np.arange(3))
    assert sides(carried((0, 1, 80), (0, 2, 80), (1, 0, 20), (2, 0, 20)), np.arange(3))


def test_a_chain_ends_somewhere():
    assert sides(carried(*((k, k + 1, 10**6) for k in range(7))), np.arange(8))


def test_a_ring_through_hosts_is_balanced_at_hosts_and_where_they_are_unknown():
    ring = carried((1, 2, 10**6), (3, 4, 10**6), (5, 0, 10**6))
    assert not sides(ring, np.array([0, 0, 1, 1, 2, 2]))
    assert not sides(ring, None)


def test_a_copy_between_two_endpoints_is_lopsided_where_hosts_are_unknown():
    assert sides(carried((0, 1, 10**6)), None)


def test_servers_of_parameters_serve():
    pairs = [(w, s, 10**6) for w in range(2, 10) for s in (0, 1)]
    steady = carried(*pairs, *((d, s, o) for s, d, o in pairs))
    assert classify([frozenset(range(10))], [beat()], steady, np.arange(10), 10) == "other"


@pytest.mark.parametrize("answers_after_ms", [40.0, 0.0])
def test_as_many_servers_as_clients_answer_and_collectives_move_both_ways_at_once(answers_after_ms):
    pairs = [(client, server) for client in range(4) for server in range(4, 8)]
    edges = [edge(*pair, 100.0 * np.arange(12)) for pair in pairs]
    edges += [edge(*pair[::-1], 100.0 * np.arange(12) + answers_after_ms) for pair in pairs]
    own = rhythm(edges)
    steady = summed(own.flows, np.zeros(len(own.flows), np.bool_), np.ones(len(own.flows.endpoints), np.bool_))
    expected = "other" if answers_after_ms else "training"
    assert classify([frozenset(range(8))], [own], steady, np.arange(8), 8) == expected


@pytest.mark.parametrize(("clients", "after_ms", "expected"), [(3, 40.0, "other"), (3, 0.0, "training"), (4, 0.0, "other")])
def test_a_server_answers_or_has_many_clients_and_the_root_of_a_tree_sends_while_it_receives(clients, after_ms, expected):
    edges = [edge(client, clients, 100.0 * np.arange(12)) for client in range(clients)]
    edges += [edge(clients, client, 100.0 * np.arange(12) + after_ms) for client in range(clients)]
    own = rhythm(edges)
    steady = summed(own.flows, np.zeros(len(own.flows), np.bool_), np.ones(len(own.flows.endpoints), np.bool_))
    assert classify([frozenset(range(clients + 1))], [own], steady, np.arange(clients + 1), clients + 1) == expected
