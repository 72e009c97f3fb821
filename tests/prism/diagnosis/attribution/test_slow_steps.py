"""Test verdicts on the causes of slow steps."""

from dataclasses import replace
from json import dumps
from types import SimpleNamespace as Fake

import numpy as np
import pytest

from prism.analysis import diagnose
from prism.diagnosis.attribution import slow_steps
from prism.diagnosis.attribution.comparisons import Case, Comparison
from prism.diagnosis.attribution.slow_steps import _holds_elsewhere, _starts, _steps_cost, chance_of, verdicts
from prism.model import Source
from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.synth.simulation import simulate
from prism.topology import parse
from tests.prism.faults import BAD, NIC, RANK, RANKS, case, named
from tests.prism.traffic import address, placed, seen, training


@pytest.mark.parametrize("tcp", [True, False])
@pytest.mark.parametrize(
    ("name", "cause", "ids"),
    [
        ("slow rank", "work", (address(RANK),)),
        ("slow NIC", "network", (address(NIC),)),
        ("slow uplink", "network", ("leaf1", "spine0")),
    ],
)
def test_the_culprit_and_when_it_was(name, cause, ids, tcp):
    (one,) = verdicts(Case(case(name, tcp=tcp)))
    assert (one.candidate.cause, one.candidate.ids, one.start, one.stop) == (cause, ids, BAD.start, BAD.stop)
    assert one.probability > 0.5
    assert not one.always
    assert all(other.ids != ids for other, _ in one.others)


def test_the_slowdown_is_that_against_the_counterfactual():
    view = case("slow rank")
    (one,) = verdicts(Case(view))
    usual = view.period
    assert one.slowdown == pytest.approx((usual + 45e6) / usual, rel=0.05)
    assert one.lost == pytest.approx(45e6 * len(BAD), rel=0.1)


@pytest.mark.parametrize(("name", "cause", "who"), [("rank always slow", "work", RANK), ("NIC always slow", "network", NIC)])
def test_what_was_always_slow_is_told_against_its_peers(name, cause, who):
    (one,) = verdicts(Case(case(name, tcp=False)))
    assert (one.candidate.cause, one.candidate.ids, one.always) == (cause, (address(who),), True)


def test_in_part_of_a_recording_what_is_always_slow_is_so_wherever_steps_begin():
    whole = case("rank always slow")
    begin, end = whole.ends[2] + 0.4 * whole.period, whole.ends[11] - 0.3 * whole.period
    part = seen(whole.flows.take((whole.flows.start_ns >= begin) & (whole.flows.end_ns <= end)), placed(RANKS))
    assert whole.whole
    assert not part.whole
    (one,) = verdicts(Case(part))
    assert (one.candidate.ids, one.always) == ((address(RANK),), True)
    assert _holds_elsewhere(part, one)
    other = replace(one.candidate, ids=(address(RANK + 1),))
    assert not _holds_elsewhere(part, replace(one, candidate=other))


@pytest.mark.parametrize(("name", "cause"), [("slow rank", "work"), ("slow NIC", "network")])
def test_lanes_at_a_lower_rate_are_no_cause_where_that_costs_little_of_what_work_explains(monkeypatch, name, cause):
    """All lanes of a part of the network are slower, and of no other."""
    slower = lambda comparison, _: 1.0 * np.array([one.cause == "network" for one in comparison.which])  # noqa: E731
    monkeypatch.setattr(slow_steps, "rate_fit", slower)
    monkeypatch.setattr(slow_steps, "chance_of", lambda *_: 0.0)
    (one,) = verdicts(Case(case(name)))
    assert one.candidate.cause == cause


@pytest.mark.parametrize(
    ("more", "paused", "others", "costs"),
    [
        ([1, 20, 20, 20], [], [], True),
        ([1, 1, 20, 20], [], [], True),
        ([1, 1, 50, 300], [3], [], False),
        ([1, 300, 300, 20], [1, 2], [], False),
        ([1, 20, 20, 20], [], [1], True),
        ([1, 20, 1, 20], [], [3], False),
    ],
)
def test_a_slow_step_beside_pauses_or_one_of_another_rank_makes_no_slow_span(more, paused, others, costs):
    at = np.arange(4)
    delays = Fake(more=np.array(more, float), took=200.0)
    comparison = Fake(delays=delays, explains_most=lambda _: ~np.isin(at, others))
    found = Fake(candidate=None, start=1, stop=4, slowdown=1.12, comparison=comparison)
    assert _steps_cost(Fake(comparable=~np.isin(at, paused)), found) == costs


