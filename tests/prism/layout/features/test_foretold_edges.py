from itertools import combinations

import numpy as np
import pytest

from prism.layout.features.foretold_edges import Exchanged, pairings, ranked
from tests.prism.evidence.made import Wire, evidence

HOSTS = np.repeat(np.arange(3), 4)


def exchanged(pairs, hosts=HOSTS, **options):
    wire = Wire([f"a{i}" for i in range(len(hosts))])
    for step in range(8):
        for a, b in pairs:
            if hosts[a] != hosts[b]:
                wire.send(a, b, step * 100, 1_000_000)
                wire.send(b, a, step * 100, 1_000_000)
    return Exchanged(evidence(wire)[3], hosts, **options)


def halved(group):
    """Pairs of MPICH's halving over six members or three: the even one of the first pairs waits."""
    first, goes_on = group[: 2 * (len(group) % 4)], []
    goes_on = [*first[1::2], *group[len(first) :]]
    bits = [1, 2] if len(goes_on) == 4 else [1]
    pairs = [(goes_on[i], goes_on[i ^ bit]) for bit in bits for i in range(len(goes_on)) if not i & bit]
    return [*pairs, *zip(first[::2], first[1::2], strict=True)]


def test_pairs_tell_which_members_reduce_by_halving():
    groups = [list(range(first, 12, 2)) for first in (0, 1)]
    seen = exchanged([pair for group in groups for pair in halved(group)])
    assert seen.unforeseen([ranked(groups)]) == 0
    assert seen.unforeseen([ranked([list(range(12))])]) > 0
    assert seen.unforeseen([ranked([list(range(first, 12, 4)) for first in range(4)])]) > 0


