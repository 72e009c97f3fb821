from dataclasses import replace

import numpy as np
import pytest

from collectors.columns.record import Flows
from prism.findings.same_finding import is_claim
from prism.live.live_analysis import Watch
from prism.model import Finding, Job, JobDiagnosis, Layout, Parallelism, Severity, Spans, Timeline
from prism.recordings.timed_playback import ticks
from prism.synth import simulation
from prism.synth.scenario.specification import Cluster, Fault, Spec
from prism.synth.scenario.specification import Job as Run
from prism.tracking.board import Case, Gap
from prism.tracking.case_tracking import TrackedFinding
from prism.tracking.collection_gaps import CollectionGap
from prism.tracking.job_tracking import Followed
from prism.views import timeline_views

S = 1_000_000_000
LOST = CollectionGap(100 * S, 104 * S)


def flows(*ends):
    return Flows.build({"start_ns": [end * S - 1 for end in ends], "end_ns": [end * S for end in ends]}, endpoints=("a",))


def finding(start, end, kind="slow_rank"):
    return Finding(kind, kind, "j", Severity.WARNING, "endpoint", ("a",), start * S, end * S, 1.5, 9.0, "m", {}, 0.9, 1.0)


def test_it_is_over_when_the_first_record_came_that_is_newer():
    since = CollectionGap(100 * S)
    assert since.still
    assert since.over(flows(99)).still
    assert since.over(flows(99, 105, 103)) == CollectionGap(100 * S, 103 * S)
    assert LOST.over(flows(101, 120)) == LOST
    assert not CollectionGap().still
    assert CollectionGap().over(flows(5)) == CollectionGap()


def test_windows_begin_after_it_where_it_was_longer_than_they_are():
    one = Followed(Job("j", ("a", "b"), (), 0, 0), 0, step_ns=1.0 * S)
    assert LOST.since(one, 105 * S) == 0
    assert LOST.since(replace(one, step_ns=0.01 * S), 105 * S) == 104 * S
    assert CollectionGap().since(one, 105 * S) == 0


def test_the_time_in_which_nobody_listened_makes_nobody_silent():
    still = CollectionGap(100 * S)
    assert still.excluding_gap(99 * S, 105 * S) == 100 * S  # started again, nothing was with_window at yet
    with_window = still.with_window(104 * S)
    assert with_window.with_window(109 * S) == with_window
    assert with_window.excluding_gap(99 * S, 106 * S) == 102 * S
    assert with_window.over(flows(104.5)).excluding_gap(99 * S, 106 * S) == 102 * S
    assert LOST.with_window(106 * S) == LOST
    assert LOST.excluding_gap(99 * S, 106 * S) == 102 * S
    assert LOST.excluding_gap(105 * S, 106 * S) == 106 * S
    assert CollectionGap().excluding_gap(5 * S, 106 * S) == 106 * S


def stepping(*ends_s, dp=8):
    """A job's analysis of which steps ended then, for one of its two ranks a tenth of a second later."""
    ends = np.array([0, *ends_s]) * S
    steps = [np.stack([late[:-1], late[1:]], axis=1).astype(np.int64) for late in (ends - S / 10, ends + S / 10)]
    nobody = np.zeros(0, np.int32)
    spans = Spans(np.zeros(0, np.int64), np.zeros(0, np.int64), nobody, np.zeros(0, np.int8), nobody)
    parallelism = Parallelism(Layout(dp=dp, confidence=0.9), (), ())
    return JobDiagnosis(Job("j", ("a", "b"), (), 0, 0), parallelism, Timeline(tuple(steps), (), spans))


BEFORE = stepping(*np.arange(80, 100), 99.6)  # the newest is a part
KNOWN = Followed(BEFORE.job, 0, BEFORE, step_ns=1.0 * S, layouts=(((8, 1, 1, 1, 1), 0.9),))
AFTER = stepping(104.3, 105, 106, 107, 108)


