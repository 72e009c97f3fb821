import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.edges import edge_from, edges_of
from prism.loops.communicators.connection_lanes import connections, lanes
from prism.loops.communicators.lane_communicators import _alike, _meeting, _rings, _whole, communicators
from prism.loops.communicators.pipeline_handovers import handovers
from prism.synth.scenario.specification import Cluster, Job, Spec
from prism.synth.simulation import simulate
from tests.prism.traffic import T0, Wire


def groups(job, hosts=16):
    """The sets of ranks that were found, and those that there are."""
    done = simulate(Spec("x", Cluster(hosts=hosts), (job,)), 2)
    flows, truth = done.flows, done.truth["jobs"]["A"]
    rank = {r["ip"]: r["rank"] for r in truth["ranks"]}
    rows = np.flatnonzero(~flows.control())
    edges = edges_of(flows, rows, lanes(flows, connections(flows, rows)))
    piped, trees = handovers(edges)
    handed = {frozenset(pair[:2]) for pair in piped}
    found, left = communicators(
        {k: e for k, e in edges.items() if frozenset(k[:2]) not in handed and not any(k in t for t in trees)}
    )
    assert left == {}
    told = {frozenset(rank[flows.endpoints[m]] for m in one.members) for one in found}
    told |= {frozenset(rank[flows.endpoints[end]] for key in tree for end in key[:2]) for tree in trees}
    return told, {frozenset(g) for kind, own in truth["groups"].items() if kind != "pp" for g in own}


@pytest.mark.parametrize("algorithm", ["ring", "tree", "halving", "pairs"])
def test_a_reduction_is_one_whatever_its_algorithm(algorithm):
    found, there = groups(Job(dp=8, algorithm=algorithm, steps=12))
    assert found == there


@pytest.mark.parametrize("ranks", [2, 4])
def test_context_rings_that_share_their_pairs_with_gradients(ranks):
    found, there = groups(Job(dp=8 // ranks, cp=ranks, context_octets=6_000_000, forward_ms=60, backward_ms=120, steps=12))
    assert found == there


def test_experts_and_their_gradients():
    job = Job(dp=8, ep=4, gradient_octets=100_000_000, expert_octets=8_000_000, forward_ms=60, backward_ms=120, steps=16)
    found, there = groups(job)
    assert found == there


def test_groups_beside_pipelines():
    found, there = groups(Job(pp=2, dp=8, micro=4, steps=12, gradient_octets=100_000_000))
    assert found == there


def test_experts_gradients_among_so_many_that_volumes_hardly_differ():
    """A ring of 32 moves 1.94 times the gradients, one of 16 1.88 times."""
    job = Job(dp=32, ep=2, gradient_octets=400_000_000, expert_octets=30_000_000, forward_ms=230, backward_ms=460, steps=10)
    found, there = groups(job, hosts=32)
    assert found == there


lanes_of = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 2), st.sampled_from((1000, 1002, 1009, 2000))), max_size=14
)


def naively_going_on(edges):
    """Pairs of lanes, one into an endpoint and one out of it, whose equals there lead to one other end each way."""
    found = set()
    for node in {end for key in edges for end in key[:2]}:
        here = [edge for edge in edges.values() if node in (edge.src, edge.dst)]
        for one in (edge for edge in here if edge.dst == node):
            tolerance = 1e-3 if (one.dst, one.src, one.lane) in edges else 1e-2
            same = [edge for edge in here if abs(edge.volume - one.volume) <= tolerance * one.volume]
            before = {edge.src + edge.dst - node for edge in same if edge.dst == node}
            after = {edge.src + edge.dst - node for edge in same if edge.dst != node}
            if len(before) == len(after) == 1 and before != after:
                found |= {(one.key, edge.key) for edge in same if edge.dst != node}
    return found


@given(lanes_of)
def test_lanes_that_go_on_in_one_another_are_those_that_the_obvious_loop_finds(drawn):
    edges = {}
    for src, dst, lane, octets in drawn:
        one = np.array([0], np.int64)
        edges[src, dst, lane] = edge_from((src, dst, lane), one, one, one + 1, np.array([octets], np.int64))
    keys = list(edges)
    assert {(keys[a], keys[b]) for a, b in _rings(edges, *_meeting(edges))} == naively_going_on(edges)


def test_no_lanes_make_no_communicators():
    assert communicators({}) == ([], {})


def test_groups_that_have_moved_the_same_by_chance_are_no_tree():
    """1 exchanges 103 octets a step with 2, all at its end, and 100 with 0, in four parts; 0 has begun the next step."""

    def edge(pair, steps, times, octets):
        start = np.array([1000 * step + at for step in range(25) for at in times][:steps]) * 1_000_000
        return edge_from(pair, np.arange(len(start)), start, start + 1_000_000, np.full(len(start), octets))

    times = (100, 300, 500, 700)
    early, late = ({pair, pair[::-1]} for pair in ((0, 1), (1, 2)))
    edges = {pair: edge(pair, 99, times, 25) for pair in early} | {pair: edge(pair, 24, (800,), 103) for pair in late}
    moved = [{edges[pair].volume for pair in own} for own in (early, late)]
    assert max(map(max, moved)) - min(map(min, moved)) < 0.002 * max(map(max, moved))
    assert _alike([early, late], edges) == [early, late]
    alike = edges | {pair: edge(pair, 96, tuple(at + 5 for at in times), 25) for pair in late}
    assert _alike([early, late], alike) == [early | late]


@pytest.mark.parametrize(("of_each", "whole"), [("all", 3), ("some", 1)])
def test_those_who_all_exchange_are_no_fragment_of_a_ring_that_moves_twice_as_much(of_each, whole):
    """Experts' tokens may come to half of what is reduced. A round of halving is a fragment, so is part of a tree."""
    wire = Wire()
    ring = {(r, (r + 1) % 8) for r in range(8)}
    inner = [{(a, b) for a in own for b in own if a != b} for own in ((0, 2, 4, 6), (1, 3, 5, 7))]
    if of_each == "some":
        inner = [{(a, b) for a, b in own if (a - b) % 8 in (2, 6)} for own in inner]
    for part, octets in ((ring, 20_000), *((own, 10_000) for own in inner)):
        for a, b in part:
            wire.send(a, b, octets, T0)
    flows = wire.flows()
    edges = edges_of(flows, np.flatnonzero(~flows.control()))
    assert len(_whole([ring, *inner], edges)) == whole
