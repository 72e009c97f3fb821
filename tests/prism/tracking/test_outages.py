from dataclasses import replace

import numpy as np

from collectors.columns.record import Flows
from prism.model import PHASES, Event, Job, JobDiagnosis, Layout, Parallelism, Phases, Spans, Timeline
from prism.tracking.board import Gap
from prism.tracking.outages import MOST, described, with_end, with_gap, without_gaps
from prism.tracking.timeline_stitching import job_ends
from prism.views import timeline_views
from prism.views.step_sums import sums

S = 1_000_000_000
STEP = 1.0 * S
NOBODY = np.zeros(0, np.int64)
NONE = Spans(NOBODY, NOBODY, NOBODY.astype(np.int32), NOBODY.astype(np.int8), NOBODY.astype(np.int32))


def flows(*ends):
    return Flows.build({"start_ns": [end - 1 for end in ends], "end_ns": list(ends)}, endpoints=("a",))


def timeline(*ends_s, events=()):
    """Two ranks whose steps end then, the second a tenth of a second later; each works all through its steps."""
    ends = (np.array(ends_s) * S).astype(np.int64)
    steps = tuple(np.stack([ends[:-1] + late, ends[1:] + late], axis=1) for late in (0, S // 10))
    many = len(ends) - 1
    phases = Phases(
        np.concatenate([own[:, 0] for own in steps]),
        np.concatenate([own[:, 1] for own in steps]),
        np.repeat([0, 1], many).astype(np.int32),
        np.tile(np.arange(many), 2).astype(np.int32),
        np.full(2 * many, PHASES.index("compute"), np.int8),
    )
    return Timeline(steps, tuple(events), NONE, phases)


def job(line):
    return JobDiagnosis(Job("j", ("a", "b"), (), 0, 0), Parallelism(Layout(dp=2), (), ()), line)


def test_a_gap_begins_once_and_ends_with_the_first_newer_record():
    (gap,) = gaps = with_gap((), 100, "restart")
    assert gap == Gap(100, 0, "restart")
    assert with_gap(gaps, 120, "restart") == gaps  # started again without a record in between
    assert with_end(gaps, flows(90, 100)) == gaps
    assert with_end(gaps, flows(90, 130, 110)) == (Gap(100, 110),)
    assert with_end((Gap(1, 2),), flows(110)) == (Gap(1, 2),)
    assert with_gap((Gap(100, 110),), 300, "paused") == (Gap(300, 0, "paused"), Gap(100, 110))
    assert len(with_gap([Gap(i, i + 1) for i in range(MOST)], 500, "restart")) == MOST
    assert with_end((), flows(5)) == ()


def test_it_is_reported_with_its_length_and_its_reason():
    gap = Gap(3600 * S, 3605 * S)
    assert described(gap) == "no records were collected from 01:00:00 to 01:00:05 UTC (5.0 s): Prism was not running"
    assert "Prism was paused" in described(replace(gap, reason="paused"))


def test_a_step_that_reaches_into_it_has_no_duration_and_keeps_its_number():
    line = without_gaps(timeline(0, 1, 2, 3, 9, 10, 11), [(3 * S + S // 2, 8 * S)], STEP)
    assert line.durations_ms().tolist() == [1000] * 4
    known = sums(job(line))
    assert np.isnan(known.duration_ms).tolist() == [False] * 3 + [True] + [False] * 2
    assert known.median_ms.tolist() == [1000, 1000]
    assert known.spent.sum() == 10 * S
    told = timeline_views.steps(job(line))
    assert told["job"]["duration_ms"] == [1000, 1000, 1000, None, 1000, 1000]
    assert [row[3] for row in told["heat"]["value"]] == [None, None]
    assert len(timeline_views.timeline(job(line), level="steps")["spans"]["row"]) == 10
    assert len(timeline_views.timeline(job(line), level="phases")["spans"]["row"]) == 10
    part = timeline_views.steps(job(line), timeline_views.CellRange(4 * S, 10 * S))
    assert (part["job"]["first"], part["job"]["duration_ms"]) == (3, [None, 1000])


def test_the_step_that_it_hides_counts_also_where_a_window_took_the_time_for_a_pause():
    line = timeline(0, 1, 2, 3, 9, 10, 11)
    paused = replace(
        line,
        steps=tuple(np.delete(own, 3, axis=0) for own in line.steps),
        phases=Phases(
            *(getattr(line.phases, name)[line.phases.step != 3] for name in ("start_ns", "end_ns", "rank", "step", "phase"))
        ),
    )
    paused.phases.step[paused.phases.step > 3] -= 1
    gap = (3 * S + S // 2, 8 * S)
    known, expected = (sums(job(without_gaps(one, [gap], STEP))) for one in (paused, line))
    assert known.duration_ms.tolist()[:3] == expected.duration_ms.tolist()[:3]
    assert np.array_equal(known.start_ns, expected.start_ns)
    assert np.isnan(known.duration_ms).tolist() == np.isnan(expected.duration_ms).tolist()
    fixed = without_gaps(paused, [gap], STEP)
    assert fixed.phases.step.tolist() == without_gaps(line, [gap], STEP).phases.step.tolist()
    assert without_gaps(fixed, [gap], STEP) is fixed
    assert len(without_gaps(paused, [(5 * S, 5 * S + S // 10)], STEP).steps[0]) == 5  # most of the pause was seen


def test_nothing_changes_without_one_or_twice():
    line = timeline(0, 1, 2, 3, events=[Event("evaluation", S, 2 * S)])
    assert without_gaps(line, [], STEP) is line
    assert without_gaps(line, [(50 * S, 60 * S)], STEP) is line  # not in the time of this job
    once = without_gaps(timeline(0, 1, 2, 9, 10), [(3 * S, 8 * S)], STEP)
    assert without_gaps(once, [(3 * S, 8 * S)], STEP) is once
    ends = job_ends(once)
    assert job_ends(without_gaps(once, [(2 * S, 8 * S)], STEP)) is ends  # not worked out again
    assert without_gaps(once, [(2 * S, 8 * S), (4 * S, 9 * S)], STEP).unseen == ((2 * S, 9 * S),)


def events(*found):
    line = without_gaps(timeline(*range(60), events=[Event(*one) for one in found]), [(20 * S, 30 * S)], STEP)
    return [(one.kind, one.start_ns // S, one.end_ns // S) for one in line.events]


def test_it_is_no_event_of_the_job():
    assert events(("evaluation", 19 * S, 31 * S), ("checkpoint", 20 * S, 30 * S), ("restart", 22 * S, 25 * S)) == []
    assert events(("start", 31 * S, 31 * S), ("stop", 19 * S, 19 * S)) == []
    assert events(("start", 5 * S, 5 * S), ("evaluation", 40 * S, 42 * S)) == [("start", 5, 5), ("evaluation", 40, 42)]


def test_of_a_pause_that_was_seen_to_begin_or_to_go_on_that_part_is_left():
    assert events(("evaluation", 12 * S, 31 * S)) == [("evaluation", 12, 20)]
    assert events(("evaluation", 19 * S, 40 * S)) == [("evaluation", 30, 40)]
    assert events(("evaluation", 10 * S, 40 * S)) == [("evaluation", 10, 20), ("evaluation", 30, 40)]