def test_ranks_may_be_dealt_out_to_hosts_in_turn():
    """Twelve ranks on three hosts of four, the next rank on the next host: four merge with a neighbour, eight halve."""
    dealt = [4 * (rank % 3) + rank // 3 for rank in range(12)]
    goes_on = [*dealt[1:8:2], *dealt[8:]]
    halves = [(goes_on[i], goes_on[i ^ bit]) for bit in (1, 2, 4) for i in range(8) if not i & bit]
    pairs = [*halves, *zip(dealt[:8:2], dealt[1:8:2], strict=True)]
    seen = exchanged([(a, b) for a, b in pairs if HOSTS[a] != HOSTS[b]])
    assert seen.unforeseen([ranked([list(range(12))])]) == 0
    assert seen.unforeseen([ranked([list(range(first, 12, 4)) for first in range(4)])]) > 0


def test_a_ring_through_hosts_is_one_of_all_members():
    seen = exchanged([(i, (i + 1) % 12) for i in range(12)])
    assert seen.unforeseen([ranked([list(range(12))])]) == 0
    assert seen.unforeseen([ranked([list(range(first, 12, 4)) for first in range(4)])]) == 1


def test_rings_may_enter_and_leave_hosts_at_the_same_place():
    rails = exchanged([(i, (i + 4) % 12) for i in range(12)])
    assert rails.unforeseen([ranked([list(range(12))])]) == 0


def test_rings_may_enter_a_host_at_the_next_place():
    turned = exchanged([(i, ((i // 4 + 1) * 4 + (i + 1) % 4) % 12) for i in range(12)])
    assert turned.unforeseen([ranked([list(range(12))])]) == 0


def test_shards_of_a_host_are_reduced_in_rings_of_their_replicas():
    rings = [(i, (i + 2) % 12) for i in range(12)]
    assert exchanged(rings, in_shards=True).unforeseen([ranked([list(range(12))])]) == 0
    assert exchanged(rings).unforeseen([ranked([list(range(12))])]) > 0


@pytest.mark.parametrize("often", [1, 8])
def test_families_are_rounds_of_one_collective_only_if_they_move_equally_often(often):
    """A square of four, of which each direction is a family of its own: pairs of one exchange `often` times a step."""
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(8):
        for pairs, octets, times in (([(0, 1), (2, 3)], 4_000_000, 1), ([(0, 2), (1, 3)], 150_000, often)):
            for a, b in pairs:
                for k in range(times):
                    wire.send(a, b, step * 200 + 10 * k, octets)
                    wire.send(b, a, step * 200 + 10 * k, octets)
    seen = Exchanged(evidence(wire)[3], np.arange(4))
    assert (seen.unforeseen([ranked([list(range(4))])]) > 0) == (often > 1)


def test_edges_of_one_ring_move_as_many_octets_in_however_many_bursts():
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(8):
        for i in range(4):
            for k in range(8 if i == 3 else 1):  # a slow NIC
                wire.send(i, (i + 1) % 4, step * 200 + 10 * k, 4_000_000 // (8 if i == 3 else 1))
    assert Exchanged(evidence(wire)[3], np.arange(4)).unforeseen([ranked([list(range(4))])]) == 0


def test_doubling_goes_on_without_a_partner_where_members_are_no_power_of_two():
    doubled = [(i, i ^ bit) for bit in (1, 2, 4, 8) for i in range(12) if i < i ^ bit < 12]
    assert exchanged(doubled).unforeseen([ranked([list(range(12))])]) == 0


@pytest.mark.parametrize(
    ("members", "radix"),
    [
        (8, [(0, 1, 2, 3), (0, 4), (1, 5), (2, 6), (3, 7)]),
        (9, [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8)]),
    ],
)
def test_groups_of_three_or_four_may_take_the_place_of_pairs(members, radix):
    """MPICH's recursive multiplying; ranks beyond a power of the radix merge with one of the first."""
    seen = exchanged([pair for group in radix for pair in combinations(group, 2)], np.arange(members))
    assert seen.unforeseen([ranked([list(range(members))])]) == 0
    assert seen.unforeseen([ranked([list(range(members - 1))])]) > 0


def test_all_may_send_to_the_first_which_broadcasts_by_a_tree():
    star = [(0, i) for i in range(1, 8)]
    tree = [(3, 2), (5, 4), (6, 4), (7, 6)]
    ranks = [ranked([list(range(8))])]
    assert exchanged(star + tree, np.arange(8)).unforeseen(ranks) == 0
    assert exchanged([*star, (3, 1), (5, 2)], np.arange(8)).unforeseen(ranks) > 0


def test_groups_of_different_sizes_foretell_nothing():
    assert exchanged([(0, 4)]).unforeseen([ranked([[0, 4], [1, 5, 9]])]) == 1


@pytest.mark.parametrize(("members", "algorithms"), [(1, 3), (8, 6), (12, 9)])
def test_only_numbers_that_are_no_power_of_two_merge_members_first(members, algorithms):
    found = pairings(members, 1, in_shards=False)
    assert len(found) == algorithms
    assert all(one.max(initial=0) < members and other.max(initial=0) < members for one, other in found)


def one_way(pairs, hosts):
    wire = Wire([f"a{i}" for i in range(len(hosts))])
    for step in range(8):
        for a, b in pairs:
            wire.send(a, b, step * 100, 1_000_000)
    return Exchanged(evidence(wire)[3], hosts)


def through_hosts(hosts):
    """Two rings over hosts of four NICs. Each enters a host by any NIC, and leaves it by any other."""
    ways = [(0, 2, 1, 3), (3, 0, 2, 1)], [(1, 3, 0, 2), (2, 1, 3, 0)]
    return [
        (4 * h + leaves[h % 4], (4 * h + 4 + enters[(h + 1) % 4]) % (4 * hosts))
        for leaves, enters in ways
        for h in range(hosts)
    ]


@pytest.mark.parametrize("hosts", [4, 6])
def test_rings_that_reduce_may_enter_a_host_by_any_nic(hosts):
    seen = one_way(through_hosts(hosts), np.repeat(np.arange(hosts), 4))
    assert seen.unforeseen([ranked([list(range(4 * hosts))])]) == 0
    assert seen.unforeseen([ranked([list(range(4 * hosts))])], reduce=False) > 0
    assert seen.unforeseen([ranked([list(range(2 * hosts)), list(range(2 * hosts, 4 * hosts))])]) > 0, "they join all hosts"


def test_exchanges_of_three_hosts_are_no_rings():
    pairs = [(0, 5), (6, 9), (10, 3)]
    assert one_way(pairs, HOSTS).unforeseen([ranked([list(range(12))])]) == 0
    assert exchanged(pairs).unforeseen([ranked([list(range(12))])]) > 0


TREES = {  # a binary tree over the ranks, and its mirror image, or one whose ranks are the next ones
    8: [
        *[(0, 4), (4, 2), (4, 6), (2, 1), (2, 3), (6, 5), (6, 7)],
        *[(7, 3), (3, 5), (3, 1), (5, 6), (5, 4), (1, 2), (1, 0)],
    ],
    7: [*[(0, 4), (4, 2), (4, 6), (2, 1), (2, 3), (6, 5)], *[(1, 5), (5, 3), (5, 0), (3, 2), (3, 4), (0, 6)]],
}


@pytest.mark.parametrize("hosts", [8, 7])
def test_two_complementary_binary_trees_reduce(hosts):
    seen = exchanged(TREES[hosts], np.arange(hosts))
    assert seen.unforeseen([ranked([list(range(hosts))])]) == 0
    assert seen.unforeseen([ranked([list(range(hosts))])], reduce=False) > 0
    other = exchanged([*TREES[hosts], (0, 2)], np.arange(hosts))
    assert other.unforeseen([ranked([list(range(hosts))])]) > 0, "no tree joins these two"
