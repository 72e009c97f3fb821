import numpy as np

from prism.layout.search._member_groups import Division
from prism.layout.search.placement import place

EIGHT = np.ones(8, np.bool_)


def of_two_hosts():
    return Division(place([0] * 4 + [1] * 4, [0, 1, 2, 3] * 2, (1, 4, 1)), EIGHT)


def test_sizes_and_shared_members_of_two_divisions():
    rows, columns = np.repeat([0, 1], 4), np.tile(np.arange(4), 2)
    division = of_two_hosts()
    assert division.sized(rows) == (4, 0.0)
    assert division.shared(rows, columns) == 0
    assert division.shared(rows, rows // 1) == 1
    assert division.sized(np.array([0, 0, 0, 0, 0, 0, 1, 2])) == (6, 0.25)


def test_absent_members_and_single_ones_are_in_no_group():
    division = Division(of_two_hosts().placing, np.arange(8) < 6)
    parts = np.array([0, 0, 1, 1, 1, 2, 2, 2])
    assert division.sets("tp", parts) == (("tp", frozenset({0, 1})), ("tp", frozenset({2, 3, 4})))


def test_replicas_hold_the_same_experts():
    division, plane = of_two_hosts(), np.zeros(8, np.int64)
    experts = division.neighbours(plane, 4)  # of each host
    assert set(division.replicas(plane, experts)) == {("dp", frozenset({i, i + 4})) for i in range(4)}
    assert [own for _, own in division.within(plane, experts)] == [frozenset(range(4)), frozenset(range(4, 8))]


def test_values_are_computed_once_per_placing():
    division, found = of_two_hosts(), []
    for _ in range(2):
        assert division.known(lambda: found.append(1) or len(found), "key") == 1
