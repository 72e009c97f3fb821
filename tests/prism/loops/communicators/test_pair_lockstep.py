import numpy as np
import pytest

from prism.loops.arrays.edges import edges_of
from prism.loops.communicators.pair_lockstep import Collective, alike, collectives, merged, together
from tests.prism.traffic import MS, T0, Wire, pipeline, ring_allreduce


def rings(*groups, steps=8, gap_ms=100, late=0):
    """Each group reduces once per step, the second and further ones `late` ms after the first."""
    wire = Wire()
    for step in range(steps):
        for i, members in enumerate(groups):
            at = T0 + step * (gap_ms + 60) * MS + i * late * MS
            ring_allreduce(wire, members, 4_000_000 * len(members), dict.fromkeys(members, at), lambda _a, _b: 10.0)
    return edges_of(wire.flows())


def sets(found):
    return sorted(sorted(one.members) for one in found)


def ring(members):
    return {(a, b) for a, b in zip(members, [*members[1:], members[0]], strict=True)}


@pytest.mark.parametrize("size", [2, 3, 4, 8])
def test_a_ring_is_one_collective(size):
    edges = rings(range(size))
    found, left = collectives(edges)
    assert [one.edges for one in found] == [ring(list(range(size)))]
    assert left == {}
    assert found[0].rows.tolist() == list(range(sum(len(e.rows) for e in edges.values())))


@pytest.mark.parametrize("late", [0, 10, 40])
def test_rings_without_a_common_member_stay_apart(late):
    found, left = collectives(rings([0, 1, 2, 3], [4, 5, 6, 7], late=late))
    assert sets(found) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert left == {}


def test_rings_that_cross_in_a_member_are_distinguished_by_when_they_run():
    found, _ = collectives(rings([0, 1, 2, 3], [0, 4, 8], [3, 7, 11], late=50, gap_ms=150))
    assert sets(found) == [[0, 1, 2, 3], [0, 4, 8], [3, 7, 11]]


def test_hand_overs_are_left():
    wire, free = Wire(), dict.fromkeys(range(6), T0)
    for _ in range(8):
        for replica in range(3):
            own = [replica, replica + 3]
            free |= pipeline(wire, own, 4, 1_000_000, {m: free[m] for m in own}, lambda _r: 10.0, lambda _a, _b: 10.0)
        for group in ([0, 1, 2], [3, 4, 5]):
            ready = dict.fromkeys(group, max(free[m] for m in group))
            free |= ring_allreduce(wire, group, 12_000_000, ready, lambda _a, _b: 10.0)
    found, left = collectives(edges_of(wire.flows()))
    assert sets(found) == [[0, 1, 2], [3, 4, 5]]
    assert set(left) == {(a, b) for a in range(6) for b in range(6) if abs(a - b) == 3}


def test_alike_is_how_much_two_edges_move_while_the_other_does():
    edges = rings([0, 1, 2], [3, 4, 5], late=50)
    active = {key: edge.activity() for key, edge in edges.items()}
    assert alike(edges[0, 1], edges[1, 2], active) > 0.9
    assert alike(edges[0, 1], edges[3, 4], active) < 0.3
    assert alike(edges[0, 1], edges[0, 1], active) == 1


def test_together_is_the_lesser_share():
    one, wide, none = ((np.array([a]), np.array([b])) for a, b in ((0, 10), (0, 40), (50, 60)))
    assert together(one, one) == 1
    assert together(one, wide) == 0.25
    assert together(one, none) == 0


def test_merged_is_the_edges_rows_and_windows_of_all():
    parts = [
        Collective(frozenset([(0, 1)]), np.array([0, 2]), (np.array([0]), np.array([5]))),
        Collective(frozenset([(1, 0)]), np.array([1, 2]), (np.array([5]), np.array([9]))),
    ]
    one = merged(parts)
    assert (one.edges, one.rows.tolist(), one.members) == ({(0, 1), (1, 0)}, [0, 1, 2], {0, 1})
    assert [t.tolist() for t in one.window] == [[0], [9]]


def test_nothing_makes_no_collective():
    assert collectives({}) == ([], {})