def test_steps_that_were_not_seen_whole_are_left_out():
    unknown = LOST
    assert unknown.since(KNOWN, 108 * S) == 0
    assert unknown.since(KNOWN, 109 * S) == 104 * S  # windows begin after it, until they tell
    assert unknown.with_steps(KNOWN, AFTER, 90 * S) == unknown  # one that holds it cannot
    told = unknown.with_steps(KNOWN, AFTER, 104 * S)
    gaps = [Gap(110 * S, 0), Gap(100 * S, 104 * S), Gap(5 * S, 6 * S)]
    known = [(100, 104), (5, 6)]
    assert [(low / S, high / S) for low, high in unknown.hidden_intervals(KNOWN, gaps)] == known
    assert [(low / S, high / S) for low, high in told.hidden_intervals(KNOWN, gaps)] == [*known, (99.1, 104.6)]
    assert told.unseen == {"j": (99.1 * S, 105.1 * S)}
    assert told.since(KNOWN, 109 * S) == 0
    kept = told.exclude_gaps(KNOWN, flows(98, 99, 99.5, 104.5, 105, 105.5))
    assert kept.end_ns.tolist() == [98 * S, 99 * S, 105.5 * S]
    assert len(told.exclude_gaps(replace(KNOWN, job=replace(KNOWN.job, id="k")), flows(98, 99.5))) == 2


def test_windows_begin_after_it_where_the_steps_on_both_sides_do_not_fit_together():
    assert LOST.with_steps(KNOWN, AFTER, 105 * S) == LOST  # one that begins later does not know its first steps
    told = LOST.with_steps(KNOWN, AFTER, 104 * S)
    assert told.with_steps(KNOWN, AFTER, 90 * S) == told
    other = stepping(*np.arange(90, 99), 105, 106, dp=4)
    twice = told.with_steps(KNOWN, other, 90 * S).with_steps(KNOWN, other, 90 * S)
    assert twice.unseen == told.unseen, "by chance"
    assert twice.with_steps(KNOWN, AFTER, 90 * S) == told
    apart = twice.with_steps(KNOWN, other, 90 * S)
    assert apart.since(KNOWN, 109 * S) == 104 * S
    assert len(apart.exclude_gaps(KNOWN, flows(98, 99.5))) == 2
    longer = LOST.with_steps(KNOWN, stepping(105, 107, 109, 111), 104 * S)
    assert longer == LOST  # other steps


def test_a_case_is_open_for_as_long_as_nobody_listens():
    case = Case("c", finding(90, 100), "open", 95 * S, 100 * S)
    tracked = [
        TrackedFinding(case, 0.1, 100 * S, told=True),
        TrackedFinding(replace(case, state="closed"), 0.1, 100 * S, told=True),
    ]
    assert [t.active_ns / S for t in LOST.extended(tracked, 200 * S)] == [104, 100]
    assert [t.active_ns / S for t in CollectionGap(100 * S).extended(tracked, 200 * S)] == [200, 100]
    assert list(CollectionGap().extended(tracked, 200 * S)) == tracked


def test_what_shows_in_it_is_nobodys_fault():
    def outside_gap(start, end, kind="slow_rank", deaf=LOST):
        return [(f.start_ns / S, f.end_ns / S) for f in deaf.outside_gap([finding(start, end, kind)], 1.0 * S)]

    assert outside_gap(50, 98) == [(50, 98)]
    assert outside_gap(106, 109) == [(106, 109)]
    assert outside_gap(106, 109, "hang") == [(106, 109)]
    assert outside_gap(99, 105) == outside_gap(99, 106) == []
    assert outside_gap(99, 108) == [(104, 108)]  # who was slow after it
    assert outside_gap(90, 105) == [(90, 105)]  # before
    assert outside_gap(90, 110, "hang") == outside_gap(99, 108, "crash") == []
    assert outside_gap(99, 105, deaf=CollectionGap()) == [(99, 105)]


