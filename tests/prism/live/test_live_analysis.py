"""Captures are played live: the accuracy of what is told, window by window; and what a watch does with bad input."""

import json
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from collectors.columns.record import concatenated
from prism.findings.same_finding import is_claim
from prism.live.live_analysis import LATE, Watch
from prism.model import Finding, Severity
from prism.recordings.timed_playback import play, ticks
from prism.synth.scenario.specification import Cluster, Fault, Job, Nuisances, Spec
from prism.synth.simulation import simulate
from prism.topology import parse
from prism.tracking.board import Case
from prism.tracking.case_tracking import TrackedFinding
from prism.tracking.record_windows import FUTURE, SECOND
from prism.tracking.timeline_stitching import job_ends
from prism.views import timeline_views
from tests.prism.played import boards, capture


def claims(told):
    """Every state of every claim, in order: (id, state, subject ids, opened_ns)."""
    seen = []
    for board in told:
        for case in board.cases:
            now = (case.id, case.state, case.finding.ids, case.opened_ns)
            if is_claim(case.finding) and now not in seen:
                seen.append(now)
    return seen


@pytest.mark.parametrize(
    ("name", "culprit", "steps"),
    [("slow_rank", ("10.10.5.1",), 4), ("slow_nic", ("10.10.3.1",), 4), ("slow_uplink", ("leaf1", "spine0"), 6)],
)
def test_a_culprit_is_told_once_and_soon(name, culprit, steps):
    _, _, _, truth = capture(name)
    (fault,) = truth["faults"]
    found = claims(boards(name))
    assert {ids for _, _, ids, _ in found} == {culprit}
    assert [state for _, state, _, _ in found] == ["open"]  # once; and it is not over before the capture is
    durations = [end - begin for _, begin, end in next(iter(next(iter(truth["jobs"].values()))["steps"].values()))]
    assert 0 < found[0][3] - fault["start_ns"] < steps * np.median(durations[-6:])


def test_the_healthy_are_not_blamed_in_any_window_and_jobs_keep_their_names():
    told = boards("two_jobs")
    assert claims(told) == []
    _, _, _, truth = capture("two_jobs")
    true = {frozenset(rank["ip"] for rank in job["ranks"]) for job in truth["jobs"].values()}
    assert {frozenset(status.found.job.endpoints) for status in told[-1].jobs} == true
    names = [{status.id for status in board.jobs} for board in told]
    assert all(a <= b for a, b in pairwise(names))


def test_boards_follow_one_another():
    told = boards("slow_rank")
    assert [board.revision for board in told] == list(range(1, len(told) + 1))
    assert all(a.at_ns < b.at_ns for a, b in pairwise(told))
    windows = told[-1].windows
    assert windows[0].end_ns == told[-1].at_ns
    assert all(a.start_ns == b.end_ns for a, b in pairwise(windows))  # nothing is skipped


def test_a_timeline_reaches_back_beyond_its_window():
    _, _, _, truth = capture("slow_rank")
    (job,) = truth["jobs"].values()
    true = np.array(next(iter(job["steps_wire"].values())))[:, 2]
    (status,) = boards("slow_rank")[-1].jobs
    ends = job_ends(status.found.timeline)
    true = true[true <= boards("slow_rank")[-1].at_ns]
    near = np.abs(ends[:, None] - true[None, :]).min(axis=0) < np.median(np.diff(true)) / 4
    assert near.mean() > 0.85
    assert (np.diff(ends) > 0).all()


@pytest.mark.parametrize("name", ["slow_rank", "slow_nic"])
def test_steps_in_texts_are_those_of_the_charts_in_every_window(name):
    """Also where most of the history is forgotten: a step keeps its number."""
    flows, transits, topology, _ = capture(name)
    short = tuple(play(Watch(topology, steps=6), ticks(flows, transits)))
    seen = 0
    for board in (*boards(name), *short):
        for case in board.cases:
            (line,) = (one.found.timeline for one in board.jobs if one.id == case.finding.job)
            ends, step = job_ends(line), np.median(np.diff(job_ends(line)))
            numbers = case.finding.evidence.get("steps")
            if numbers is None or case.updated_ns != board.at_ns or numbers[0] <= line.first:
                continue
            seen += 1
            assert abs(ends[numbers[0] - 1 - line.first] - case.finding.start_ns) < step / 2
            shown = timeline_views.steps(next(one.found for one in board.jobs if one.id == case.finding.job))
            assert shown["job"]["first"] == shown["heat"]["steps"][0] == line.first
            said = re.findall(r"\bsteps? (\d+)(?: (?:to|and) (\d+))? takes?\b", case.finding.message)
            assert all(int(last or first) == numbers[1] - 1 for first, last in said)
    assert seen > 2
    assert short[-1].jobs[0].found.timeline.first > 0
    theirs = boards(name)[-1].jobs[0].found.timeline
    known = dict(enumerate(job_ends(theirs)[:-1].tolist(), theirs.first))  # the newest step may go on
    lines = [one.found.timeline for board in short for one in board.jobs]
    both = [(number, end) for line in lines for number, end in enumerate(job_ends(line)[:-1], line.first) if number in known]
    assert all(abs(known[number] - end) < step / 4 for number, end in both)
    assert len(both) > 20


