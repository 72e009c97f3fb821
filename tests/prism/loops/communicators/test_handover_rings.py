"""Rings that gather one way and scatter the other, beside pipelines whose stages close a ring."""

import numpy as np
import pytest

from prism.loops.arrays.edges import edges_of, flipped
from prism.loops.communicators.handover_rings import circles
from prism.loops.communicators.handover_test import NEITHER
from prism.loops.communicators.pipeline_handovers import handovers
from prism.synth.scenario.specification import Cluster, Job, Spec
from prism.synth.simulation import simulate
from tests.prism.traffic import MS, T0, Wire

RANKS = 8


def around(wire, lanes, at, parts=7, octets=500_000):
    """What goes around a ring in so many parts, each lane sending when what came before has come."""
    for k in range(parts):
        for a, b in lanes:
            wire.send(a, b, octets, at + k * MS)


def sharded(lanes, steps=12, layers=3):
    """Layers are gathered one way, twice a step, and their gradients scattered, twice as large, the other."""
    wire, at = Wire(tcp=True, jitter_ns=100_000), T0
    back = [(b, a) for a, b in lanes]
    for _ in range(steps):
        for _ in range(layers):
            around(wire, lanes, at)
            at += 40 * MS
        for _ in range(layers):
            around(wire, lanes, at)
            around(wire, back, at + 45 * MS, octets=1_000_000)
            at += 80 * MS
        at += 20 * MS
    return wire.flows()


def told(flows, host):
    edges = edges_of(flows, np.flatnonzero(~flows.control()))
    tides, _ = handovers(edges)
    return tides, *circles(tides, edges, host)


def test_layers_that_are_gathered_one_way_and_scattered_the_other_are_handed_to_nobody():
    lanes = [(r, (r + 1) % RANKS) for r in range(RANKS)]
    tides, kept, found = told(sharded(lanes), {})
    assert len(tides) == RANKS  # each pair for itself looks like two stages
    assert kept == {}
    ways = [frozenset(lanes), frozenset((b, a) for a, b in lanes)]
    assert sorted(map(sorted, (one.edges for one in found))) == sorted(map(sorted, ways))


def test_a_ring_goes_on_inside_hosts():
    """Two ranks in each host: one receives what comes around, the other sends it on."""
    lanes = [(r, (r + 1) % RANKS) for r in range(1, RANKS, 2)]
    host = {r: f"host{r // 2}" for r in range(RANKS)}
    tides, kept, found = told(sharded(lanes), host)
    assert len(tides) == len(lanes)
    assert kept == {}
    assert [len(one.edges) for one in found] == [len(lanes), len(lanes)]
    assert told(sharded(lanes), {})[1].keys() == tides.keys()  # without hosts nothing joins them


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe", "interleaved"])
@pytest.mark.parametrize("pp", [4, 8])
def test_stages_are_stages_though_they_close_a_ring(schedule, pp):
    job = Job(pp=pp, micro=2 * pp, schedule=schedule, transport="tcp", activation_octets=400_000, steps=10)
    flows = simulate(Spec("x", Cluster(hosts=pp, nic_gbit=1.0), (job,)), 1).flows
    tides, kept, found = told(flows, {})
    assert len(tides) >= pp - 1
    assert (kept, found) == (tides, [])
    assert all(flipped(pair) not in tides for pair in tides)


def both_ways(lanes, less=1.0, more=()):
    """What circles are of messages so short that no two lanes move at once; between the last and the first `less` moves.

    What goes around one way goes before what goes around the other.
    """
    rng, wire = np.random.default_rng(4), Wire(tcp=True)
    for way, own in enumerate((lanes, [(b, a) for a, b in lanes], more)):
        for a, b in own:
            for at in (150 * MS * np.arange(400) + 75 * MS * way + rng.integers(0, 60 * MS, 400)).tolist():
                wire.send(a, b, int(5000 * (less if {a, b} == {0, RANKS - 1} else 1)), T0 + at)
    flows = wire.flows()
    edges = edges_of(flows, np.flatnonzero(~flows.control()))
    tides = {(min(pair), max(pair)): NEITHER for pair in lanes}
    ways = sorted([sorted(lanes), sorted((b, a) for a, b in lanes)])
    return tides, ways, lambda host: circles(tides, edges, host)


def test_what_moves_the_same_all_around_each_way_is_handed_to_nobody():
    lanes = [(r, (r + 1) % RANKS) for r in range(RANKS)]
    _, ways, found = both_ways(lanes)
    assert found({})[0] == {}
    assert sorted(sorted(one.edges) for one in found({})[1]) == ways
    tides, _, found = both_ways(lanes, less=0.8)  # from the last of stages to the first less is handed on
    assert found({}) == (tides, [])


def test_inside_hosts_it_is_where_nothing_else_moves():
    """Some ranks of a ring talk to one only, their neighbour to the next. Replicas of pipelines reduce gradients."""
    lanes = [(0, 1), (1, 2), (3, 4), (4, 5)]
    host = {0: "a", 5: "a", 2: "b", 3: "b", 1: "c", 4: "c"}
    _, ways, found = both_ways(lanes)
    assert found(host)[0] == {}
    assert sorted(sorted(one.edges) for one in found(host)[1]) == ways
    tides, _, found = both_ways(lanes, more=[(1, 4)])
    assert found(host) == (tides, [])


def test_replicas_of_a_pipeline_may_stand_around_hosts():
    """Three of two stages each, on three hosts of two ranks."""
    job = Job(pp=2, dp=3, micro=4, transport="tcp", activation_octets=400_000, gradient_octets=4_000_000, steps=10)
    flows = simulate(Spec("x", Cluster(hosts=6, nic_gbit=1.0), (job,)), 1).flows
    order = [flows.endpoints.index(f"10.10.{rank}.1") for rank in range(6)]
    host = dict(zip(order, ["a", "b", "c", "b", "c", "a"], strict=True))
    tides, kept, found = told(flows, host)
    assert len(tides) == 3
    assert (kept, found) == (tides, [])


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe"])
def test_replicas_that_reduce_inside_hosts_hand_on(schedule):
    """Nothing else moves between hosts, and from the first stage to the last, through its host and back, all is the same."""
    job = Job(pp=3, dp=2, micro=8, schedule=schedule, transport="tcp", activation_octets=400_000, steps=12)
    done = simulate(Spec("x", Cluster(hosts=3, gpus=2, nic_gbit=1.0), (job,)), 1)
    known = done.topology["endpoints"]
    host = {i: known[address]["host"] for i, address in enumerate(done.flows.endpoints) if address in known}
    tides, kept, found = told(done.flows, host)
    assert len(tides) == 4
    assert (kept, found) == (tides, [])