def test_when_nobody_saw_it_begin_it_is_said_how_much_sooner_that_may_have_been():
    (after,) = LOST.outside_gap([finding(99, 108)], 1.0 * S)
    assert (after.start_ns, after.evidence["sooner_s"]) == (104 * S, 5.0)
    assert "up to 5.0 s earlier" in after.message
    for known in (finding(90, 105), finding(105, 109)):
        assert list(LOST.outside_gap([known], 1.0 * S)) == [known]


RUN = Run("A", dp=8, transport="tcp", steps=32, forward_ms=1300, backward_ms=2600, gradient_octets=40_000_000, jitter=0.02)
SLOW = Fault("compute_slow", "A", ranks=(3,), first=24, factor=1.8)


def played(made, gone, back):
    """All versions of each case that a watch told which nobody gave records from `gone` until `back`; ns.

    That time is a gap in collection, no event of the job, and part of no step's duration.
    """
    watch, known, over = Watch(), {}, False
    for tick in ticks(made.flows, made.transits, every_s=0.5):
        if gone <= tick.clock_ns < back:
            continue
        if tick.clock_ns >= back and not over:
            before, watch, over = watch, Watch(), True
            past = made.flows.take(made.flows.end_ns < gone)
            watch.resume(before.jobs, before.tracked, before.until_ns, past, collection_stopped=True)
        watch.add(tick.flows, tick.clock_ns)
        watch.take()
        if watch.due(tick.clock_ns):
            for case in watch.analyse_window(watch.watermark(tick.clock_ns)).cases:
                known.setdefault(case.id, []).append(case)
    assert over
    board = watch.boards.newest
    ((begin, end),) = ((gap.begin_ns, gap.end_ns) for gap in board.gaps)
    assert gone - 4 * S < begin <= gone < back <= end < back + 4 * S  # windows end up to four seconds apart
    (found,) = (status.found for status in board.jobs)
    assert not [event for event in found.timeline.events if event.start_ns < back and event.end_ns > gone]
    # a step that held the outage would last twice as long or more; one that the fault slows lasts 1.75 times as long
    assert found.timeline.durations_ms().max() < 1.9 * np.median(found.timeline.durations_ms())
    steps = timeline_views.steps(found)["job"]["duration_ms"]
    assert 1 <= steps.count(None) <= 4
    return [cases for cases in known.values() if is_claim(cases[-1].finding)]


def ends_of(made):
    """When each step of the first rank ended, ns."""
    return np.array([end for _, _, end in made.truth["jobs"]["A"]["steps"]["0"]])


@pytest.mark.parametrize(("faults", "told"), [((), set()), ((SLOW,), {("10.10.3.1",)})])
def test_who_is_slow_soon_after_it_is_told_beside_what_was_usual_before(faults, told):
    """Of eight steps after it alone none is seen but as one of several that are alike."""
    run = replace(RUN, spike_chance=0.0)
    made = simulation.simulate(Spec("deaf", Cluster(hosts=8, nic_gbit=4.0), (run,), faults), seed=1)
    ends = ends_of(made)
    cases = played(made, int(ends[20]) + 2 * S, int(ends[21]) + S)
    assert {known[-1].finding.ids for known in cases} == told


def test_a_case_stays_open_over_it():
    """A slow rank is told before it, and goes on after it for long enough to be seen again."""
    run = replace(RUN, spike_chance=0.0, steps=56)
    slow = replace(SLOW, first=18, stop=48)
    made = simulation.simulate(Spec("deaf", Cluster(hosts=8, nic_gbit=4.0), (run,), (slow,)), seed=1)
    ends = ends_of(made)
    (case,) = played(made, int(ends[24]) + S, int(ends[33]) + 3 * S)
    assert case[-1].finding.ids == ("10.10.3.1",)
    states = [one.state for one in case]
    assert case[0].opened_ns < ends[24]
    assert states == sorted(states, reverse=True)  # open, then closed
    assert case[-1].finding.end_ns > ends[45]
