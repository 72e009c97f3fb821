import numpy as np

from prism.layout.search.placement import cuts, in_order, place, scattered


def test_cuts_multiply_to_the_endpoints_of_a_host():
    found = list(cuts(8))
    assert all(np.prod(cut) == 8 for cut in found)
    assert len(set(found)) == len(found) == 10
    assert {(8, 1, 1), (2, 2, 2)} <= set(found)


def test_the_tensor_dimension_is_fastest_and_rails_give_the_order():
    placing = place([0, 0, 0, 0, 1, 1, 1, 1], [3, 2, 1, 0, 0, 1, 2, 3], (2, 2, 1))
    assert placing.at[3].tolist() == [0, 0, 0, 0]
    assert placing.at[0].tolist() == [0, 1, 1, 0]
    assert sorted(map(sorted, placing.links(1))) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert sorted(map(sorted, placing.links(2))) == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert not len(placing.links(3))
    assert len(set(placing.alike((0, 2, 3)).tolist())) == 4


def test_a_reduction_that_enters_and_leaves_a_host_at_places_of_one_rest_joins_every_second_rank():
    placing = place([0] * 4 + [1] * 4, list(range(4)) * 2, (1, 4, 1))
    ring, rings = np.array([[3, 4], [7, 0]]), np.array([[2, 4], [3, 5], [6, 0], [7, 1]])
    assert (placing.distance(ring), placing.distance(rings)) == (1, 2)
    assert sorted(map(sorted, placing.links(2, 2))) == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert sorted(map(sorted, placing.links(2, 1, np.unique(ring)))) == [[0, 3], [4, 7]]


def test_scattered_ranks_have_no_neighbours_in_their_hosts():
    placing = scattered(6)
    assert placing.cut == (1, 1, 1)
    assert not any(len(placing.links(axis)) for axis in (1, 2, 3))
    assert len(set(placing.alike((0, 1, 2)).tolist())) == 6


def test_stages_may_lie_between_tensor_ranks_and_replicas():
    placing = place([0] * 8, list(range(8)), (2, 2, 2), stages_first=True)
    assert placing.at[2].tolist() == [0, 0, 0, 1]
    assert placing.at[4].tolist() == [0, 0, 1, 0]


def test_ranks_may_be_dealt_out_to_the_hosts_one_after_another():
    """Tensor groups of two over three hosts: ranks 0 and 1 lie on the first two hosts, ranks 2 and 3 on the third and first."""
    hosts = [0, 0, 1, 1, 2, 2]
    found = list(in_order(hosts, lambda at: at.max(axis=1).tolist() == [1, 2, 0]))
    twins = {frozenset(np.flatnonzero(one.alike((2, 3)) == one.alike((2, 3))[0]).tolist()) for one in found}
    assert frozenset({0, 2}) in twins
    assert not any(one.regular for one in found)