@pytest.mark.parametrize("name", ["nothing", "evaluation", "slower all"])
def test_where_nobody_is_slow_nobody_is_blamed(name):
    assert verdicts(Case(case(name))) == []


@pytest.mark.parametrize(("slow", "blamed"), [(range(3), False), (range(6), True)])
def test_the_first_steps_of_a_job_accuse_nobody(slow, blamed):
    """Programs are compiled, on one rank for longer than on others; a rank that is slow in more steps is blamed."""
    work = lambda step, rank: 45.0 if rank == 1 and step in slow else 20.0  # noqa: E731
    view = seen(training(dp=4, steps=20, work=work).flows(placed(4)), placed(4))
    assert [one.candidate.ids for one in verdicts(Case(view))] == [(address(1),)] * blamed


@pytest.mark.parametrize(
    ("ids", "start", "stop", "starts"),
    [
        (("a0",), 0, 3, True),
        (("a0",), 0, 5, False),
        (("host0", "host1"), 1, 5, True),
        (("host0", "host1"), 1, 9, False),
        (("host0", "host1"), 5, 6, False),
        (("host0", "a1"), 1, 5, False),
    ],
)
def test_two_hosts_that_are_the_whole_job_start_for_longer(ids, start, stop, starts):
    """It compiles on all ranks of both, and there are no others to show that one of them is slow."""
    view = Fake(job=Fake(endpoints=("a0", "a1", "a2", "a3")), host=lambda name: f"host{int(name[1]) // 2}")
    assert _starts(view, Fake(candidate=Fake(ids=ids), start=start, stop=stop)) == starts


def test_of_two_who_always_begin_together_one_is_told():
    work = lambda step, rank: 40.0 if rank == 1 and step in BAD else 20.0  # noqa: E731
    view = seen(training(dp=2, work=work).flows(placed(2)), placed(2))
    found = verdicts(Case(view))
    assert all(set(one.candidate.ids) <= {address(0), address(1)} for one in found)


def test_a_step_in_which_all_wait_for_one_is_a_stall():
    pause = lambda step, rank: 600.0 if (step, rank) == (7, 3) else 0.0  # noqa: E731
    (one,) = verdicts(Case(seen(training(dp=4, pp=2, pause=pause).flows(placed(8)), placed(8))))
    assert (one.candidate.ids, one.start, one.stop, one.stall) == ((address(3),), 7, 8, True)
    assert one.lost == pytest.approx(600e6, rel=0.05)


@pytest.mark.parametrize("who", [range(8), (4, 5, 6, 7)])
def test_a_pause_of_many_is_no_stall(who):
    pause = lambda step, rank: 600.0 if step == 7 and rank in who else 0.0  # noqa: E731
    assert verdicts(Case(seen(training(dp=4, pp=2, pause=pause).flows(placed(8)), placed(8)))) == []


def test_what_happens_every_few_steps_is_a_habit():
    pause = lambda step, rank: 600.0 if step % 4 == 3 and rank == 3 else 0.0  # noqa: E731
    found = verdicts(Case(seen(training(dp=4, pp=2, steps=20, pause=pause).flows(placed(8)), placed(8))))
    assert not any(one.stall for one in found)


def test_stops_of_one_rank_after_another_are_a_habit():
    pause = lambda step, rank: 600.0 if (step, rank) in ((7, 3), (31, 5)) else 0.0  # noqa: E731
    found = verdicts(Case(seen(training(dp=4, pp=2, steps=44, pause=pause).flows(placed(8)), placed(8))))
    assert not any(one.stall for one in found)


def all_steps(one):
    return np.ones(len(one.view.ends), np.bool_)


def test_delays_that_come_elsewhere_as_well_may_be_chance():
    one = Case(case("slow rank"))
    top = int(np.argmax(one.versus_own_steps.explained(one.versus_own_steps.during(BAD.start, BAD.stop))))
    assert chance_of(one.view, one.versus_own_steps, top, BAD.start, BAD.stop, all_steps(one)) < 0.01
    well = Case(case("nothing"))
    top = int(np.argmax(well.versus_own_steps.explained(well.versus_own_steps.during(4, 6))))
    assert chance_of(well.view, well.versus_own_steps, top, 4, 6, all_steps(well)) > 0.5