def test_what_was_usual_stays_as_it_was_when_the_case_opened():
    told = [case for board in boards("slow_rank") for case in board.cases if is_claim(case.finding)]
    lately = np.diff(job_ends(boards("slow_rank")[-1].jobs[0].found.timeline))[-3:] / 1e6
    assert 1.15 * told[0].usual["step"] < np.median(lately)
    assert all(case.usual == told[0].usual for case in told)
    assert told[0].usual["work"] < told[0].usual["step"]


def test_shuffled_and_split_records_tell_the_same():
    flows, transits, topology, _ = capture("slow_nic")
    rng = np.random.default_rng(1)

    def muddled():
        for tick in ticks(flows, transits):
            whole = tick.flows.take(rng.permutation(len(tick.flows)))
            parts = np.array_split(np.arange(len(whole)), 3)
            yield tick._replace(flows=concatenated([whole.take(part) for part in parts]).take(rng.permutation(len(whole))))

    told = tuple(play(Watch(topology), muddled()))
    assert claims(told) == claims(boards("slow_nic"))


def test_clocks_that_are_wrong_hold_up_nobody():
    flows, transits, topology, _ = capture("two_jobs")

    def disturbed():
        for i, tick in enumerate(ticks(flows, transits)):
            bad = tick.flows.take(np.arange(min(len(tick.flows), 3)))
            ahead = replace(bad, start_ns=bad.start_ns + 3600 * SECOND, end_ns=bad.end_ns + 3600 * SECOND)
            behind = replace(bad, start_ns=bad.start_ns - 3 * SECOND, end_ns=bad.end_ns - 3 * SECOND)
            odd = [ahead] if i % 5 else [ahead, behind.take(np.arange(min(len(behind), 1)))]
            yield tick._replace(flows=concatenated([tick.flows, *odd]))

    told = tuple(play(Watch(topology), disturbed()))
    assert told[-1].at_ns <= int(flows.end_ns.max()) + SECOND
    assert told[-1].source.skipped[FUTURE] > 100
    assert told[-1].source.skipped[LATE] > 5
    assert any("ahead" in text for text in told[-1].unexplained)
    assert len(told) >= 0.8 * len(boards("two_jobs"))
    assert claims(told) == []


def test_nothing_is_nothing():
    watch = Watch()
    assert not watch.due(SECOND)
    board = watch.analyse_window(SECOND)
    assert (board.jobs, board.cases) == ((), ())


