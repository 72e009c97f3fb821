import json
from dataclasses import replace

import pytest

from prism import topology
from prism.detectors.slow_rank import severity, slow_rank
from prism.model import Severity
from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.synth.simulation import simulate
from tests.prism.faults import BAD, FAULTS, RANK, case, named
from tests.prism.traffic import Wire, address, placed, seen, training


def test_the_rank_that_works_longer_and_since_when():
    view = case("slow rank")
    (one,) = slow_rank(view)
    assert (one.kind, one.subject, one.ids) == ("slow_rank", "endpoint", (address(RANK),))
    assert one.evidence["steps"] == [BAD.start, BAD.stop]
    assert (one.start_ns, one.end_ns) == view.during(BAD.start, BAD.stop)
    assert one.evidence["work_ms"] / one.evidence["usual_work_ms"] == pytest.approx(1.75, rel=0.1)
    assert one.slowdown == pytest.approx(165 / 120, abs=0.05)
    assert one.severity is Severity.WARNING


def test_a_rank_that_was_never_as_fast_as_its_twins():
    (one,) = slow_rank(case("rank always slow"))
    assert one.ids == (address(RANK),)
    assert one.evidence["steps"] == [0, 14]
    assert one.slowdown == pytest.approx(165 / 120, abs=0.06)


@pytest.mark.parametrize("fault", FAULTS.keys() - {"slow rank", "rank always slow"})
def test_nobody_else_is_named(fault):
    assert named(slow_rank(case(fault))) == []


@pytest.mark.parametrize("rank", range(8))
@pytest.mark.parametrize(("dp", "pp"), [(8, 1), (4, 2), (2, 4)])
def test_any_rank(dp, pp, rank):
    wire = Wire(tcp=True, seed=rank)
    wire = training(dp=dp, pp=pp, wire=wire, work=lambda step, r: 36.0 if r == rank and step in BAD else 20.0)
    assert named(slow_rank(seen(wire.flows(), placed(8)))) == [(address(rank),)]


@pytest.mark.parametrize(("often", "named_then"), [(1, [(address(2),)]), (9, [])])
def test_two_slow_steps_are_told_live_unless_single_ones_are_frequent(often, named_then):
    single = {(2 * i, (3 * i + 3) % 8) for i in range(often)}

    def work(step, rank):
        return 36.0 if (rank == 2 and step >= 22) or (step, rank) in single else 20.0

    view = seen(training(dp=8, steps=24, wire=Wire(tcp=True), work=work).flows(), placed(8))
    assert named(slow_rank(replace(view, least=2))) == named_then


@pytest.mark.parametrize(("dp", "pp"), [(4, 2), (2, 4), (1, 4)])
def test_stages_have_unequal_work_in_health(dp, pp):
    wire = training(dp=dp, pp=pp, wire=Wire(tcp=True), work=lambda _step, rank: 20.0 + 6 * (rank // dp))
    assert slow_rank(seen(wire.flows(), placed(8))) == []


@pytest.mark.parametrize("rank", [0, 1, 3, 5])
def test_a_sender_that_goes_on_when_its_receiver_begins_did_not_work(rank):
    """The expert group of the slow rank enters the ring late: the rank before it sends a window and waits."""
    job = Job(mode="3d", dp=8, ep=4, transport="rdma", steps=20, gradient_octets=100_000_000, expert_octets=8_000_000)
    job = replace(job, forward_ms=100, backward_ms=200, optimizer_ms=20, jitter=0.02)
    fault = Fault("compute_slow", ranks=(rank,), first=8, stop=14, factor=1.5)
    made = simulate(Spec("x", Cluster(hosts=8, gpus=1), (job,), (fault,)), rank)
    view = seen(made.flows, topology.parse(json.dumps(made.topology), "t.json"), made.transits)
    assert named(slow_rank(view)) == [(f"10.10.{rank}.1",)]


@pytest.mark.parametrize("rank", [0, 1, 6])
def test_who_only_waits_for_the_next_stage_did_not_work(rank):
    """All forward passes come first: the first stage sends most of its data when the slow second stage is ready."""
    job = Job(
        pp=8, micro=16, schedule="gpipe", steps=14, batched=False, forward_ms=46.6, backward_ms=93.2, optimizer_ms=38.8,
        load_ms=7.8, activation_octets=15_500_000, jitter=0.03,
    )  # fmt: skip
    fault = Fault("compute_slow", ranks=(rank,), first=5, stop=9, factor=1.33)
    made = simulate(Spec("x", Cluster(hosts=8), (job,), (fault,)), rank)
    view = seen(made.flows, topology.parse(json.dumps(made.topology), "t.json"), made.transits)
    assert named(slow_rank(view)) == [(f"10.10.{rank}.1",)]


def test_too_few_steps_name_nobody():
    wire = training(dp=8, steps=3, wire=Wire(tcp=True), work=lambda step, r: 36.0 if r == 2 and step else 20.0)
    assert slow_rank(seen(wire.flows())) == []


@pytest.mark.parametrize(
    ("slowdown", "lost", "word"),
    [(1.0, 0.5, "info"), (1.06, 0.5, "info"), (1.2, 0.5, "warning"), (1.01, 0.01, "info"), (2.0, 0.5, "critical")],
)
def test_how_much_is_how_bad(slowdown, lost, word):
    assert severity(slowdown, lost) == word
