import numpy as np

from prism.evidence.member_graphs import connected, imbalance, unjoined, weighted_medians


def test_connected_numbers_each_member_by_the_lowest_of_its_component():
    assert connected(6, [(4, 2), (2, 5), (0, 1)]).tolist() == [0, 0, 2, 3, 2, 2]
    many = np.random.default_rng(1).integers(0, 5000, (2001, 2))
    part = connected(5000, many)
    assert (part[many[:, 0]] == part[many[:, 1]]).all()
    assert len(np.unique(part)) >= 5000 - len(many)
    assert all(np.flatnonzero(part == n)[0] == n for n in np.unique(part))


def test_weighted_medians_are_where_half_of_the_weight_is_reached():
    assert weighted_medians(np.array([(1.0, 5.0), (2.0, 3.0), (9.0, 0.0)]), [1, 1, 10]) == [9.0, 0.0]


def test_what_enters_and_does_not_leave_is_out_of_balance():
    assert imbalance({(0, 1): 5.0, (1, 0): 5.0}) == 0
    assert imbalance({(0, 1): 5.0}) == 1
    assert imbalance({(0, 1): 5.0, (2, 0): 5.0}, [0, 1, 1]) == 0  # 1 and 2 are in one host


def test_members_of_a_part_are_joined_by_traffic_or_by_their_host():
    parts, hosts = np.array([0, 0, 0, 3, 3, 3]), np.array([0, 0, 1, 2, 3, 4])
    assert unjoined(parts, np.array([(1, 2), (3, 4), (2, 5)]), hosts) == 0.5  # 0 1 share a host; 5 speaks to another part only
    assert unjoined(parts, np.array([(1, 2), (3, 4), (4, 5)]), hosts) == 0
