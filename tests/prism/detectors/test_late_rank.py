import json
from dataclasses import replace

import numpy as np
import pytest

from collectors.columns.record import TCP, UDP
from prism import topology
from prism.detectors.late_rank import _explains, late_rank
from prism.detectors.slow_rank import slow_rank
from prism.loops.arrays.change_points import Shift
from prism.model import Severity
from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.synth.simulation import simulate
from tests.prism.faults import BAD, FAULTS, RANK, case, named
from tests.prism.traffic import MS, T0, Wire, address, placed, ring_allreduce, seen, training


def test_the_rank_that_joins_last_and_since_when():
    view = case("slow rank", tcp=False)
    (one,) = late_rank(view)
    assert (one.detector, one.kind, one.subject, one.ids) == ("late_rank", "slow_rank", "endpoint", (address(RANK),))
    assert one.evidence["steps"] == [BAD.start, BAD.stop]
    assert one.evidence["late_ms"] == pytest.approx(45, abs=3)
    assert one.slowdown == pytest.approx(165 / 120, abs=0.05)


def test_a_rank_that_always_joined_last():
    (one,) = late_rank(case("rank always slow", tcp=False))
    assert (one.ids, one.evidence["steps"]) == ((address(RANK),), [0, 14])


@pytest.mark.parametrize("tcp", [False, True])
@pytest.mark.parametrize("fault", FAULTS.keys() - {"slow rank", "rank always slow"})
def test_nobody_else_is_named(fault, tcp):
    assert named(late_rank(case(fault, tcp=tcp))) == []


@pytest.mark.parametrize(("pause", "before", "says"), [(0.0, (), 1), (800.0, (), 1), (800.0, (3,), 0)])
def test_who_is_late_in_steps_that_have_another_reason_to_be_long_is_not_named(pause, before, says):
    """All ranks evaluate in three successive steps, and one continues last; in earlier evaluations it did not."""
    steps = range(8, 11)
    wire = training(
        dp=8,
        rounds=20,
        wire=Wire(),
        work=lambda step, rank: 35.0 if rank == RANK and step in steps else 20.0,
        pause=lambda step, _rank: pause if step in steps else 1.1 * pause if step in before else 0.0,
    )
    assert named(late_rank(seen(wire.flows()))) == [(address(RANK),)] * says


def test_of_one_host_only_the_latest_is_named():
    """Two rings in step over the two rails of four hosts; in one host both endpoints are late."""

    wire, at = Wire(), T0
    for step in range(14):
        late = {4: 48 * MS, 5: 42 * MS} if step in BAD else {}
        for own in (range(0, 8, 2), range(1, 8, 2)):
            ready = {m: at + 60 * MS + late.get(m, 0) for m in own}
            ends = ring_allreduce(wire, list(own), 40_000_000, ready, lambda _a, _b: 10.0)
        at = max(ends.values())
    view = seen(wire.flows(), placed(8, nics=2))
    assert len(view.job.endpoints) == 8
    assert named(late_rank(view)) == [(address(4),)]


def test_of_two_nobody_can_say_which_is_late():
    wire = training(dp=2, work=lambda step, rank: 40.0 if rank and step in BAD else 20.0)
    assert late_rank(seen(wire.flows())) == []


def test_where_senders_wait_for_the_receiver_slow_rank_sees_it():
    view = case("slow rank", tcp=True)
    assert set(named(late_rank(view))) <= {(address(RANK),)}
    assert Wire(tcp=True).tcp


def test_of_ranks_late_alike_the_host_is_named():
    """Tensor-parallel ranks wait invisibly inside the host for the slow one."""
    wire, at = Wire(), T0
    for step in range(14):
        late = {4: 48 * MS, 5: 48 * MS} if step in BAD else {}
        for own in (range(0, 8, 2), range(1, 8, 2)):
            ready = {m: at + 60 * MS + late.get(m, 0) for m in own}
            ends = ring_allreduce(wire, list(own), 40_000_000, ready, lambda _a, _b: 10.0)
        at = max(ends.values())
    assert named(late_rank(seen(wire.flows(), placed(8, nics=2)))) == [("host2",)]


@pytest.mark.parametrize(("protocol", "says"), [(UDP, 1), (TCP, 0)])
def test_where_members_are_not_on_the_wire_the_late_one_may_wait_for_one_of_them(protocol, says):
    """Every second rank sends inside its host only; a TCP sender waits for its receiver."""
    view = case("slow rank", tcp=False)
    code = [view.code[a] for a in view.job.endpoints if a == address(RANK) or view.job.endpoints.index(a) % 2 == RANK % 2]
    kept = np.isin(view.flows.src, code)
    part = replace(view.flows, protocol=np.full(len(view.flows), protocol, np.uint8)).take(kept)
    assert len(late_rank(replace(view, flows=part))) == says


def rings(late, *, steps=24):
    """Build two synchronous rings over the two rails of four hosts; `late` is a rank's delay in a step, ms."""
    wire, at = Wire(), T0
    for step in range(steps):
        ends = []
        for own in (range(0, 8, 2), range(1, 8, 2)):
            ready = {m: at + (60 + late(step, m)) * MS for m in own}
            ends += ring_allreduce(wire, list(own), 40_000_000, ready, lambda _a, _b: 10.0).values()
        at = max(ends)
    return seen(wire.flows(), placed(8, nics=2))


