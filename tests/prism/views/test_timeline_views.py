import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.boards import board
from prism.model import NO_PHASES, PHASES, Timeline
from prism.views import timeline_views
from prism.views.step_cells import CellRange

RANKS, STEPS = 24, 12


@pytest.fixture(scope="module")
def found():
    return board(RANKS, STEPS, stages=2).jobs[0].found


@pytest.fixture(scope="module")
def ragged(found):
    """Ranks that joined late or left early, and one that never had a step."""
    steps = [own[: STEPS - rank % 3] for rank, own in enumerate(found.timeline.steps)]
    steps[5] = steps[5][:0]
    return replace(found, timeline=replace(found.timeline, steps=tuple(steps)))


def naive(found, asked, first, last):
    """Duration of each step by rank and number, as a dict."""
    return {
        (rank, number): (end - start) / 1e6
        for rank, own in enumerate(found.timeline.steps)
        if first <= rank < last
        for number, (start, end) in enumerate(own.tolist())
        if end > asked.start_ns and start < asked.end_ns
    }


stretches = st.builds(
    lambda a, b, c, d: (a, b, c, d), st.integers(-3, 16), st.integers(0, 16), st.integers(0, 30), st.none() | st.integers(0, 30)
)


@settings(max_examples=60)
@given(stretches, st.integers(1, 400), st.booleans())
def test_the_heat_is_the_greatest_of_each_bin(found, ragged, drawn, cells, whole):
    job = found if whole else ragged
    begin = job.job.start_ns
    asked = CellRange(max(begin + drawn[0] * 900_000_000, 0), begin + (drawn[0] + drawn[1]) * 900_000_000, drawn[2], drawn[3])
    last = RANKS if drawn[3] is None else min(drawn[3], RANKS)
    expected = naive(job, asked, drawn[2], last)
    heat = timeline_views.steps(job, asked, max_cells=cells)["heat"]
    assert len(heat["value"]) * len(heat["steps"]) <= cells
    assert len(heat["ranks"]) == len(heat["value"])
    for row, ranks in zip(heat["value"], heat["ranks"], strict=True):
        assert len(row) == len(heat["steps"])
        for value, steps in zip(row, heat["steps"], strict=True):
            (r0, r1), (s0, s1) = (one if isinstance(one, list) else [one, one] for one in (ranks, steps))
            inside = [ms for (rank, step), ms in expected.items() if r0 <= rank <= r1 and s0 <= step <= s1]
            assert value == (pytest.approx(max(inside), abs=1e-3) if inside else None)
    shown = {number for one in heat["steps"] for number in (range(one[0], one[1] + 1) if isinstance(one, list) else [one])}
    assert {number for _, number in expected} <= shown


def test_time_in_a_phase_by_rank_and_step(found):
    code = PHASES.index("forward")
    phases = found.timeline.phases
    expected = np.zeros((RANKS, STEPS))
    for i in np.flatnonzero(phases.phase == code):
        expected[phases.rank[i], phases.step[i]] += (phases.end_ns[i] - phases.start_ns[i]) / 1e6
    value = np.array(timeline_views.steps(found, measure="forward")["heat"]["value"])
    assert value == pytest.approx(expected, abs=1e-3)
    part = timeline_views.steps(found, CellRange(0, 2**63 - 1, 3, 9), measure="forward")["heat"]["value"]
    assert np.array(part) == pytest.approx(expected[3:9], abs=1e-3)
    begin = int(found.timeline.steps[0][4, 0])
    late = timeline_views.steps(found, CellRange(begin, 2**63 - 1), measure="forward")["heat"]
    assert late["steps"][0] == 4
    assert np.array(late["value"]) == pytest.approx(expected[:, 4:], abs=1e-3)
    both = np.array(timeline_views.steps(found, measure="work")["heat"]["value"])
    other = np.array(timeline_views.steps(found, measure="backward")["heat"]["value"])
    assert both == pytest.approx(value + other, abs=2e-3)
    with pytest.raises(ValueError, match="not in"):
        timeline_views.steps(found, measure="nothing")


