"""Test dependencies in collectives on simulated jobs with a slow or hung rank."""

import json
from dataclasses import replace

import numpy as np
import pytest

from prism import topology
from prism.detectors.hang import hang
from prism.graph.record_dependencies import _exchanged, _lanes, _one_way
from prism.model import Severity
from prism.synth.scenario.presets import FAST, SLOW
from prism.synth.scenario.specification import Fault, Job, Spec
from prism.synth.simulation import simulate
from tests.prism.traffic import seen

DDP = Job(dp=8, gradient_octets=60_000_000, forward_ms=40, backward_ms=80, steps=16, jitter=0.02)
PIPE = Job(pp=2, dp=4, micro=4, steps=16, gradient_octets=100_000_000)
JOBS = {
    "context, two": (FAST, replace(DDP, dp=4, cp=2, context_octets=4_000_000)),
    "context, four": (FAST, replace(DDP, dp=2, cp=4, context_octets=4_000_000)),
    "context in a pipeline": (FAST, replace(PIPE, cp=2, context_octets=6_000_000)),
    "experts": (FAST, replace(DDP, ep=4, expert_octets=4_000_000, expert_spread=0.1)),
    "all with all": (FAST, replace(DDP, algorithm="pairs")),
    "tensors on the wire": (FAST, replace(PIPE, dp=2, tp=2, tensor_octets=4_000_000, tensor_calls=4)),
}
OTHERS = {
    "ring over RDMA": (FAST, DDP),
    "ring over TCP": (SLOW, replace(DDP, transport="tcp", gradient_octets=1_500_000)),
    "ring under the work": (SLOW, replace(DDP, transport="tcp", gradient_octets=1_500_000, buckets=8, overlap=True)),
    "tree": (FAST, replace(DDP, algorithm="tree")),
}
CUBE = replace(DDP, algorithm="halving")


def simulated(cluster, job, *faults, seed=1):
    made = simulate(Spec("a", replace(cluster, hosts=job.world), (job,), faults), seed)
    return seen(made.flows, topology.parse(json.dumps(made.topology), "t.json"), made.transits)


def loud(findings):
    return [(f.subject, f.ids) for f in findings if f.severity is not Severity.INFO]


@pytest.mark.parametrize("rank", [2, 7])
def test_of_two_that_wait_for_one_another_one_hangs(rank):
    view = simulated(FAST, CUBE, Fault("hang", ranks=(rank,), first=8, seconds=2.0))
    ((subject, ids),) = loud(hang(view))
    assert f"10.10.{rank}.1" in ids
    assert subject == ("link" if len(ids) == 2 else "endpoint")


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_of_a_branch_that_goes_up_and_then_down_the_lower_one_hangs(rank):
    """Data sent down a tree soon after data sent up always follows it: its sender waits as well."""
    job = replace(DDP, algorithm="tree", buckets=4, gradient_octets=400_000_000, forward_ms=200, backward_ms=400)
    view = simulated(FAST, job, Fault("hang", ranks=(rank,), first=8, seconds=4.0))
    assert loud(hang(view)) == [("endpoint", (f"10.10.{rank}.1",))]


def test_rings_and_exchanges_are_told_from_trees():
    nowhere, hosts = np.full(8, -1), np.arange(8) // 2
    ring = {i: {(i + 1) % 8} for i in range(8)}
    everyone = {a: {b for b in range(8) if a != b} for a in range(8)}
    cube = {a: {a ^ 1 << k for k in range(3)} for a in range(8)}
    tree = {a: {b for b in range(8) if (b - 1) // 2 == a and b} | ({(a - 1) // 2} if a else set()) for a in range(8)}
    assert [_one_way(range(8), lanes) for lanes in (ring, everyone, cube, tree)] == [True, False, False, False]
    assert [_exchanged(range(8), lanes, nowhere) for lanes in (ring, everyone, cube, tree)] == [False, True, True, False]
    apart = {a: {b for b in to if hosts[a] != hosts[b]} for a, to in everyone.items()}
    assert _exchanged(range(8), apart, hosts)
    assert not _exchanged(range(8), apart, nowhere)


def test_a_lane_is_the_smallest_groups_that_both_its_ends_are_in():
    ring, pairs = [(i, (i + 1) % 8) for i in range(8)], [(i, (i + 4) % 8) for i in range(8)]
    groups = [list(range(8)), *([i, i + 4] for i in range(4))]
    found = {tuple(members): {(ring + pairs)[i] for i in own} for members, own in _lanes(groups, ring + pairs)}
    assert found.pop(tuple(range(8))) == set(ring)
    assert found == {(i, i + 4): {(i, i + 4), (i + 4, i)} for i in range(4)}
