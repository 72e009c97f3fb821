import numpy as np

from prism.layout.search._member_groups import Division
from prism.layout.search.placement import place


def of_two_hosts():
    return Division(place([0] * 4 + [1] * 4, [0, 1, 2, 3] * 2, (1, 4, 1)))


def test_sizes_and_shared_members_of_two_divisions():
    rows, columns = np.repeat([0, 1], 4), np.tile(np.arange(4), 2)
    division = of_two_hosts()
    assert division.sized(rows) == (4, 0.0)
    assert division.shared(rows, columns) == 0
    assert division.shared(rows, rows // 1) == 1
    assert division.sized(np.array([0, 0, 0, 0, 0, 0, 1, 2])) == (6, 0.25)


def test_single_members_are_in_no_group():
    parts = np.array([0, 0, 1, 1, 1, 2, 3, 4])
    assert of_two_hosts().sets("tp", parts) == (("tp", frozenset({0, 1})), ("tp", frozenset({2, 3, 4})))
    assert of_two_hosts().ranked(parts).size == 0  # groups of different sizes
    assert of_two_hosts().ranked(np.array([2, 1, 2, 1, 0, 3, 3, 4])).tolist() == [[0, 2], [1, 3], [5, 6]]


def test_replicas_hold_the_same_experts():
    division, plane = of_two_hosts(), np.zeros(8, np.int64)
    experts, place = division.neighbours(plane, 4)  # of each host
    assert place.tolist() == [*range(4), *range(4)]
    assert set(division.replicas(plane, experts)) == {("dp", frozenset({i, i + 4})) for i in range(4)}
    assert [own for _, own in division.within(plane, experts)] == [frozenset(range(4)), frozenset(range(4, 8))]


def test_groups_are_nested_if_none_is_cut():
    halves, pairs = np.arange(8) // 4, np.arange(8) // 2
    assert of_two_hosts().nested(halves, pairs)
    assert of_two_hosts().nested(pairs, halves)
    assert of_two_hosts().nested(np.arange(8) // 2 * 2, np.arange(8) // 4 * 4)  # as `connected` numbers them
    assert not of_two_hosts().nested(pairs, np.arange(8) % 4)


def test_a_group_is_strided_if_it_leaves_out_members_of_its_plane_in_a_host():
    plane, rails, whole, inside = np.zeros(8, np.int64), np.tile(np.arange(4), 2), np.zeros(8, np.int64), np.arange(8) // 2
    assert of_two_hosts().strided(plane, rails) == 1
    assert of_two_hosts().strided(rails, rails) == 0
    assert of_two_hosts().strided(plane, whole) == of_two_hosts().strided(plane, inside) == 0


def test_values_are_computed_once_per_placing():
    division, found = of_two_hosts(), []
    for _ in range(2):
        assert division.known(lambda: found.append(1) or len(found), "key") == 1
