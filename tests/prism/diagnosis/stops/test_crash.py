import json
from dataclasses import replace

import numpy as np
import pytest

from collectors.columns.record import FIN, SYN
from prism.diagnosis.stops.crash import crash
from prism.model import Severity
from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.synth.simulation import simulate
from prism.topology import parse
from tests.prism.faults import FAULTS, RANK, case, named
from tests.prism.traffic import MS, T0, Wire, address, closed, placed, seen, training


@pytest.mark.parametrize("tcp", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_who_went_away_and_nobody_else(fault, tcp):
    assert named(crash(case(fault, tcp=tcp))) == ([(address(RANK),)] if fault == "crash" else [])


def test_what_is_said_of_it():
    (one,) = crash(case("crash"))
    assert (one.kind, one.severity, one.start_ns) == ("crash", Severity.CRITICAL, one.end_ns)
    assert one.evidence["moved"] == pytest.approx(8 / 22, abs=0.02)
    assert one.evidence["closed_ms"][address(RANK)] == 0
    assert all(ms == pytest.approx(50, abs=0.1) for who, ms in one.evidence["closed_ms"].items() if who != address(RANK))


@pytest.mark.parametrize("rounds", [3, 7, 11])
def test_any_part_of_a_step(rounds):
    wire = closed(training(dp=8, wire=Wire(tcp=True), rounds=rounds), range(8), first=2)
    assert named(crash(seen(wire.flows(), placed(8)))) == [(address(2),)]


def test_a_restart_between_steps_is_no_crash():
    wire = closed(training(dp=8, wire=Wire(tcp=True)), range(8), first=2)
    last = max(row["end_ns"] for row in wire.rows)
    training(dp=8, wire=wire, start=last + 800 * MS)
    assert crash(seen(wire.flows(), placed(8))) == []


@pytest.mark.parametrize(("steps", "who"), [(2.0, [(address(2),)]), (0.4, [])])
def test_who_left_between_steps_while_all_others_waited_for_a_step_or_longer_crashed(steps, who):
    """NCCL tells the others nothing: they wait until a launcher ends them."""
    period = seen(training(dp=8, wire=Wire(tcp=True)).flows(), placed(8)).period / MS
    wire = closed(training(dp=8, wire=Wire(tcp=True)), range(8), first=2, lead_ms=steps * period)
    assert named(crash(seen(wire.flows(), placed(8)))) == who


def test_a_connection_closed_while_training_goes_on_is_no_crash():
    wire = training(dp=8, wire=Wire(tcp=True))
    middle = sorted(row["start_ns"] for row in wire.rows)[len(wire.rows) // 2]
    wire.send(3, 4, 0, middle, tcp_flags=1, messages=0, src_port=9)
    assert crash(seen(wire.flows())) == []


@pytest.mark.parametrize("born", [False, True])
@pytest.mark.parametrize(("lead_ms", "claimed"), [(50.0, True), (0.2, False)])
def test_between_two_collectives_it_counts_whether_one_closed_alone(lead_ms, claimed, born):
    """Detected steps of such a job may end elsewhere than the job, or be sub-steps."""
    wire = closed(training(dp=8, wire=Wire(tcp=True), rounds=7), range(8), first=2, lead_ms=lead_ms)
    for i, row in enumerate(row for row in wire.rows if row["octets"] == 0 and row["src"] != 2):
        row["start_ns"] += i * MS // 50
        row["end_ns"] += i * MS // 50
    for rank in range(8) if born else ():
        wire.send(rank, (rank + 1) % 8, 0, T0 - MS, tcp_flags=SYN, messages=0)
    (one,) = crash(seen(wire.flows(), placed(8)))
    assert (one.severity is Severity.CRITICAL) == claimed


def test_who_closed_first_but_simultaneously_with_all_others_left_not_alone():
    wire = closed(training(dp=8, wire=Wire(tcp=True), rounds=7), range(8), first=2, lead_ms=0.05)
    (one,) = crash(seen(wire.flows(), placed(8)))
    assert one.severity is Severity.INFO
    assert one.evidence["closed_ms"][address(3)] < 0.001 * seen(wire.flows(), placed(8)).period / MS


@pytest.mark.parametrize("senders", [range(8), range(0, 8, 2)])
@pytest.mark.parametrize("work_ms", [10, 100])
def test_a_job_may_end_where_its_steps_rest(work_ms, senders):
    """Steps between two evaluations may have been detected as one, and the job ends after some of them. Ranks that never send
    do not show where they are.
    """
    wire = Wire(tcp=True)
    for group in range(9):
        for part in range(5 if group < 8 else 3):
            for rank in senders:
                wire.send(rank, (rank + 1) % 8, 5_000_000, T0 + (group * 1000 + part * work_ms) * MS)
    wire = closed(wire, range(8), first=2, lead_ms=50)
    view = seen(wire.flows(), placed(8))
    (one,) = crash(view)
    assert (len(view.ends) < 10, one.severity is Severity.CRITICAL) == (True, work_ms < 50)


@pytest.mark.parametrize(("rounds", "who"), [(None, []), (9, [(address(2),)])])
def test_a_job_that_has_sent_whole_steps_ended_wherever_steps_are_found_to_begin(rounds, who):
    wire = closed(training(dp=8, wire=Wire(tcp=True), rounds=rounds), range(8), first=2)
    view = seen(wire.flows(), placed(8))
    later = tuple(np.stack([own[:-1, 1], own[1:, 1]], axis=1) - 20 * MS for own in view.timeline.steps)
    assert named(crash(replace(view, timeline=replace(view.timeline, steps=later)))) == who


def test_a_step_that_ranks_left_at_different_places_was_cut_short():
    wire = closed(training(dp=8, wire=Wire(tcp=True), rounds=7), range(8), first=2, lead_ms=0.2)
    for row in [row for row in wire.rows if row["src"] == 4 and row["octets"]][-3:]:
        wire.rows.remove(row)
    for i, row in enumerate(row for row in wire.rows if row["octets"] == 0 and row["src"] != 2):
        row["start_ns"] += i * MS // 50
        row["end_ns"] += i * MS // 50
    assert named(crash(seen(wire.flows(), placed(8)))) == [(address(2),)]


def test_ranks_that_never_send_may_have_begun_the_step():
    wire = closed(training(dp=8, wire=Wire(tcp=True), rounds=7), range(8), first=2)
    wire.rows[:] = [row for row in wire.rows if row["octets"] == 0 or row["src"] % 2]
    assert named(crash(seen(wire.flows(), placed(8)))) == [(address(2),)]


@pytest.mark.parametrize("rank", [1, 4])
def test_a_pipeline_cut_short_though_most_of_its_octets_are_the_ring_s(rank):
    """Few edges have moved part of their octets, as no ring has begun; but half of the two-way edges have."""
    job = Job(
        dp=4, pp=2, micro=2, steps=17, transport="tcp", forward_ms=118, backward_ms=236, activation_octets=320_000,
        gradient_octets=8_000_000, jitter=0.02,
    )  # fmt: skip
    for first in (5, 6, 7):
        fault = Fault("crash", ranks=(rank,), first=first)
        done = simulate(Spec("x", Cluster(hosts=8, nic_gbit=4.0, latency_us=60), (job,), (fault,)), 2)
        assert named(crash(seen(done.flows, parse(json.dumps(done.topology), "t")))) == [(f"10.10.{rank}.1",)]


def test_a_last_stage_that_sends_nothing_back_after_all_forwards():
    job = Job(
        dp=2, pp=4, micro=4, steps=17, schedule="gpipe", batched=False, transport="tcp", forward_ms=36, backward_ms=73,
        zero1=True, gradient_octets=6_000_000, activation_octets=1_500_000,
    )  # fmt: skip
    done = simulate(
        Spec("x", Cluster(hosts=8, nic_gbit=4.0, latency_us=60), (job,), (Fault("crash", ranks=(6,), first=11),)), 2
    )
    view = seen(done.flows, parse(json.dumps(done.topology), "t"))
    assert named(crash(view)) == [("10.10.6.1",)]
    evaluated = (view.flows.start_ns > view.ends[4]) & (view.flows.start_ns < view.ends[5])
    flows = replace(view.flows, octets=np.where(evaluated, 2 * view.flows.octets, view.flows.octets))
    assert crash(replace(view, flows=flows)) == []  # forwards more in one step: this job evaluates


def test_a_job_that_ends_after_forwards_alone_is_no_crash():
    """An evaluation has other micro-batches than a step, and no gradients."""
    wire = training(dp=4, pp=2, micro=4, wire=Wire(tcp=True))
    last = max(row["end_ns"] for row in wire.rows)
    for replica in range(4):
        wire.send(replica, 4 + replica, 5_000_000, last + 200 * MS)
    assert crash(seen(closed(wire, range(8), first=2).flows(), placed(8))) == []


@pytest.mark.parametrize("before", [True, False])
def test_who_had_closed_when_the_others_began_the_step_went_away(before):
    """Forward passes continue without the rank; ranks in forward passes close after them."""
    wire = training(dp=4, pp=2, micro=4, wire=Wire(tcp=True), pause=lambda *_: 40.0)
    last = max(row["end_ns"] for row in wire.rows)
    for peer in range(8):
        if peer != 6:
            wire.send(6, peer, 0, last + (100 if before else 220) * MS, tcp_flags=FIN, messages=0)
    for replica in (0, 1, 3):
        wire.send(replica, 4 + replica, 5_000_000, last + 200 * MS)
    flows = closed(wire, [0, 1, 2, 3, 4, 5, 7], first=2, after_ms=100).flows()
    assert named(crash(seen(flows, placed(8)))) == ([(address(6),)] if before else [])


def test_who_answers_a_closing_has_not_left_himself():
    wire = training(dp=8, wire=Wire(tcp=True), rounds=7)
    last = max(row["end_ns"] for row in wire.rows)
    closed(wire, range(8), first=2, lead_ms=150)
    for peer in (0, 1, 3, 4, 5, 6, 7):
        wire.send(peer, 2, 0, last + 1.1 * MS, tcp_flags=FIN, messages=0)
    (one,) = crash(seen(wire.flows(), placed(8)))
    assert one.ids == (address(2),)
    assert all(ms == pytest.approx(150, abs=0.1) for who, ms in one.evidence["closed_ms"].items() if who != address(2))
    assert "150" in one.message


@pytest.mark.parametrize("itself", [False, True])
def test_others_may_go_on_for_a_while_without_who_went_away(itself):
    """The others continue until they need missing data; a capture may end before. A rank that still sends has not left."""
    wire = training(dp=8, wire=Wire(tcp=True), rounds=3)
    last = max(row["end_ns"] for row in wire.rows)
    for peer in (0, 1, 3, 4, 5, 6, 7):
        wire.send(2, peer, 0, last + MS, tcp_flags=FIN, messages=0)
    for rank in (4, 5, 6, *((2,) if itself else ())):
        wire.send(rank, rank + 1, 5_000_000, last + 30 * MS)
    assert named(crash(seen(wire.flows(), placed(8)))) == ([] if itself else [(address(2),)])


@pytest.mark.parametrize(("ranks", "claimed"), [((0,), False), ((0, 1), True)])
def test_a_few_messages_of_one_rank_after_the_last_step_are_no_step_that_a_crash_interrupts(ranks, claimed):
    """Libraries end with some, less than a hundredth of a step. Rank 2 closes first, then the others; one still sends."""
    wire = training(dp=3, wire=Wire(tcp=True))
    last, octets = max(row["end_ns"] for row in wire.rows), sum(row["octets"] for row in wire.rows)
    closed(wire, range(3), first=2, after_ms=40, lead_ms=30)
    for rank in ranks:
        for k in range(3):
            wire.send(rank, rank + 1, 450_000, last + (80 + k) * MS)
    assert octets / 14 / 100 > 3 * 450_000
    assert named(crash(seen(wire.flows(), placed(3)))) == ([(address(2),)] if claimed else [])
