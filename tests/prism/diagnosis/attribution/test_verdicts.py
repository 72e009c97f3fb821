"""Test the findings written from verdicts."""

from dataclasses import replace

import pytest

from prism.diagnosis.assessment.confidence import Completeness, completeness
from prism.diagnosis.attribution import verdicts
from prism.diagnosis.attribution.comparisons import Case
from prism.diagnosis.attribution.verdicts import GRAPH, combine_findings, findings
from prism.model import Severity
from prism.synth.scenario.presets import FAST
from prism.synth.scenario.specification import Fault
from tests.prism.collective_jobs import CUBE, JOBS, OTHERS, simulated
from tests.prism.faults import BAD, NIC, RANK, RANKS, case, claims_of
from tests.prism.traffic import address, placed, seen, training


def told(name):
    view = case(name)
    return findings(Case(view), completeness(view))


def test_network_or_machine_first_then_who_and_what_it_costs():
    (one,) = told("slow rank")
    assert (one.detector, one.kind, one.subject, one.ids) == (GRAPH, "slow_rank", "endpoint", (address(RANK),))
    classes = one.evidence["verdict"]
    assert max(classes, key=classes.get) == "machine"
    assert sum(classes.values()) == pytest.approx(1.0, abs=0.01)
    assert one.evidence["steps"] == [BAD.start, BAD.stop]
    assert one.evidence["lost_ms_per_step"] == pytest.approx(45, rel=0.1)
    assert one.evidence["gpu_hours_per_hour"] == pytest.approx(RANKS * (1 - 1 / one.slowdown), abs=0.02)
    assert one.lost_gpu_s == pytest.approx(RANKS * len(BAD) * 0.045, rel=0.1)
    assert " ms per step, usually " in one.message
    assert one.isolate.hosts == (f"host{RANK}",)


def test_rates_in_bits_beside_the_usual_ones():
    (one,) = told("slow NIC")
    assert one.kind == "slow_link"
    assert one.evidence["gbit_s"] == pytest.approx(3.0, rel=0.1)
    assert one.evidence["usual_gbit_s"] == pytest.approx(10.0, rel=0.1)
    assert "Gbit/s, usually" in one.message
    assert all(address(NIC) in edge for edge in one.evidence["edges"])


@pytest.mark.parametrize(("rate", "claimed"), [(27.0, True), (120.0, False)])
def test_a_nic_at_half_its_speed_is_claimed_though_it_costs_little_and_others_delay_steps_too(monkeypatch, rate, claimed):
    view = case("slow NIC")
    (one,) = verdicts.verdicts(Case(view))
    cheap = replace(one, slowdown=1.08, probability=0.895)
    text, numbers = verdicts._network(view, one)
    monkeypatch.setattr(verdicts, "verdicts", lambda _: [cheap])
    monkeypatch.setattr(verdicts, "_network", lambda *_: (text, numbers | {"gbit_s": rate, "usual_gbit_s": 197.0}))
    (finding,) = findings(Case(view), completeness(view))
    assert (finding.severity is not Severity.INFO) == claimed


def test_a_link_between_switches_is_a_part_to_take_out_not_a_host():
    (one,) = told("slow uplink")
    assert (one.kind, one.isolate.hosts, one.isolate.parts) == ("slow_link", (), ("leaf1", "spine0"))


def test_why_this_rank_has_an_answer():
    (one,) = told("slow rank")
    first, *others = one.evidence["candidates"]
    assert first["ids"] == [address(RANK)]
    assert first["class"] == "machine"
    assert others
    assert all(first["explains"] > other["explains"] for other in others)
    assert all(first["probability"] > other["probability"] for other in others)


def test_what_was_always_so_is_told_against_comparable_ones():
    (one,) = told("NIC always slow")
    assert "on comparable connections" in one.message
    assert "without it steps would take" in one.message


def test_records_that_do_not_tell_all_make_it_less_sure():
    view = case("slow rank")
    (one,) = findings(Case(view), Completeness(0.4, ("traffic is sampled",)))
    assert one.severity is Severity.INFO
    assert one.confidence < 0.5
    assert one.evidence["incomplete"] == ["traffic is sampled"]


