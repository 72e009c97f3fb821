from dataclasses import replace

import numpy as np
import pytest

from collectors.columns.record import Flows
from prism.topology import Endpoint, Topology
from prism.tracking.board import Board, board_of
from prism.tracking.flow_sources import Memory
from prism.views import traffic_views


@pytest.fixture
def topology(diagnosis):
    job = diagnosis.jobs[0].job
    hosts = [f"host{i // 2}" for i in range(8)]
    places = {a: Endpoint(h, 0, f"leaf{i // 4}") for i, (a, h) in enumerate(zip(job.endpoints, hosts, strict=True))}
    return Topology(places, (("leaf0", "spine0"), ("leaf1", "spine0")))


def test_the_graph_of_a_job_by_endpoint_host_and_leaf(diagnosis, topology):
    found = diagnosis.jobs[0]
    by_endpoint = traffic_views.graph(found, topology)
    assert by_endpoint["by"] == "endpoint"
    assert [node["rank"] for node in by_endpoint["nodes"]] == list(range(8))
    assert len(by_endpoint["edges"]) == 2
    by_host = traffic_views.graph(found, topology, max_nodes=7)
    assert (by_host["by"], len(by_host["nodes"])) == ("host", 4)
    by_leaf = traffic_views.graph(found, topology, by="leaf", kind="dp")
    assert by_leaf["edges"] == [{"src": "leaf0", "dst": "leaf0", "kind": "dp", "octets": 4_000_000}]
    assert traffic_views.graph(found, None, max_nodes=3)["by"] == "leaf"  # nothing to group by: told as it is
    total = sum(pair.octets for pair in found.parallelism.pairs)
    for shown in (by_endpoint, by_host, traffic_views.graph(found, topology, by="leaf")):
        assert sum(edge["octets"] for edge in shown["edges"]) == total


@pytest.fixture
def flows(diagnosis):
    columns = {
        "start_ns": np.arange(6),
        "end_ns": np.arange(6) + 1,
        "src": [0, 0, 4, 1, 0, 0],
        "dst": [4, 4, 0, 2, 4, 5],
        "octets": [100, 10, 7, 5, 1000, 3],
        "sampling_rate": [1, 2, 1, 1, 1, 1],
        "ecn": [1, 0, 0, 2, 0, 0],
        "path": [1, 1, 2, 3, 0, 1],
    }
    paths = ((), ("leaf0", "spine0", "leaf1"), ("leaf1", "spine0", "leaf0"), ("leaf0",))
    return Flows.build(columns, endpoints=diagnosis.jobs[0].job.endpoints, exporters=("leaf0",), paths=paths)


def test_what_switches_and_links_carried(diagnosis, topology, flows, make_finding):
    link = replace(make_finding(), kind="slow_link", subject="link", ids=("spine0", "leaf1"))
    board = board_of(replace(diagnosis, findings=(link,)), topology)
    shown = traffic_views.switches(board, flows)
    items = {item["id"]: item for item in shown["items"]}
    assert sorted(items) == ["leaf0", "leaf1", "spine0"]
    assert items["leaf0"]["octets_out"] == 100 + 20 + 3 + 5 + 1000
    assert items["leaf0"]["octets_in"] == 7 + 5
    assert items["spine0"]["octets_in"] == items["spine0"]["octets_out"] == 100 + 20 + 3 + 7
    assert (items["leaf0"]["ecn"], items["leaf1"]["ecn"]) == (3, 0)
    assert items["leaf1"]["jobs"] == ["job-1"]
    links = {(one["src"], one["dst"]): one for one in shown["links"]}
    assert links["leaf0", "spine0"]["octets"] == links["spine0", "leaf1"]["octets"] == 123
    assert links["leaf1", "spine0"]["octets"] == 7
    assert links["leaf1", "spine0"]["findings"] == [board.cases[0].id]
    assert links["leaf0", "spine0"]["findings"] == []


def test_without_records_numbers_are_unknown(topology):
    shown = traffic_views.switches(Board(topology=topology), None)
    assert shown["items"][0]["octets_in"] is None
    assert shown["links"][0]["octets"] is None
    assert traffic_views.switches(Board(), None) == {"items": [], "links": []}


def test_records_of_a_pair_go_one_way(diagnosis, flows):
    a, b = diagnosis.jobs[0].job.endpoints[0], diagnosis.jobs[0].job.endpoints[4]
    there = traffic_views.pair_rows(Memory(flows), (a, b), (0, 100), 10)
    assert [row["octets"] for row in there] == [100, 10, 1000]
    assert there[0]["path"] == ["leaf0", "spine0", "leaf1"]
    assert [row["octets"] for row in traffic_views.pair_rows(Memory(flows), (b, a), (0, 100), 1)] == [7]
    assert [row["start_ns"] for row in traffic_views.pair_rows(Memory(flows), (a, b), (1, 4), 1)] == ["1"]
    assert traffic_views.pair_rows(Memory(flows), (a, "nobody"), (0, 100), 10) == []


def test_records_of_a_pair_are_found_behind_many_of_the_other_way():
    n = 500
    src = np.r_[np.ones(n - 3), np.zeros(3)].astype(int)
    flows = Flows.build({"start_ns": np.arange(n), "src": src, "dst": 1 - src}, endpoints=("a", "b"))
    assert len(traffic_views.pair_rows(Memory(flows), ("a", "b"), (0, n), 2)) == 2
