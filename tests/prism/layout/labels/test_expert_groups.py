"""Two rings of the same ranks: in one gradients are reduced, in the other context goes around, or parameters are gathered."""

import numpy as np
import pytest

from prism.layout.labels._expert_groups import dense
from prism.loops.communicators.pair_lockstep import Collective
from prism.synth.scenario.specification import Cluster, Job, Spec
from prism.synth.simulation import simulate
from tests.prism.traffic import MS, T0, Wire, inferred

RANKS, STEPS, BLOCKS, OCTETS = 5, 16, 9, 2_000_000


def told(times, *, apart=40.0, steps=STEPS, both_ways=False, uneven=0.0):
    """The layout of a job that reduces gradients once per step, and before that moves so many times as much the other way."""
    rng, wire, at = np.random.default_rng(4), Wire(tcp=True), T0
    way = [(r, (r + 1) % RANKS) for r in range(RANKS)]
    back = [(b, a) for a, b in way]
    for _ in range(steps):
        for block in range(BLOCKS):
            for a, b in way + (back if both_ways else []):
                wire.send(a, b, round(times * OCTETS / BLOCKS * (1 + uneven * (block % 3 - 1))), at)
            at += int(apart * rng.uniform(0.8, 1.2) * MS)
        for a, b in back:
            wire.send(a, b, OCTETS, at, dst_port=50_000 + a)
        at += 200 * MS
    flows = wire.flows()
    return inferred(flows).layout


@pytest.mark.parametrize("times", [0.3, 0.7, 1.4, 2.7, 5.4])
def test_context_goes_around_among_all_who_reduce(times):
    layout = told(times)
    assert (layout.dp, layout.cp) == (1, RANKS)


@pytest.mark.parametrize(("times", "uneven"), [(0.5, 0), (1, 0), (1.4, 0.2), (1.5, 0), (1.2, 0), (2, 0), (4, 0), (6, 0)])
def test_what_may_be_parameters_that_are_gathered_is_no_context(times, uneven):
    """As much as gradients, or layers that are as large as these, half of which may be gathered twice, or of many sizes."""
    layout = told(times, uneven=uneven)
    assert (layout.dp, layout.cp) == (RANKS, 1)


def test_what_moves_at_once_or_both_ways_or_in_few_steps_is_no_context():
    for layout in (told(2.7, apart=0.5), told(2.7, both_ways=True), told(2.7, steps=3)):
        assert (layout.dp, layout.cp) == (RANKS, 1)


@pytest.mark.parametrize("transport", ["tcp", "rdma"])
def test_context_in_the_stages_of_a_pipeline_without_replicas(transport):
    job = Job(pp=2, cp=4, micro=4, transport=transport, context_octets=6_000_000, activation_octets=4_000_000, buckets=4,
              gradient_octets=40_000_000, forward_ms=15, backward_ms=30, steps=14)  # fmt: skip
    flows = simulate(Spec("x", Cluster(hosts=8), (job,)), 3).flows
    layout = inferred(flows).layout
    assert (layout.dp, layout.pp, layout.tp, layout.cp) == (1, 2, 1, 4)


def test_members_of_an_exchange_talk_to_more_than_neighbours():
    ring = frozenset((r, (r + 1) % 8, 0) for r in range(8))
    every = frozenset((a, b, 0) for a in range(8) for b in range(8) if a != b)
    ones = [Collective(edges, np.zeros(1, np.intp), (np.zeros(1, np.int64), np.ones(1, np.int64))) for edges in (ring, every)]
    assert [dense(one, {}) for one in ones] == [False, True]