def test_the_window_that_confirms_a_claim_follows_soon():
    flows, *_ = capture("two_jobs")
    now = int(flows.end_ns.max())
    claim = Finding("slow_rank", "slow_rank", "j", Severity.WARNING, "endpoint", ("a",), 0, now, 1.5, 9.0, "m", {}, 0.9, 1.0)
    for tracked, soon in (((), False), ((TrackedFinding(Case("c", claim, "open", now, now), 0.1, now),), True)):
        watch = Watch()
        watch.resume((), tracked, now, flows)
        assert not watch.due(now + SECOND // 20)
        assert watch.due(now + SECOND // 10) == soon


def test_a_collection_that_stops_is_told_and_is_no_hang():
    flows, transits, topology, _ = capture("two_jobs")
    first, watch = int(flows.start_ns.min()), Watch(topology)
    stop = first + 6 * SECOND
    told = list(play(watch, ticks(flows.take(flows.end_ns < stop), transits)))
    assert told[-1].jobs
    assert not watch.unheard
    later = [watch.analyse_window(stop + after * SECOND) for after in (2, 5)]
    assert claims([*told, *later]) == []
    assert watch.unheard
    assert any("no records from any exporter" in text for text in later[-1].unexplained)
    rest = flows.take(flows.start_ns > stop + 3 * SECOND)
    watch.add(rest, int(rest.end_ns.max()))
    assert not any("exporter" in text for text in watch.analyse_window(int(rest.end_ns.max())).unexplained)
    assert not watch.unheard


def lone_hang(until_s=1.0, **nuisances):
    """The records of a job alone that hangs in the middle of a step, until some seconds later, and who hangs."""
    job = Job(
        pp=2, dp=2, micro=4, steps=16, forward_ms=60, gradient_octets=4_000_000, activation_octets=400_000, transport="tcp"
    )
    fault = Fault("hang", "A", (2,), first=11, stop=12, seconds=9.0)
    run = simulate(Spec("hang", Cluster(hosts=4, nic_gbit=4.0), (job,), (fault,), Nuisances(**nuisances)), seed=3)
    (begun,) = (one["start_ns"] for one in run.truth["faults"])
    return run.flows.take(run.flows.end_ns < begun + int(until_s * SECOND)), run.transits


def watched(flows, transits):
    """The boards while nothing is heard any more for four seconds."""
    watch = Watch()
    told = list(play(watch, ticks(flows, transits)))
    end = int(flows.end_ns.max())
    return watch, told + [watch.analyse_window(end + after * SECOND) for after in (1, 2, 3, 4)]


def test_a_job_alone_that_falls_silent_hangs_but_that_is_less_sure():
    _, told = watched(*lone_hang())
    (found,) = [case.finding for case in told[-1].cases if is_claim(case.finding)]
    assert found.kind == "hang"
    assert found.ids == ("10.10.2.1",)
    assert found.confidence <= 0.8
    assert "no other traffic was recorded in this time either" in found.message


def test_where_others_fall_silent_with_a_job_records_are_missing():
    watch, told = watched(*lone_hang(until_s=-0.2, monitor=True))
    assert claims(told) == []
    assert watch.unheard
    assert any("no records from any exporter" in text for text in told[-1].unexplained)


def test_where_others_are_heard_a_job_hangs_for_sure():
    flows, transits = lone_hang(until_s=5.0, monitor=True)
    watch = Watch()
    told = list(play(watch, ticks(flows, transits)))
    (found,) = [case.finding for case in told[-1].cases if is_claim(case.finding)]
    assert (found.kind, found.ids) == ("hang", ("10.10.2.1",))
    assert found.confidence > 0.8
    assert not watch.unheard


@pytest.mark.parametrize(("seed", "algorithm"), [(0, "tree"), (1, "halving"), (1, "tree"), (2, "ring")])
def test_nobody_is_blamed_while_buckets_may_be_taken_for_steps(seed, algorithm):
    """A job's first long steps: four or eight buckets each, then seconds of silence."""
    job = Job(dp=8, buckets=8 if algorithm == "tree" else 4, overlap=True, algorithm=algorithm, transport="tcp", steps=8)
    job = replace(job, gradient_octets=60_000_000, forward_ms=1300, backward_ms=2600, jitter=0.035)
    cluster = Cluster(hosts=8, hosts_per_leaf=4, nic_gbit=4.0, latency_us=60, buffer_octets=1 << 19)
    done = simulate(Spec("x", cluster, (job,)), seed)
    assert claims(play(Watch(), ticks(done.flows, done.transits))) == []


def test_what_rests_long_between_the_parts_of_steps_is_nobodys_fault():
    """A healthy job that reduces in four buckets under the backward."""
    kind = Job(
        dp=8, steps=6, buckets=4, overlap=True, gradient_octets=1_345_521_554, batched=True, credits=False, jitter=0.03065
    )
    kind = replace(kind, forward_ms=4000 / 3, backward_ms=8000 / 3, optimizer_ms=2000 / 9, load_ms=400 / 9, world_reduce=False)
    kind = replace(kind, retransmit=1e-5, uneven_ranks=0.01, spike_chance=0.002, channels=2)
    made = simulate(Spec("parts", Cluster(hosts=4, gpus=2, spines=2, hosts_per_leaf=2), (kind,)), 17001)
    told = tuple(play(Watch(parse(json.dumps(made.topology), "topology")), ticks(made.flows, made.transits)))
    assert claims(told) == []
