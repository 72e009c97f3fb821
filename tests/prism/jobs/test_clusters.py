from collectors.columns.record import Flows
from prism.jobs.clusters import cluster_numbers, clusters_of, join_by_barriers, joined, pair_volumes, sampled_edges, unions
from tests.prism.jobs.made import carried
from tests.prism.traffic import MS, T0, Wire, address, placed, training


def test_pairs_that_matter_join_endpoints():
    steady = carried((0, 1, 10**9), (2, 3, 10**9), (1, 2, 100))
    assert clusters_of(steady, 5) == [{0, 1}, {2, 3}]
    assert cluster_numbers([{0, 1}, {2, 3}], 5).tolist() == [0, 0, 1, 1, -1]


def test_joined_clusters_are_one():
    assert unions(4, [(0, 2)]) == [[0, 2], [1], [3]]
    assert joined([frozenset({0}), frozenset({1}), frozenset({2})], [(0, 2)]) == [{0, 2}, {1}]


def test_small_messages_in_each_step_join_clusters():
    wire = training(dp=4, steps=12)
    training(dp=4, steps=12, wire=wire, first=4)
    for step in range(12):
        wire.send(0, 4, 16_384, T0 + step * 100 * MS)
    flows = wire.flows()
    steady = pair_volumes(flows, placed(8))[1]
    clusters = [frozenset(map(flows.endpoints.index, map(address, own))) for own in (range(4), range(4, 8))]
    assert join_by_barriers(flows, steady, clusters, flows.window) == [clusters[0] | clusters[1]]
    assert join_by_barriers(flows, steady.only(steady.volume > 10**6), clusters, flows.window) == clusters


def test_some_edges_of_each_cluster_are_examined_the_heaviest_among_them():
    flows = training(dp=16).flows()
    talk, steady = pair_volumes(flows, placed(16))
    assert len(talk) >= len(steady) == 16
    (cluster,) = clusters_of(steady, len(flows.endpoints))
    (edges,) = sampled_edges(flows, steady, [cluster])
    assert max(edge.volume for edge in edges) == steady.volume.max()
    assert join_by_barriers(flows, steady, [cluster], flows.window) == [cluster]


def test_without_a_topology_storage_that_only_sends_joins_nobody():
    wire = training(dp=4, steps=12, wire=Wire(tcp=True))
    for step in range(12):
        for rank in range(4):
            wire.send(9, rank, 100_000, T0 + step * 100 * MS, src_port=2049, dst_port=50_000, protocol=6)
    flows = wire.flows()
    (cluster,) = clusters_of(pair_volumes(flows, None)[1], len(flows.endpoints))
    assert {flows.endpoints[member] for member in cluster} == set(map(address, range(4)))


def test_no_records_are_no_clusters():
    flows = Flows.build({"start_ns": []}, endpoints=())
    assert clusters_of(pair_volumes(flows, None)[1], 0) == []
