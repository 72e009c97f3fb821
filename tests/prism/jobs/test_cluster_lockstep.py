import numpy as np

from prism.jobs._cluster_lockstep import in_lockstep, through_hosts
from tests.prism.jobs.made import carried
from tests.prism.jobs.test_cluster_periods import beat

CLUSTERS = [frozenset({0, 1}), frozenset({2, 3}), frozenset({4, 5})]
BEATS = [beat(), beat(bursts=(20.0, 60.0)), beat(period=83.0, seed=1)]
HOST = np.array([0, 1, 0, 1, 0, 1])


def test_clusters_in_lockstep_on_shared_hosts_are_one_job():
    assert in_lockstep(CLUSTERS, BEATS, HOST, []) == [(0, 1)]
    assert in_lockstep(CLUSTERS, BEATS, np.array([0, 1, 2, 3, 4, 5]), []) == []


def test_without_hosts_all_are_compared():
    (pair,) = in_lockstep(CLUSTERS, BEATS, None, [])
    assert set(pair) == {0, 1}


def test_what_is_known_needs_no_lockstep():
    assert (1, 2) in in_lockstep(CLUSTERS, BEATS, HOST, [(1, 2)])


def test_hints_part_clusters_and_join_unclear_ones():
    assert in_lockstep(CLUSTERS, BEATS, HOST, [], [0, 1, 1]) == []
    assert in_lockstep(CLUSTERS, BEATS, HOST, [], [0, 0, 0]) == [(0, 1)], "clear traffic is not overruled"


def test_a_ring_goes_on_inside_a_host_where_as_much_leaves_as_enters():
    host = np.array([0, 0, 1, 1, 0, 1])
    ring = carried((1, 2, 10**6), (3, 0, 10**6), (4, 5, 10**6), (5, 4, 10**6))  # 0 > 1 and 2 > 3 inside hosts
    clusters = [frozenset({1, 2}), frozenset({0, 3}), frozenset({4, 5})]
    assert through_hosts(clusters, ring, host) == [(0, 1)]
    unequal = carried((1, 2, 10**6), (3, 0, 2 * 10**6), (4, 5, 10**6), (5, 4, 10**6))
    assert through_hosts(clusters, unequal, host) == []
