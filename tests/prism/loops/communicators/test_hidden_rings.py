import numpy as np

from prism.loops.arrays.edges import edges_of
from prism.loops.communicators.hidden_rings import meshes, stitched
from prism.loops.communicators.pair_lockstep import collectives
from tests.prism.traffic import MS, T0, Wire, ring_allreduce


def through_hosts(hosts, *, steps=8):
    """A ring over two endpoints per host, whose way inside the host is not on the wire."""
    wire, ranks = Wire(), range(2 * hosts)
    for step in range(steps):
        ready = dict.fromkeys(ranks, T0 + step * 200 * MS)
        ring_allreduce(wire, ranks, 4_000_000 * len(ranks), ready, lambda _a, _b: 10.0)
    wire.rows = [row for row in wire.rows if row["src"] // 2 != row["dst"] // 2]
    return edges_of(wire.flows()), {rank: f"host{rank // 2}" for rank in ranks}


def test_a_ring_goes_on_inside_the_hosts_it_passes():
    edges, host = through_hosts(4)
    found, left = stitched(*collectives(edges), edges, host)
    assert [sorted(one.members) for one in found] == [list(range(8))]
    assert left == {}
    assert found[0].rows.tolist() == sorted(np.concatenate([e.rows for e in edges.values()]).tolist())


def test_without_hosts_nothing_is_stitched():
    edges, host = through_hosts(4)
    found, left = collectives(edges)
    again, rest = stitched(found, left, edges, dict.fromkeys(host))
    assert ([one.edges for one in again], set(rest)) == ([one.edges for one in found], set(left))


def test_closed_rings_of_one_host_stay_apart():
    wire = Wire()
    for step in range(8):
        for group in ([0, 2, 4, 6], [1, 3, 5, 7]):
            ring_allreduce(wire, group, 16_000_000, dict.fromkeys(group, T0 + step * 200 * MS), lambda _a, _b: 10.0)
    edges = edges_of(wire.flows())
    found, _ = stitched(*collectives(edges), edges, {rank: f"host{rank // 2}" for rank in range(8)})
    assert sorted(sorted(one.members) for one in found) == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_an_all_to_all_whose_pairs_take_turns_is_one_collective():
    wire, at = Wire(), T0
    for _ in range(8):
        for a in range(4):
            for b in range(4):
                if a != b:
                    at = wire.send(a, b, 1_000_000, at)
        at += 100 * MS
    edges = edges_of(wire.flows())
    found, left = meshes([], edges, edges)
    assert [sorted(one.members) for one in found] == [[0, 1, 2, 3]]
    assert left == {}


def test_a_pair_is_no_mesh():
    wire = Wire()
    for step in range(8):
        for a, b in ((0, 1), (1, 0), (1, 2), (2, 1)):
            wire.send(a, b, 1_000_000, T0 + step * 100 * MS)
    edges = edges_of(wire.flows())
    found, left = meshes([], edges, edges)
    assert found == []
    assert set(left) == set(edges)
