from dataclasses import replace

import numpy as np
import pytest

from prism.inventory.bookings import Booking
from prism.lost_time.effective_time import effective, ratio_of
from prism.model import Finding, Job, JobDiagnosis, Layout, Parallelism, Severity, Timeline
from prism.tracking.board import Board, Case, JobStatus
from tests.prism.alerts.stories import NO_SPANS, NOW, S

BEGUN = NOW - 100 * S


def board(*seconds, state="running", job="job1"):
    ends = BEGUN + (np.array(seconds) * S).astype(np.int64)
    steps = np.stack([np.concatenate([[BEGUN], ends[:-1]]), ends], axis=1)
    own = Job(job, ("a", "b"), (), BEGUN, int(ends[-1]))
    found = JobDiagnosis(own, Parallelism(Layout(dp=2), (), ()), Timeline((steps, steps), (), NO_SPANS))
    return Board(at_ns=NOW, jobs=(JobStatus(found, state),), bookings={"job1": Booking("1", "llama", "ada")})


def hang(begin, end):
    made = Finding("hang", "hang", "job1", Severity.CRITICAL, "endpoint", ("a",), BEGUN + begin * S, BEGUN + end * S, 1, 9, "")
    return Case("h", made, "closed", NOW, NOW, NOW)


def test_a_row_says_what_was_lost_of_the_time_requested():
    shown, cases = board(1, 2, 3, 4, 9, 10, 11, 12), [hang(5, 8)]
    [row] = effective(shown, cases, 0, NOW)
    assert row["ratio"] == pytest.approx(1 - 4 / 12)
    assert row["lost_s"]["hang"] == 4
    assert row["lost_gpu_hours"] == pytest.approx(4 * 2 / 3600)
    assert (row["name"], row["user"], row["steps"], len(row["sliding"])) == ("llama", "ada", 8, 60)
    [later] = effective(shown, cases, BEGUN + 8 * S, NOW)
    assert later["ratio"] == 1
    assert effective(shown, cases, NOW, NOW + S) == []


def test_a_job_that_stopped_loses_time_until_now():
    shown = board(1, 2, 3, 4, state="silent")
    [row] = effective(shown, [hang(4, 4)], 0, NOW)
    assert row["ratio"] == pytest.approx(0.04)


def test_a_time_in_which_nothing_was_collected_is_not_lost():
    shown = board(1, 2, 3, 9, 10, 11)
    line = replace(shown.jobs[0].found.timeline, unseen=((BEGUN + 3 * S, BEGUN + 8 * S),))
    found = replace(shown.jobs[0].found, timeline=line)
    assert ratio_of(JobStatus(found), [], NOW).ratio == 1
    assert ratio_of(JobStatus(found), [], NOW) is ratio_of(JobStatus(found), [], NOW)  # worked out once