def test_the_finest_level_that_fits_is_shown(found):
    spans, phases = len(found.timeline.spans), len(found.timeline.phases)
    assert spans == RANKS * STEPS < phases
    few = replace(found, timeline=replace(found.timeline, spans=views_empty(found.timeline.spans)))
    assert timeline_views.timeline(found)["level"] == "spans"
    assert timeline_views.timeline(found, level="phases")["level"] == "phases"
    assert timeline_views.timeline(few, max_spans=phases)["level"] == "phases"
    assert timeline_views.timeline(few, max_spans=phases - 1)["level"] == "steps"
    assert not timeline_views.timeline(few, max_spans=phases - 1)["truncated"]


def views_empty(bars):
    return replace(bars, **{name: getattr(bars, name)[:0] for name in vars(bars)})


@settings(max_examples=60)
@given(stretches, st.integers(1, 400), st.sampled_from([None, "phases", "steps"]), st.booleans())
def test_a_timeline_is_as_small_as_asked(found, ragged, drawn, most, level, whole):
    job = found if whole else ragged
    begin = job.job.start_ns
    asked = CellRange(max(begin + drawn[0] * 900_000_000, 0), begin + (drawn[0] + drawn[1]) * 900_000_000, drawn[2], drawn[3])
    shown = timeline_views.timeline(job, asked, max_spans=most, level=level)
    spans, rows = shown["spans"], shown["rows"]
    assert len({len(column) for column in spans.values()}) == 1
    assert len(spans["row"]) <= most
    assert all(0 <= row < len(rows) for row in spans["row"])
    last = RANKS if drawn[3] is None else min(drawn[3], RANKS)
    assert all(drawn[2] <= row["rank"] < last for row in rows)
    if not shown["truncated"]:
        assert [row["rank"] for row in rows] == list(range(min(drawn[2], RANKS), max(last, min(drawn[2], RANKS))))
    if shown["level"] == "steps" and not shown["truncated"]:
        assert len(spans["row"]) == len(naive(job, asked, drawn[2], last))
    json.dumps(shown, allow_nan=False)


def test_of_too_many_ranks_the_slowest_are_shown_and_their_steps_joined(found):
    steps = list(found.timeline.steps)
    steps[7] = np.stack([steps[7][:, 0], steps[7][:, 0] + 2 * (steps[7][:, 1] - steps[7][:, 0])], axis=1)
    slow = replace(found, timeline=Timeline(tuple(steps), (), views_empty(found.timeline.spans), NO_PHASES))
    shown = timeline_views.timeline(slow, max_spans=40)
    assert shown["truncated"]
    assert 7 in [row["rank"] for row in shown["rows"]]
    assert shown["ranks_total"] == RANKS
    own = [i for i, row in enumerate(shown["spans"]["row"]) if row == 0]
    assert shown["spans"]["start_ms"][own[0]] == pytest.approx((steps[0][0, 0] - found.job.start_ns) / 1e6, abs=1e-3)
    assert shown["spans"]["end_ms"][own[-1]] == pytest.approx((steps[0][-1, 1] - found.job.start_ns) / 1e6, abs=1e-3)


def test_a_job_without_steps(found):
    bare = Timeline(tuple(own[:0] for own in found.timeline.steps), (), views_empty(found.timeline.spans), NO_PHASES)
    empty = replace(found, timeline=bare)
    assert timeline_views.steps(empty)["heat"]["steps"] == []
    assert timeline_views.steps(empty)["job"] == {"first": 0, "start_ms": [], "duration_ms": []}
    assert timeline_views.timeline(empty)["spans"]["row"] == []
    assert timeline_views.timeline(empty, max_spans=1)["spans"]["row"] == []
