import json
from dataclasses import replace

import numpy as np
import pytest

from collectors.record import SYN
from prism.certainty import ENDED, completeness, confidence
from prism.detectors.crash import crash
from prism.model import Severity
from prism.synth.simulate import simulate
from prism.synth.spec import Cluster, Fault, Job, Spec
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


def test_a_connection_closed_while_training_goes_on_is_no_crash():
    wire = training(dp=8, wire=Wire(tcp=True))
    middle = sorted(row["start_ns"] for row in wire.rows)[len(wire.rows) // 2]
    wire.send(3, 4, 0, middle, tcp_flags=1, messages=0, src_port=9)
    assert crash(seen(wire.flows())) == []


@pytest.mark.parametrize(("lead_ms", "doubt"), [(50.0, False), (0.2, True)])
def test_between_two_collectives_of_a_job_whose_birth_was_seen_there_is_doubt(lead_ms, doubt):
    wire = closed(training(dp=8, wire=Wire(tcp=True), rounds=7), range(8), first=2, lead_ms=lead_ms)
    for i, row in enumerate(row for row in wire.rows if row["octets"] == 0 and row["src"] != 2):
        row["start_ns"] += i * MS // 50
        row["end_ns"] += i * MS // 50
    for rank in range(8):
        wire.send(rank, (rank + 1) % 8, 0, T0 - MS, tcp_flags=SYN, messages=0)
    view = seen(wire.flows(), placed(8))
    (one,) = crash(view)
    assert one.severity is Severity.CRITICAL
    assert one.evidence.get("between_calls", False) is doubt
    sure = confidence(view, one, completeness(view))
    assert sure == pytest.approx(
        (ENDED if doubt else 1.0) * confidence(view, replace(one, evidence={}), completeness(view)), rel=0.1
    )


@pytest.mark.parametrize(("lead_ms", "claimed"), [(50.0, True), (0.2, False)])
def test_between_two_collectives_it_counts_whether_one_closed_alone(lead_ms, claimed):
    """The steps of such a job may be cut elsewhere than where it ends."""
    wire = closed(training(dp=8, wire=Wire(tcp=True), rounds=7), range(8), first=2, lead_ms=lead_ms)
    for i, row in enumerate(row for row in wire.rows if row["octets"] == 0 and row["src"] != 2):
        row["start_ns"] += i * MS // 50
        row["end_ns"] += i * MS // 50
    (one,) = crash(seen(wire.flows(), placed(8)))
    assert (one.severity is Severity.CRITICAL) == claimed


@pytest.mark.parametrize("rank", [1, 4])
def test_a_pipeline_cut_short_though_most_of_its_octets_are_the_ring_s(rank):
    """Few edges have moved a part of theirs, as no ring has begun; but of those that send both ways half have."""
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