def test_steps_with_a_cause_of_their_own_do_not_make_others_chance():
    took = {step: 40.0 if step in (10, 11) else 30.0 if step in (4, 5, 6) else 20.0 for step in range(20)}
    wire = training(steps=20, work=lambda step, rank: took[step] if rank == 1 else 20.0)
    one = Case(seen(wire.flows(placed(4)), placed(4)))
    top = next(k for k, who in enumerate(one.versus_own_steps.which) if (who.cause, who.ids) == ("work", (address(1),)))
    others = all_steps(one)
    others[9:13] = False
    with_all, without = (chance_of(one.view, one.versus_own_steps, top, 4, 7, among) for among in (all_steps(one), others))
    assert without < with_all


def test_evaluations_hide_no_slow_rank():
    work = lambda step, rank: 50.0 if rank == RANK and step in BAD else 20.0  # noqa: E731
    pause = lambda step, _rank: 800.0 if step in (3, 8, 15) else 0.0  # noqa: E731
    view = seen(training(dp=4, pp=2, steps=24, work=work, pause=pause).flows(placed(8)), placed(8))
    (one,) = verdicts(Case(view))
    assert (one.candidate.cause, one.candidate.ids) == ("work", (address(RANK),))
    assert one.slowdown == pytest.approx(np.median(view.durations[[6, 9, 10]]) / np.median(view.durations), rel=0.05)


def test_chance_delays_of_many_ranks_hide_no_rank_that_is_always_slow():
    work = lambda _step, rank: 40.0 if rank == RANK else 20.0  # noqa: E731
    view = seen(training(dp=16, work=work, noise=0.15, steps=20).flows(placed(16)), placed(16))
    (one,) = verdicts(Case(view))
    assert (one.candidate.ids, one.always) == ((address(RANK),), True)


def test_a_host_whose_ranks_wait_for_each_other_is_always_slow_against_its_replica():
    cluster = Cluster(hosts=4, gpus=4, hosts_per_leaf=2, rails=True)
    slow = Fault("compute_slow", "A", (5,), first=0, factor=1.7)
    drawn = simulate(Spec("twins", cluster, (Job(dp=2, pp=2, tp=4, micro=2, steps=16),), (slow,)), 1)
    found = diagnose(drawn.flows, Source((), 0, 0, {}, 0, 0), topology=parse(dumps(drawn.topology), "topology"))
    assert named(list(found.findings)) == [("server1",)]


@pytest.mark.parametrize(("most", "blamed"), [(0.7, False), (1.0, True)])
def test_one_of_two_that_was_always_slow_explains_nearly_all(monkeypatch, most, blamed):
    verdict, explained = slow_steps.verdict_of, Comparison.explained

    def joined(*args, **options):
        one = verdict(*args, **options)
        return replace(one, candidate=replace(one.candidate, ids=(address(RANK), address(RANK + 1))), probability=0.9)

    monkeypatch.setattr(Comparison, "explained", lambda self, during: np.minimum(explained(self, during), most))
    alone = verdicts(Case(case("rank always slow")))
    assert [one.candidate.ids for one in alone if one.always] == [(address(RANK),)]
    monkeypatch.setattr(slow_steps, "verdict_of", joined)
    assert any(one.always for one in verdicts(Case(case("rank always slow")))) == blamed


@pytest.mark.parametrize(("silent", "blamed"), [((), True), ((5,), True), ((2,), False), ((0, 2, 4, 6), True)])
def test_a_rank_of_a_quiet_host_has_no_peers_on_other_hosts(silent, blamed):
    """It may always wait for the silent rank of its host. If all hosts have one, they are peers."""
    topology = placed(8, nics=2)
    view = seen(training(dp=8, work=lambda _step, rank: 35.0 if rank == 3 else 20.0).flows(topology), topology)
    view = replace(view, job=replace(view.job, silent=tuple(map(address, silent))))
    found = [(one.candidate.cause, one.candidate.ids, one.always) for one in verdicts(Case(view))]
    assert found == ([("work", (address(3),), True)] if blamed else [])
