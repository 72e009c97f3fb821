import json
from collections import Counter
from dataclasses import replace

import pytest

from prism import topology
from prism.detectors.early_slow_rank import early_slow_rank
from prism.model import Severity
from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.synth.simulation import simulate
from tests.prism.faults import named
from tests.prism.traffic import Wire, address, placed, seen, training

STEPS, SLOW, USUAL = 24, 5, 100.0  # the newest step is the last


def job(work, *, dp=2, pp=4, micro=16, least=2, steps=STEPS):
    wire = training(dp=dp, pp=pp, micro=micro, steps=steps, wire=Wire(tcp=True), work=work)
    return replace(seen(wire.flows(), placed(dp * pp)), least=least)


def longer(step, rank):
    return 1.5 * USUAL if rank == SLOW and step == STEPS - 1 else USUAL


def test_who_worked_longer_all_through_one_long_step():
    view = job(longer)
    assert view.period > 1.5e9
    (one,) = early_slow_rank(view)
    assert (one.detector, one.kind, one.ids, one.severity) == ("lately", "slow_rank", (address(SLOW),), Severity.WARNING)
    assert one.evidence["steps"] == [len(view.ends) - 1, len(view.ends)]
    assert (one.start_ns, one.end_ns) == view.during(*one.evidence["steps"])
    assert one.slowdown == pytest.approx(1.4, abs=0.1)
    assert one.evidence["parts"] >= 3


def test_in_all_that_was_recorded_and_where_steps_are_short_two_steps_tell():
    assert early_slow_rank(job(longer, least=3)) == []
    assert early_slow_rank(job(lambda step, rank: longer(step, rank) / 5)) == []


def test_what_was_not_seen_in_few_steps_may_be_common():
    assert early_slow_rank(job(lambda step, rank: longer(step + 8, rank), steps=STEPS - 8)) == []


def test_a_pause_is_not_all_through_a_step():
    calls = Counter()

    def paused(step, rank):
        calls[step, rank] += 1
        return 8 * USUAL if rank == SLOW and step == STEPS - 1 and calls[step, rank] == 8 else USUAL

    assert early_slow_rank(job(paused)) == []


@pytest.mark.parametrize(("once", "expected"), [((6,), []), ((6, 7), []), ((6, 7, 8), [(address(SLOW),)])])
def test_where_a_step_or_two_are_as_long_this_may_be_one_of_them(once, expected):
    assert (
        named(early_slow_rank(job(lambda step, rank: 1.4 * USUAL if rank == 2 and step in once else longer(step, rank))))
        == expected
    )


def test_steps_that_several_ranks_made_long_one_after_another_are_single_ones():
    """Hosts sometimes have other load: three hosts in successive steps."""
    other = {6: 0, 7: 2, 8: 7}
    work = lambda step, rank: 1.4 * USUAL if other.get(step) == rank else longer(step, rank)  # noqa: E731
    assert early_slow_rank(job(work)) == []


def test_a_step_with_one_piece_of_work_tells_nothing_of_what_lasts():
    work = lambda step, rank: 20 * longer(step, rank)  # noqa: E731
    assert early_slow_rank(job(work, dp=8, pp=1)) == []


def test_all_that_are_slower_are_nobodys_fault():
    assert early_slow_rank(job(lambda step, _rank: longer(step, SLOW))) == []


LONG = Job(
    dp=8,
    steps=24,
    forward_ms=1000,
    backward_ms=2000,
    jitter=0.02,
    spike_chance=0,
    message_octets=1 << 24,
    window_octets=1 << 26,
)
TCP, RDMA = Cluster(nic_gbit=4.0), Cluster()
SIMULATED = {
    "ddp": (TCP, replace(LONG, transport="tcp", buckets=4, overlap=True, gradient_octets=40_000_000)),
    "ddp over RDMA": (RDMA, replace(LONG, buckets=4, overlap=True, gradient_octets=2_000_000_000)),
    "fsdp over RDMA": (RDMA, replace(LONG, mode="fsdp", layers=8, gradient_octets=2_000_000_000)),
    "moe": (TCP, replace(LONG, transport="tcp", ep=4, gradient_octets=20_000_000, expert_octets=4_000_000)),
    "moe over RDMA": (RDMA, replace(LONG, ep=4, gradient_octets=1_000_000_000, expert_octets=100_000_000)),
}


def simulated(name, *faults):
    cluster, job = SIMULATED[name]
    made = simulate(Spec("long", cluster, (job,), faults), seed=3)
    return replace(seen(made.flows, topology.parse(json.dumps(made.topology), "t")), least=2)


@pytest.mark.parametrize("name", SIMULATED)
def test_without_a_pipeline_the_one_that_is_last_in_all_parts_of_a_step(name):
    slow = Fault("compute_slow", ranks=(3,), first=LONG.steps - 1, factor=1.5)
    view = simulated(name, slow)
    (one,) = early_slow_rank(view)
    assert one.ids == ("10.10.3.1",)
    assert one.evidence["parts"] >= 4
    assert one.score >= 6


