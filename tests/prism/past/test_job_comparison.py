from dataclasses import replace

import pytest

from benchmarks.boards import board
from prism.past.job_comparison import compared

FAST = board(16, 10, stages=2, step_ms=1000.0).jobs[0].found
SLOW = board(16, 10, stages=2, step_ms=1500.0).jobs[0].found


def rows(found, group):
    return {row["name"]: row for row in found["rows"] if row["group"] == group}


def test_what_changed_is_a_ratio():
    found = compared(FAST, SLOW)
    assert rows(found, "step")["median"]["ratio"] == pytest.approx(1.5, rel=0.02)
    assert rows(found, "phase")["forward"]["ratio"] == pytest.approx(1.5, rel=0.02)
    assert rows(found, "octets per step")["dp"]["ratio"] == 1.0
    assert rows(found, "bandwidth")["dp"]["ratio"] == pytest.approx(1 / 1.5, rel=0.02)
    assert found["common"] == {"endpoints": 16, "only_a": 0, "only_b": 0, "same_layout": True}


def test_the_rank_that_changed_most_comes_first():
    shown = board(16, 40, stages=2)
    slow = shown.cases[0].finding.ids[0]
    found = shown.jobs[0].found
    half = found.timeline
    early = replace(found, timeline=replace(half, steps=tuple(steps[:20] for steps in half.steps)))
    assert compared(early, found)["ranks"][0].keys() == {"endpoint", "change_ms", "work_ms", "wait_ms", "communication_ms"}
    assert slow in {row["endpoint"] for row in compared(FAST, found)["ranks"]}


def test_a_job_without_steps_has_no_ratio():
    none = replace(FAST, timeline=replace(FAST.timeline, steps=tuple(steps[:0] for steps in FAST.timeline.steps)))
    found = compared(none, FAST)
    assert rows(found, "step")["number"]["a"] == 0
    assert rows(found, "step")["number"]["ratio"] is None
    assert found["ranks"] == []
