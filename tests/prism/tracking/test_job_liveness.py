from dataclasses import replace

import numpy as np

from collectors.columns.record import Flows
from prism.tracking.job_liveness import aged, collection_silence, needs_window, pause_bound, step_is_due
from prism.tracking.job_tracking import Followed
from prism.tracking.timeline_stitching import job_ends
from tests.prism.tracking.test_job_tracking import S, job, trusted


def test_a_job_that_says_nothing_is_silent_then_ended():
    one = trusted(job(1, 2, 3, 4))
    states = [aged(one, one.talked_ns + seconds * S).state for seconds in (1, 4, 4000)]
    assert states == ["running", "silent", "ended"]


def test_nothing_is_missed_while_anything_is_heard_or_no_job_runs():
    one = replace(trusted(job(1, 2, 3, 4)), talked_ns=8 * S)
    assert list(collection_silence(8 * S, (), 60 * S)) == []
    assert list(collection_silence(8 * S, (one,), 10 * S)) == []
    assert list(collection_silence(59 * S, (one,), 60 * S)) == []
    (words,) = collection_silence(8 * S, (one,), 60 * S)
    assert "since 00:00:08 UTC" in words
    assert list(collection_silence(8 * S, (aged(one, 4000 * S),), 4000 * S)) == []


def test_what_comes_more_often_than_steps_tells_that_records_are_collected():
    members = job(1, 2)
    ends = np.arange(1, 60) * S // 4
    every = Flows.build(
        {"start_ns": ends - 5, "end_ns": ends, "src": np.full(59, 2), "dst": np.zeros(59, int), "octets": np.full(59, 100)},
        endpoints=("10.0.0.1", "10.0.0.2", "10.0.0.9"),
    )
    assert pause_bound(every, members) == S // 4
    bursts = every.take(np.arange(59) % 8 < 2)  # what is fetched at the begin of each step
    assert pause_bound(bursts, members) > S
    assert pause_bound(every.take(np.arange(3)), members) == float("inf")
    assert pause_bound(every, job(1, 2, 9)) == float("inf")


def test_a_job_is_examined_when_a_step_should_be_over_and_often_when_it_is_not():
    one = trusted(job(1, 2, 3, 4))
    last = int(job_ends(one.found.timeline)[-1])
    assert not step_is_due(one, last + S // 10, last + S // 2)  # nothing new
    assert not step_is_due(one, last + S // 10, last + S)  # it may not be seen yet
    assert step_is_due(one, last + S // 10, last + S + S // 10)
    assert not step_is_due(one, last + S + S // 10, last + S + S // 2)  # it was looked for
    assert step_is_due(one, last + S + S // 10, last + 2 * S + S // 10)
    assert not step_is_due(Followed(job(1, 2), 0), 0, 9 * S)
    calm = replace(one, talked_ns=last + 10 * S)
    late = [needs_window(calm, last + int(steps * S)) for steps in (0.5, 1.0, 1.2, 3.0, 5.0)]
    assert late == [False, False, True, True, False]


def test_a_job_of_which_the_newest_step_may_be_a_part_of_one_is_examined_when_that_should_be_over():
    one = trusted(job(1, 2, 3, 4))
    own = one.found.timeline.steps[0].copy()
    own[-1, 1] -= S // 5
    part, since = int(own[-1, 1]), int(own[-1, 0])
    one = replace(one, found=replace(one.found, timeline=replace(one.found.timeline, steps=(own,) * 4)), talked_ns=part)
    assert step_is_due(one, part, since + S + S // 10)
    assert needs_window(one, since + S + S // 4)
    heard = replace(one, talked_ns=since + S + S // 4)  # a window has seen what came after it
    assert not needs_window(heard, since + S + S // 4)
