"""What is usual is from before a fault, however much of what is shown is slow."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.boards import START, board
from prism.model import NO_PHASES, PHASES, Severity
from prism.tracking.board import Case
from prism.tracking.case_tracking import TrackedFinding
from prism.views import timeline_views
from prism.views.step_cells import CellRange
from prism.views.step_sums import sums
from prism.views.usual_step_times import usual_before, usual_times, with_usual

MS, RANKS = 1_000_000, 8
FAST, SLOW = 1000, 2000  # ms


def job(durations_ms, *, shown=None):
    """A job whose steps take so long, and a claim on those that are slow; of its steps only those `shown` are kept."""
    made = board(RANKS, 4, stages=2)
    found, case = made.jobs[0].found, made.cases[0]
    ends = START + MS * np.cumsum(durations_ms).astype(np.int64)
    own = np.stack([ends - MS * np.array(durations_ms), ends], axis=1)
    slow = np.flatnonzero(np.array(durations_ms) > FAST)
    finding = replace(case.finding, start_ns=int(own[slow[0], 0]), end_ns=int(ends[slow[-1]]))
    kept = own[shown or slice(None)]
    line = replace(found.timeline, steps=(kept,) * RANKS, spans=none(found.timeline.spans), phases=NO_PHASES)
    return replace(found, timeline=line), replace(case, finding=finding)


def none(bars):
    return replace(bars, **{name: column[:0] for name, column in vars(bars).items()})


def test_four_fifths_of_the_steps_are_slow_and_the_usual_ones_are_those_before():
    found, case = job([FAST] * 10 + [SLOW] * 40)
    usual = usual_times(found, [case], "duration")
    assert (usual.step_ms, usual.value_ms, usual.case) == (FAST, FAST, case.id)
    assert np.median(sums(found).duration_ms) == SLOW
    slow = CellRange(case.finding.start_ns, case.finding.end_ns)  # none of the steps before are shown
    assert timeline_views.steps(found, slow, cases=[case])["usual"] == {"step_ms": FAST, "value_ms": FAST, "finding": case.id}


def test_a_case_keeps_what_was_usual_when_it_opened():
    found, case = job([FAST] * 10 + [SLOW] * 3)
    entry = TrackedFinding(case, 0.0, case.finding.end_ns, told=True)
    (kept,) = with_usual([entry], {case.finding.job: found})
    assert kept.case.usual == {"step": FAST, "duration": FAST}
    later, _ = job([FAST] * 10 + [SLOW] * 400, shown=slice(100, None))  # all before it is forgotten
    assert usual_before(later, case, ()) == {}
    (same,) = with_usual([kept], {case.finding.job: later})
    assert same is kept
    for state, closed in (("open", 0), ("closed", case.finding.end_ns)):
        now = replace(kept.case, state=state, closed_ns=closed)
        assert usual_times(later, [now], "duration") == (FAST, FAST, case.id)
    assert with_usual([replace(entry, told=False)], {case.finding.job: found})[0].case.usual == {}
    assert with_usual([entry], {})[0].case.usual == {}


def test_the_time_of_another_claim_is_not_usual():
    found, second = job([FAST] * 5 + [SLOW] * 20 + [FAST] * 5 + [SLOW] * 20)
    own = found.timeline.steps[0]
    first = Case("first", replace(second.finding, end_ns=int(own[24, 1])), "closed", 0, 0, int(own[24, 1]))
    second = replace(second, finding=replace(second.finding, start_ns=int(own[30, 0])))
    assert usual_before(found, second, [first, second])["step"] == FAST
    assert usual_times(found, [first, second], "duration").case == second.id  # the one that is open
    over = replace(second, state="closed", closed_ns=1)
    assert usual_times(found, [first, over], "duration").case == second.id  # the newest
    assert usual_times(found, [first, over], "duration", "first") == (FAST, FAST, "first")
    note = replace(first, finding=replace(first.finding, severity=Severity.INFO))
    assert usual_before(found, second, [note, second])["step"] == SLOW  # a symptom claims nothing


def test_what_is_slow_from_the_first_step_on_has_no_usual_time():
    found, case = job([SLOW] * 10)
    assert usual_times(found, [case], "duration") == (None, None, case.id)
    assert timeline_views.steps(found, cases=[case])["usual"]["step_ms"] is None


def test_without_a_claim_all_steps_count():
    found, _ = job([FAST] * 10 + [SLOW] * 3)
    assert usual_times(found, [], "duration") == (FAST, FAST, None)


def test_steps_that_were_not_seen_whole_count_in_no_usual_time():
    found, case = job([FAST] * 4 + [30 * FAST] + [FAST] * 2 + [SLOW] * 3)
    begin, end = found.timeline.steps[0][4].tolist()
    gap = ((begin + FAST * MS // 2, end - FAST * MS // 2),)
    found = replace(found, timeline=replace(found.timeline, unseen=gap))
    case = replace(case, finding=replace(case.finding, start_ns=int(found.timeline.steps[0][7, 0])))
    assert usual_times(found, [case], "duration") == (FAST, FAST, case.id)
    assert usual_times(found, [], "duration") == (FAST, FAST, None)
    assert timeline_views.steps(found, cases=[case])["usual"]["step_ms"] == FAST
    few, case = job([FAST] * 4 + [SLOW] * 3)  # the first one was not seen either, so that two are left
    gone = replace(few.timeline, unseen=((int(few.timeline.steps[0][1, 0]) + MS, int(few.timeline.steps[0][1, 1]) - MS),))
    assert usual_before(replace(few, timeline=gone), case, [case]) == {}


def test_every_measure_of_a_job_has_its_own():
    made = board(RANKS, 40, stages=2)
    found, case = made.jobs[0].found, made.cases[0]
    usual = usual_before(found, case, made.cases)
    phases, half = found.timeline.phases, 20
    length = (phases.end_ns - phases.start_ns) / 1e6
    for word in set(usual) & set(PHASES):
        mine = length[(phases.phase == PHASES.index(word)) & (phases.step > 0) & (phases.step < half)]
        assert usual[word] == pytest.approx(np.median(mine), rel=1e-3)
    assert {"step", "duration", "work", "forward", "backward", "dp"} <= set(usual)
    assert usual["step"] < sums(found).duration_ms[half:].min()
