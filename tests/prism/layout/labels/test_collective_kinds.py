import json
from types import SimpleNamespace

import numpy as np
import pytest

from prism.jobs import recognize, rows_of
from prism.layout.labels.collective_kinds import _as_large, _crossing, _idler, _inner_kind
from prism.layout.labels.parallelism import infer
from prism.synth.scenario.specification import Cluster, Job, Spec
from prism.synth.simulation import simulate
from prism.topology import parse
from tests.prism.traffic import MS, T0, Wire


def kinds(job):
    """How many groups of each kind and size."""
    done = simulate(Spec("x", Cluster(hosts=job.world), (job,)), 3)
    (found,) = recognize(done.flows)
    told = infer(done.flows.take(rows_of(done.flows, found)), found)
    out = {}
    for group in told.groups:
        out[group.kind, len(group.members)] = out.get((group.kind, len(group.members)), 0) + 1
    return out


BASE = {"gradient_octets": 100_000_000, "forward_ms": 60, "backward_ms": 120, "steps": 14}


def test_experts_with_and_without_overlap():
    for overlap in (False, True):
        job = Job(dp=8, ep=4, expert_octets=8_000_000, buckets=2, overlap=overlap, **BASE)
        assert kinds(job) == {("dp", 8): 1, ("dp", 2): 4, ("ep", 4): 2}


def test_as_many_experts_as_groups_of_them():
    """Expert parallel groups and the groups that reduce experts' gradients are of one size, and all inside the same ranks."""
    job = Job(dp=16, ep=4, expert_octets=500_000, transport="tcp", **BASE)
    assert kinds(job) == {("dp", 16): 1, ("dp", 4): 4, ("ep", 4): 4}


@pytest.mark.parametrize("cp", [2, 4])
def test_context(cp):
    job = Job(dp=8 // cp, cp=cp, context_octets=6_000_000, buckets=4, overlap=True, **BASE)
    assert kinds(job) == {("dp", 8): 1, ("cp", cp): 8 // cp}


def test_tensor_parallel_on_the_wire():
    job = Job(dp=4, tp=2, tensor_octets=2_000_000, **BASE)
    assert kinds(job) == {("dp", 4): 2, ("tp", 2): 4}


def test_experts_over_all_replicas():
    """An all-to-all among those who also reduce together, as a rule of other octets from rank to rank."""
    job = Job(dp=8, ep=8, expert_octets=3_000_000, transport="tcp", **BASE)
    assert kinds(job) == {("dp", 8): 1, ("ep", 8): 1}


@pytest.mark.parametrize("crossing", [({0, 1, 2, 3, 4}, {2, 3, 4, 5}), ({0, 1, 2}, {2, 3, 4})])
def test_sets_that_share_more_than_one_member_are_parts_of_one(crossing):
    a, b = map(frozenset, crossing)
    whole = frozenset(range(8))
    assert _crossing({a, b}, {whole}) == ({a, b} if len(a & b) > 1 else set())
    assert _crossing({a, b}, {frozenset({0, 1, 2, 3, 4})}) == set()  # not of one reduction
    assert _crossing({a, a | {7}}, {whole}) == set()  # one contains the other


@pytest.mark.parametrize(("back", "kind"), [(False, "cp"), (True, "ep")])
def test_what_only_goes_around_one_way_is_context_though_some_of_it_was_not_seen(back, kind):
    """Of three, where an exchange of tokens is between neighbours as well, but comes back."""
    wire, three = Wire(tcp=True), frozenset(range(3))
    for i, octets in enumerate((1_000_000, 1_000_000, 990_000)):
        wire.send(i, (i + 1) % 3, octets, T0)
        wire.send((i + 1) % 3, i, octets * back, T0)
    flows = wire.flows()
    edges = {(i, (i + way) % 3, 0): None for i in range(3) for way in ((1, 2) if back else (1,))}
    one = SimpleNamespace(edges=edges, rows=np.flatnonzero(flows.octets > 900_000))
    assert _inner_kind(flows, three, {three: [one]}, {frozenset(range(6))}) == kind


def test_parts_that_are_as_large_together_as_another_group_are_one():
    whole, a, b = (frozenset(own) for own in ({0, 1, 2, 3}, {4, 5, 6}, {4, 7}))
    assert _as_large({whole, a, b}) == {a, b}
    assert _as_large({whole, a}) == set()
    assert _as_large({a, b}) == set()
    assert _as_large({whole, a, frozenset({6, 7, 8})}) == set()


def test_context_that_is_gathered_one_way_and_scattered_the_other_goes_around():
    """Every member has two neighbours, though it talks to both."""
    wire, at = Wire(tcp=True), T0
    ranks = range(8)
    for _ in range(14):
        for turn in range(6):
            for half in (ranks[:4], ranks[4:]):
                lanes = [(m, half[(i + 1) % 4]) for i, m in enumerate(half)]
                for a, b in lanes if turn < 3 else [(b, a) for a, b in lanes]:
                    wire.send(a, b, 2_000_000, at, src_port=50_000 + a, dst_port=50_100 + b)
            at += 30 * MS
        for k in range(14):
            for m in ranks:
                wire.send(m, (m + 1) % 8, 1_000_000, at + k * MS)
        at += 150 * MS
    flows = wire.flows()
    (job,) = recognize(flows)
    layout = infer(flows, job).layout
    assert (layout.dp, layout.cp, layout.ep) == (2, 4, 1)


@pytest.mark.parametrize("transport", ["tcp", "rdma"])
@pytest.mark.parametrize(("dp", "ep"), [(4, 4), (6, 3), (8, 4), (16, 8)])
def test_experts_part_of_whose_exchange_is_inside_hosts(transport, dp, ep):
    job = Job(dp=dp, ep=ep, expert_octets=4_000_000, transport=transport, **BASE)
    done = simulate(Spec("x", Cluster(hosts=dp // 2, gpus=2), (job,)), 1)
    topology = parse(json.dumps(done.topology), "t")
    (found,) = recognize(done.flows, topology)
    told = infer(done.flows.take(rows_of(done.flows, found)), found, topology)
    reduced = [("dp", dp // ep)] * (ep if dp > ep else 0)
    assert sorted((group.kind, len(group.members)) for group in told.groups) == [
        *reduced,
        ("dp", dp),
        *[("ep", ep)] * (dp // ep),
    ]


def test_of_sets_that_cross_the_idler_ones_reduce():
    whole = frozenset(range(8))
    experts = [frozenset(range(4)), frozenset(range(4, 8))]
    gradients = [frozenset({rank, rank + 4}) for rank in range(4)]
    calm = dict.fromkeys(experts, 0.2) | dict.fromkeys(gradients, 0.9) | {whole: 0.6}
    assert all(_idler(own, whole, calm, calm, 0.6) for own in gradients)
    assert not any(_idler(own, whole, calm, calm, 0.6) for own in experts)
    assert not _idler(gradients[0], whole, calm, calm | dict.fromkeys(experts, 0.6), 0.6)  # hardly
    assert not _idler(gradients[0], whole, [whole, *gradients], calm, 0.6)  # nothing crosses them: context, say