@pytest.mark.parametrize(("tcp", "buckets"), [(True, 4), (False, 4), (False, 8)])
def test_where_lanes_are_inside_hosts_it_is_whom_the_ring_waited_for(tcp, buckets):
    """Rank 3 is the second of its host and has no visible receiver."""
    octets, nic = (40_000_000, 4.0) if tcp else (2_000_000_000, 200.0)
    kind = replace(LONG, transport="tcp" if tcp else "rdma", buckets=buckets, overlap=True, gradient_octets=octets)
    own = Cluster(hosts=4, gpus=2, nic_gbit=nic)
    for factor, expected in ((1.5, ["10.10.1.2"]), (None, [])):
        slow = Fault("compute_slow", ranks=(3,), first=LONG.steps - 1, factor=factor) if factor else None
        pause = Fault("hang", ranks=(3,), first=LONG.steps - 1, seconds=1.5)
        made = simulate(Spec("long", own, (kind,), (slow or pause,)), seed=3)
        view = replace(seen(made.flows, topology.parse(json.dumps(made.topology), "t")), least=2)
        assert view.durations[-1] > 1.3 * view.period
        found = early_slow_rank(view)
        assert [one.ids[0] for one in found] == expected
        assert all("unseen" in one.evidence and one.severity is not Severity.INFO for one in found)


@pytest.mark.parametrize(("seed", "step"), [(0, 36), (9, 51)])
def test_what_spares_a_part_of_a_step_is_not_all_through_it(seed, step):
    """Random cases: a single backward pass took 1.5 times as long, overlapped with reductions of eight buckets."""
    kind = replace(SIMULATED["ddp over RDMA"][1], buckets=8, jitter=0.048, spike_chance=0.004, spike_factor=1.5, steps=step + 2)
    kind = replace(kind, forward_ms=1333, backward_ms=2666, message_octets=1 << 20, window_octets=1 << 22)
    made = simulate(Spec("long", RDMA, (kind,)), seed)
    own = topology.parse(json.dumps(made.topology), "t")
    ends = seen(made.flows, own).ends
    near = (made.flows.start_ns >= ends[step - 25]) & (made.flows.end_ns <= ends[step] + 20_000_000)
    view = replace(seen(made.flows.take(near), own), least=2)
    assert view.durations[-1] > 1.25 * view.period
    assert early_slow_rank(view) == []


def test_the_last_part_of_a_slow_step_may_be_as_long_as_ever():
    """A random case in which the step has hardly any own work left."""
    kind = replace(SIMULATED["ddp over RDMA"][1], buckets=8, jitter=0.03, forward_ms=1333, backward_ms=2666)
    kind = replace(kind, message_octets=1 << 20, window_octets=1 << 22)
    slow = Fault("compute_slow", ranks=(6,), first=LONG.steps - 1, factor=1.74)
    made = simulate(Spec("long", RDMA, (kind,), (slow,)), 5)
    view = replace(seen(made.flows, topology.parse(json.dumps(made.topology), "t")), least=2)
    assert [one.ids for one in early_slow_rank(view)] == [("10.10.6.1",)]


@pytest.mark.parametrize("name", ["fsdp over RDMA", "moe", "moe over RDMA"])
def test_of_two_long_steps_both_tell(name):
    slow = Fault("compute_slow", ranks=(3,), first=LONG.steps - 2, factor=1.5)
    (one,) = early_slow_rank(simulated(name, slow))
    assert (one.ids, one.evidence["steps"][1] - one.evidence["steps"][0]) == (("10.10.3.1",), 2)
    pause = Fault("hang", ranks=(3,), first=LONG.steps - 2, seconds=1.5)
    assert early_slow_rank(simulated(name, pause, replace(slow, first=LONG.steps - 1))) == []


@pytest.mark.parametrize("name", SIMULATED)
def test_without_a_pipeline_a_pause_that_costs_as_much_is_none(name):
    view = simulated(name, Fault("hang", ranks=(3,), first=LONG.steps - 1, seconds=1.5))
    assert view.durations[-1] > 1.3 * view.period
    assert early_slow_rank(view) == []


@pytest.mark.parametrize("name", ["ddp over RDMA", "fsdp over RDMA", "moe over RDMA"])
def test_where_others_were_last_in_a_step_before_it_may_be_another_one_of_those(name):
    slow = Fault("compute_slow", ranks=(3,), first=LONG.steps - 1, factor=1.5)
    other = Fault("compute_slow", ranks=(6,), first=12, stop=13, factor=1.45)
    assert early_slow_rank(simulated(name, slow, other)) == []


@pytest.mark.parametrize("name", SIMULATED)
def test_a_slow_nic_is_no_slow_rank(name):
    view = simulated(name, Fault("nic_throttle", ranks=(3,), first=LONG.steps - 1, factor=8.0))
    assert early_slow_rank(view) == []