def test_two_of_one_host_at_two_times_are_two():
    view = rings(lambda step, rank: 45 * ((rank == 4 and 4 <= step < 9) or (rank == 5 and 14 <= step < 19)))
    assert sorted(named(late_rank(view))) == [(address(4),), (address(5),)]


def test_hiccups_now_and_then_are_no_stretch():
    assert named(late_rank(rings(lambda step, rank: 45 * (rank == 4 and step in (6, 7, 9, 12))))) == []


def test_who_meets_a_late_one_elsewhere_is_late_in_its_own_group():
    """Every second rank reduces expert gradients: 2 exchanged with 3 before, and all waited for 3."""
    wire, at = Wire(), T0
    for step in range(14):
        slow = 45 if step in BAD else 0
        ready = {m: at + (60 + slow * (m in (2, 3))) * MS for m in range(8)}
        for own in (range(0, 8, 2), range(1, 8, 2)):
            done = ring_allreduce(wire, list(own), 8_000_000, {m: ready[m] for m in own}, lambda _a, _b: 10.0)
            ready |= done
        at = max(ring_allreduce(wire, list(range(8)), 40_000_000, ready, lambda _a, _b: 10.0).values())
    view = seen(wire.flows())
    whole = [g for g in view.parallelism.groups if len(g.members) == 8]
    halves = [replace(whole[0], members=whole[0].members[k::2]) for k in range(2)]
    both = replace(view, parallelism=replace(view.parallelism, groups=(*halves, *whole)))
    assert named(late_rank(both)) == []


def test_the_root_of_a_tree_waits_for_its_leaves():
    """Its first send is the sum: it is late if any rank is late."""
    wire, at = Wire(tcp=True), T0
    for step in range(14):
        slow = (5, 3, 6, 4, 0)[step - BAD.start] if step in BAD else None
        ready = {m: at + (60 + 40 * (m == slow)) * MS for m in range(8)}
        for m in (7, 6, 5, 4, 3, 2, 1):
            up = (m - 1) // 2
            ready[up] = max(ready[up], wire.send(m, up, 8_000_000, ready[m]))
        for m in range(1, 8):
            ready[m] = wire.send((m - 1) // 2, m, 8_000_000, ready[(m - 1) // 2])
        at = max(ready.values())
    view = seen(wire.flows())
    assert [len(group.members) for group in view.parallelism.groups] == [8]
    assert named(late_rank(view)) == []


@pytest.mark.parametrize("first", [0, 6])
@pytest.mark.parametrize("transport", ["rdma", "tcp"])
@pytest.mark.parametrize("rank", [4, 5, 7])
def test_whom_hosts_of_several_ranks_wait_for(transport, rank, first):
    """Only the first and the last rank of a host's part of the ring are visible: any rank of it may be late."""
    octets = 60_000_000 if transport == "rdma" else 6_000_000
    job = Job(dp=16, gradient_octets=octets, forward_ms=40, backward_ms=80, steps=16, jitter=0.02, transport=transport)
    cluster = Cluster(hosts=4, gpus=4, nic_gbit=100 if transport == "rdma" else 10)
    fault = Fault("compute_slow", ranks=(rank,), first=first, stop=None if first == 0 else 12, factor=1.25)
    made = simulate(Spec("x", cluster, (job,), (fault,)), 3)
    (one,) = late_rank(seen(made.flows, topology.parse(json.dumps(made.topology), "t.json"), made.transits))
    assert one.ids == ("server1",)
    assert one.severity is not Severity.INFO
    assert one.evidence["late_ms"] == pytest.approx(30, rel=0.35)


def test_in_health_the_slowest_is_late_by_its_jitter():
    """A random case: one rank is later, and another works longer, than all others in most steps, by varying amounts."""
    job = Job(mode="3d", transport="rdma", dp=4, tp=4, steps=16, buckets=8, overlap=True, gradient_octets=428_000_000)
    job = replace(job, forward_ms=128.4, backward_ms=256.8, optimizer_ms=21.4, load_ms=4.28, activation_octets=17_000_000)
    job = replace(job, jitter=0.026, uneven_ranks=0.01, spike_chance=0.002, world_reduce=True, retransmit=1e-5)
    made = simulate(Spec("x", Cluster(hosts=4, gpus=4, hosts_per_leaf=2, rails=True, spines=4), (job,)), 87001047)
    view = seen(made.flows, topology.parse(json.dumps(made.topology), "t.json"), made.transits)
    assert late_rank(view) == []
    assert slow_rank(view) == []


@pytest.mark.parametrize(("within", "says"), [(1.0, False), (0.3, True)])
def test_who_is_late_for_the_first_of_many_reductions_is_late_for_all_of_them(within, says):
    """Steps 8 to 10, and one with an evaluation, take 120 ms longer; a rank is 20 ms late for the first reduction."""
    wire = training(
        dp=8,
        wire=Wire(),
        work=lambda step, _rank: 60.0 if step in range(8, 11) else 20.0,
        pause=lambda step, _rank: 200.0 * (step == 3),
    )
    view = seen(wire.flows())
    assert _explains(view, Shift(8, 11, 20 * MS / view.period, 9.0), within) is says
