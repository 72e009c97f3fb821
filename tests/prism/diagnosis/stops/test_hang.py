import json
from dataclasses import replace

import numpy as np
import pytest

from prism.diagnosis.stops.crash import crash
from prism.diagnosis.stops.due_operations import completes, progress
from prism.diagnosis.stops.hang import hang, stops
from prism.loops.arrays.record_merging import bursts
from prism.model import Severity
from prism.synth.scenario.presets import FAST
from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.synth.simulation import simulate
from prism.topology import parse
from tests.prism.collective_jobs import CUBE, DDP, simulated
from tests.prism.faults import FAULTS, RANK, case, named
from tests.prism.traffic import MS, T0, Wire, address, closed, placed, ring_allreduce, seen, training


@pytest.mark.parametrize("tcp", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_who_hung_and_nobody_else(fault, tcp):
    assert named(hang(case(fault, tcp=tcp))) == ([(address(RANK),)] if fault == "hang" else [])


def test_what_is_said_of_it():
    view = case("hang")
    (one,) = hang(view)
    assert (one.kind, one.subject, one.severity) == ("hang", "endpoint", Severity.CRITICAL)
    assert view.during(7, 8)[0] <= one.start_ns < one.end_ns < view.during(7, 8)[1]
    assert one.evidence["due_first"] == {address(RANK): pytest.approx(1.0, abs=0.05)}
    assert one.evidence["step"] == 7
    assert one.evidence["waiting"] == 11
    assert one.evidence["silent_ms"] == pytest.approx(1980, abs=20)


@pytest.mark.parametrize("rank", range(8))
def test_any_rank_of_a_pipeline(rank):
    wire = training(dp=4, pp=2, wire=Wire(tcp=True), pause=lambda step, r: 3000.0 if (step, r) == (9, rank) else 0.0)
    assert named(hang(seen(wire.flows(), placed(8)))) == [(address(rank),)]


def test_a_lone_pause_between_steps_is_an_evaluation_or_a_hang():
    """Where nobody had begun the step, the records do not tell them apart; in a live window the events say enough."""
    view = case("evaluation")
    (one,) = hang(view)
    assert (one.kind, one.subject, one.severity) == ("slow_step", "job", Severity.INFO)
    assert "either it evaluated" in one.message
    assert one.evidence["verdict"] == {"unknown": 1.0}
    assert one.evidence["silent_ms"] == pytest.approx(860, abs=20)
    assert hang(replace(view, least=1)) == []


def test_a_host_may_hang_as_a_whole_and_of_two_hosts_the_one_that_goes_on_first():
    wire = training(dp=12, wire=Wire(tcp=True), pause=lambda step, r: 3000.0 if step == 9 and r in (4, 5) else 0.0)
    flows = wire.flows()
    assert named(hang(seen(flows, placed(12, nics=2)))) == [("host2",)]
    (one,) = hang(seen(flows, placed(12)))
    assert (one.kind, one.subject) == ("hang", "endpoint")
    assert one.ids[0] in (address(4), address(5))


@pytest.mark.parametrize("rank", [4, 6])
def test_where_a_ring_goes_on_inside_hosts_the_host_of_who_is_not_ready_is_named(rank):
    """Data to and from the rank waits, and its order differs between steps."""
    job = Job(dp=8, transport="rdma", steps=16, forward_ms=100.0, backward_ms=200.0, gradient_octets=8_000_000)
    spec = Spec("x", Cluster(hosts=4, gpus=2), (job,), faults=(Fault("hang", ranks=(rank,), first=9, seconds=6.0),))
    done = simulate(spec, 1)
    (one,) = hang(seen(done.flows, parse(json.dumps(done.topology), "t")))
    assert one.ids == (f"server{rank // 2}",)
    assert sum(one.evidence["due_first"].values()) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(("ranks", "gone"), [(16, 2), (8, 0)])
def test_who_sends_nothing_that_is_seen_may_wait_for_a_neighbour(ranks, gone):
    """The records hardly show which of two hosts between which a ring's data is missing stopped: both may be named."""
    job = Job(dp=ranks, transport="rdma", buckets=4, overlap=True, steps=14, gradient_octets=262_000_000, jitter=0.023)
    job = replace(job, forward_ms=157.0, backward_ms=314.0, optimizer_ms=26.0)
    fault = Fault("crash", ranks=(gone,), first=5, restart_s=1.4)
    done = simulate(Spec("x", Cluster(hosts=ranks // 2, gpus=2), (job,), faults=(fault,)), gone)
    (one,) = hang(seen(done.flows, parse(json.dumps(done.topology), "t")))
    assert f"server{gone // 2}" in one.ids
    assert len(one.ids) <= 2


def told_of(job: Job, fault: Fault, *, joined: bool = False):
    done = simulate(Spec("x", Cluster(hosts=job.dp * job.pp * job.tp, gpus=1), (job,), faults=(fault,)), 1)
    found = bursts(done.flows) if joined else None
    flows = found.flows if found is not None else done.flows
    return [(one.kind, one.ids) for one in hang(seen(flows, parse(json.dumps(done.topology), "t")))]


@pytest.mark.parametrize("rank", [2, 3, 5, 6])
def test_who_stands_in_the_middle_of_what_it_sends_waits(rank):
    """In an exchange each rank sends a window before the other is ready; the rest waits."""
    job = Job(
        mode="3d", dp=2, pp=4, steps=14, micro=8, schedule="interleaved", chunks=2, transport="rdma", batched=True,
        forward_ms=20.0, backward_ms=40.0, optimizer_ms=16.0, gradient_octets=8_000_000, activation_octets=16_000_000,
    )  # fmt: skip
    assert told_of(job, Fault("hang", ranks=(rank,), first=7, seconds=6.0)) == [("hang", (address_of(rank),))]


@pytest.mark.parametrize("rank", [0, 2])
def test_a_step_that_most_ranks_had_ended_is_not_over(rank):
    job = Job(
        mode="3d", dp=4, pp=8, steps=12, micro=16, schedule="gpipe", algorithm="halving", transport="tcp", batched=False,
        credits=True, zero1=True, forward_ms=5.7, backward_ms=11.4, optimizer_ms=4.7, gradient_octets=947_159,
        activation_octets=37_886,
    )  # fmt: skip
    assert told_of(job, Fault("hang", ranks=(rank,), first=8, seconds=2.0)) == [("hang", (address_of(rank),))]


@pytest.mark.parametrize("rank", [0, 2, 5])
def test_a_step_that_lacks_octets_when_the_job_falls_silent_is_not_over(rank):
    """Others continue for a while, so that a step seems to end; the hung rank sends nothing later in the order."""
    job = Job(
        mode="3d", dp=2, pp=2, tp=2, steps=17, micro=6, schedule="gpipe", forward_ms=53.0, backward_ms=106.0,
        optimizer_ms=44.0, gradient_octets=400_000_000, activation_octets=16_000_000, tensor_octets=8_000_000, tensor_calls=4,
    )  # fmt: skip
    assert told_of(job, Fault("crash", ranks=(rank,), first=8, restart_s=3.35)) == [("crash", (address_of(rank),))]


@pytest.mark.parametrize("rank", [0, 5, 7])
def test_who_is_not_in_a_ring_whose_senders_wait(rank):
    """The rank before it in the ring has sent as little, but has received from its predecessor."""
    job = Job(
        dp=8, steps=12, accumulation=4, transport="rdma", forward_ms=273.0, backward_ms=546.0, optimizer_ms=136.5,
        gradient_octets=800_000_000, world_reduce=True, jitter=0.044,
    )  # fmt: skip
    fault = Fault("crash", ranks=(rank,), first=5, restart_s=9.8)
    assert told_of(job, fault, joined=True) == [("crash", (address_of(rank),))]


def address_of(rank: int) -> str:
    return f"10.10.{rank}.1"


def test_who_writes_to_storage_does_not_hang():
    wire = FAULTS["hang"](Wire(tcp=True))
    start, end = case("hang").during(7, 8)
    for at in range(start, end, 40_000_000):
        wire.send(RANK, 12, 20_000_000, at, src_port=1, dst_port=2049)
    assert hang(seen(wire.flows(), placed(12))) == []


def test_a_silence_at_the_same_place_of_several_steps_is_a_habit():
    wire = training(dp=8, wire=Wire(tcp=True), pause=lambda step, r: 3000.0 if (step % 6, r) == (5, 3) else 0.0)
    assert hang(seen(wire.flows())) == []


def test_twice_as_long_is_no_hang():
    wire = training(dp=8, wire=Wire(tcp=True), pause=lambda step, r: 100.0 if (step, r) == (9, 3) else 0.0)
    assert hang(seen(wire.flows())) == []


def test_what_was_not_collected_is_no_hang():
    flows = training(dp=4, pp=2, wire=Wire(tcp=True), steps=24).flows()
    step = (int(flows.end_ns.max()) - int(flows.start_ns.min())) // 24
    for part in (0.2, 0.4, 0.6, 0.8):
        gap = int(flows.start_ns.min()) + int((8 + part) * step)
        kept = flows.take((flows.end_ns < gap) | (flows.start_ns > gap + int(5.4 * step)))
        assert named(hang(seen(kept, placed(8)))) == []


def test_who_closed_its_connections_does_not_hang():
    wire = closed(training(dp=4, pp=2, wire=Wire(tcp=True), rounds=3), range(8), first=2)
    view = seen(wire.flows(), placed(8))
    assert named(hang(replace(view, until=view.until + 20_000 * MS))) == []


def silent_for(periods: float, *, after: float = 0.0):
    """Build a pipeline with rank 3 hung in step 9; records end `after` steps after the silence began."""
    wire = training(dp=4, pp=2, wire=Wire(tcp=True), pause=lambda step, r: 3000.0 if (step, r) == (9, 3) else 0.0)
    whole = seen(wire.flows(), placed(8))
    (one,) = hang(whole)
    fell = one.end_ns - int(one.evidence["silent_ms"] * MS)
    first = int(whole.begins[0] + after * whole.period)
    flows = whole.flows.take((whole.flows.end_ns <= fell + MS) & (whole.flows.start_ns >= first))
    return replace(seen(flows, placed(8)), until=int(fell + periods * whole.period))


def test_a_step_of_silence_is_enough_while_it_lasts():
    assert hang(silent_for(0.9)) == []
    assert named(hang(silent_for(1.3))) == [(address(3),)]


@pytest.mark.parametrize("rank", [None, 3])
def test_a_job_of_which_only_some_ranks_had_begun_the_step_has_not_ended(rank):
    wire = training(dp=8, wire=Wire(tcp=True), rounds=1)
    if rank is not None:
        wire.rows.remove([row for row in wire.rows if row["src"] == rank][-1])
    view = seen(wire.flows(), placed(8))
    found = hang(replace(view, until=int(view.flows.end_ns.max() + 3 * view.period)))
    assert named(found) == ([] if rank is None else [(address(rank),)])


@pytest.mark.parametrize("first", [0, 1])
def test_a_job_of_a_whole_number_of_steps_has_ended_wherever_bounds_are(first):
    """Two buckets in each step; bounds come before the second. The first step lacks what the job sent after the last bound,
    unless the recording begins with the second bucket of a step.
    """
    wire, free, bounds = Wire(), dict.fromkeys(range(8), T0), []
    for bucket in range(first, 28):
        ready = {m: at + (60 - 40 * (bucket % 2)) * MS for m, at in free.items()}
        bounds += [min(ready.values()) - MS] * (bucket % 2)
        free = ring_allreduce(wire, range(8), 20_000_000, ready, lambda _src, _dst: 10.0)
    view = seen(wire.flows(), placed(8))
    steps = tuple(np.stack([bounds[:-1], bounds[1:]], axis=1) for _ in range(8))
    late = replace(view, timeline=replace(view.timeline, steps=steps), until=max(free.values()) + 300 * MS)
    (stop,) = stops(late)
    sent, _ = progress(late, stop, np.arange(5))
    assert np.allclose(sent, 0.5)
    assert completes(late, sent, np.arange(5)) == (not first)
    sent[3] -= 0.1
    assert not completes(late, sent, np.arange(5)), "a rank that has not sent all"


def test_a_job_of_which_few_steps_are_known_is_not_said_to_hang():
    assert named(hang(silent_for(2.1, after=3.5))) == [(address(3),)]
    assert hang(silent_for(2.1, after=7.5)) == []


def test_of_the_first_step_nobody_knows_whether_it_is_whole():
    wire = training(dp=4, pp=2, wire=Wire(tcp=True), steps=24, pause=lambda step, r: 3000.0 if (step, r) == (9, 3) else 0.0)
    flows = wire.flows()
    whole = seen(flows, placed(8))
    (one,) = hang(whole)
    for steps, named_too in ((1.5, [(address(3),)]), (0.0, [])):
        rest = flows.take(flows.start_ns >= one.start_ns - int(steps * whole.period))
        assert named(hang(seen(rest, placed(8)))) == named_too


@pytest.mark.parametrize("rank", [2, 5])
def test_a_job_whose_members_closed_connections_and_that_was_started_again_is_told_of_once(rank):
    """A silence until all connections are new follows a crash; `crash` names the rank that closed first."""
    job = Job(
        dp=8, transport="tcp", steps=20, buckets=8, overlap=True, forward_ms=24.0, backward_ms=48.0, gradient_octets=1_600_000,
        world_reduce=True,
    )  # fmt: skip
    crashed = Fault("crash", ranks=(rank,), first=6, restart_s=0.3)
    done = simulate(Spec("x", Cluster(hosts=4, gpus=2, nic_gbit=4.0, latency_us=60), (job,), faults=(crashed,)), 1)
    view = seen(done.flows, parse(json.dumps(done.topology), "t"))
    assert hang(view) == []
    assert len(named(crash(view))) == 1


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
    """Data sent down a tree soon after data sent up always follows it: its sender waits as well.

    The other end of the branch may have stopped before it asked for the data.
    """
    job = replace(DDP, algorithm="tree", buckets=4, gradient_octets=400_000_000, forward_ms=200, backward_ms=400)
    view = simulated(FAST, job, Fault("hang", ranks=(rank,), first=8, seconds=4.0))
    (one,) = hang(view)
    assert f"10.10.{rank}.1" in one.ids
    assert max(one.evidence["due_first"], key=one.evidence["due_first"].get) == f"10.10.{rank}.1"