def test_a_claim_against_peers_is_no_surer_than_the_layout():
    view = case("rank always slow", tcp=False)
    doubtful = replace(view, parallelism=replace(view.parallelism, layout=replace(view.parallelism.layout, confidence=0.6)))
    (sure,) = findings(Case(view), completeness(view))
    (one,) = findings(Case(doubtful), completeness(doubtful))
    assert sure.confidence > one.confidence == 0.6


@pytest.mark.parametrize("rank", [0, 3])
@pytest.mark.parametrize("name", {**JOBS, **OTHERS})
def test_who_works_longer_is_named_whatever_the_collectives_and_nobody_else(name, rank):
    """Experts wait for each other in ways that may hide it: then nobody is named."""
    cluster, job = {**JOBS, **OTHERS}[name]
    view = simulated(cluster, job, Fault("compute_slow", ranks=(rank,), first=6, stop=12, factor=1.6))
    told = [one.ids for one in findings(Case(view), completeness(view)) if one.severity is not Severity.INFO]
    assert all(f"10.10.{rank}.1" in ids for ids in told)
    assert len(told) == 1 or (name, told) == ("experts", [])


@pytest.mark.parametrize("rank", [2, 7])
def test_of_two_that_exchange_first_one_was_late(rank):
    view = simulated(FAST, CUBE, Fault("compute_slow", ranks=(rank,), first=6, stop=12, factor=1.6))
    (told,) = [one.ids for one in findings(Case(view), completeness(view)) if one.severity is not Severity.INFO]
    assert told == tuple(sorted((f"10.10.{rank}.1", f"10.10.{rank ^ 4}.1")))


def test_a_stop_stays_beside_slow_steps():
    view, (hang,) = case("slow rank"), claims_of(case("hang"))
    seen = completeness(view)
    assert combine_findings(Case(view), [hang], seen) == [*findings(Case(view), seen), hang]


def test_a_stop_that_the_graph_finds_too_is_reported_once():
    view, (hang,) = case("slow rank"), claims_of(case("hang"))
    seen = completeness(view)
    (slow,) = findings(Case(view), seen)
    here = replace(hang, start_ns=slow.start_ns, end_ns=slow.end_ns)
    assert len(combine_findings(Case(view), [here], seen)) == 2  # slow steps are no stop
    assert [one.detector for one in claims_of(case("hang"))] == ["hang"]
    unsure = replace(here, severity=Severity.INFO)
    assert combine_findings(Case(view), [unsure], seen)[-1] is unsure


@pytest.mark.parametrize(
    ("silent", "named"), [((), ("endpoint", (address(3),))), ((2,), ("host", ("host1",))), ((5,), ("endpoint", (address(3),)))]
)
def test_a_slow_rank_of_a_quiet_host_names_the_host(silent, named):
    """It may wait for the silent rank of its host."""
    topology = placed(8, nics=2)
    work = lambda step, rank: 35.0 if rank == 3 and step in BAD else 20.0  # noqa: E731
    view = seen(training(dp=8, work=work).flows(topology), topology)
    view = replace(view, job=replace(view.job, silent=tuple(map(address, silent))))
    (one,) = findings(Case(view), completeness(view))
    assert (one.kind, one.subject, one.ids) == ("slow_rank", *named)


@pytest.mark.parametrize(("ms", "severity"), [(600.0, Severity.CRITICAL), (130.0, Severity.INFO)])
def test_a_rank_that_keeps_the_others_waiting_for_less_than_half_a_step_may_have_worked(ms, severity):
    pause = lambda step, rank: ms if (step, rank) == (7, 3) else 0.0  # noqa: E731
    view = seen(training(dp=4, pp=2, pause=pause).flows(placed(8)), placed(8))
    assert view.period == pytest.approx(366e6, rel=0.1)
    (one,) = findings(Case(view), completeness(view))
    assert (one.kind, one.severity) == ("hang", severity)
    assert address(3) in one.ids
