from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.model import NO_PHASES, Event, Spans, Timeline
from prism.tracking.step_numbers import first_of, known
from prism.tracking.timeline_stitching import job_ends, latest_end, stitched

STEP = 1_000_000


def spans(first, last):
    start = np.arange(first, last, dtype=np.int64) * STEP
    zero = np.zeros(len(start), np.int8)
    return Spans(start, start + 10, zero.astype(np.int32), zero, zero.astype(np.int32))


def timeline(first, last, *, ranks=3, wobble=0):
    ends = np.arange(first + 1, last + 1, dtype=np.int64) * STEP + wobble
    steps = np.stack([np.concatenate([[first * STEP], ends[:-1]]), ends], axis=1)
    return Timeline(tuple(steps + rank for rank in range(ranks)), (), spans(first, last), NO_PHASES)


@given(st.integers(4, 30), st.integers(0, 20), st.integers(3, 30), st.integers(-STEP // 8, STEP // 8))
def test_overlapping_windows_are_one_timeline(length, begin, more, wobble):
    begin = min(begin, length - 2)
    whole = stitched(timeline(0, length), timeline(begin, begin + more, wobble=wobble))
    ends = job_ends(whole)
    expected = np.arange(1, begin + more + 1) * STEP
    assert len(ends) == len(expected)
    assert np.abs(ends - expected - 1).max() <= STEP // 8
    assert (np.diff(whole.spans.start_ns) > 0).all()
    for steps in whole.steps:
        assert (steps[1:, 0] == steps[:-1, 1]).all()


def test_half_a_step_at_the_begin_of_a_window_leaves_the_known_step():
    """A pipeline's window that begins inside a step ends its first one in the middle: it may look like two equal halves."""
    whole = timeline(0, 10)
    for begin in range(4, 40):
        window = timeline(begin, begin + 8)
        for steps in window.steps:
            steps[0, 1] -= STEP // 2
            steps[1, 0] = steps[0, 1]
        whole = stitched(whole, window)
        assert first_of(window, known(whole, begin * STEP)) == begin
    assert job_ends(whole).tolist() == [n * STEP + 1 for n in range(1, 48)]
    assert (np.diff(whole.spans.start_ns) == STEP).all()


def test_what_was_moved_stays_known_and_is_0_where_a_store_did_not_keep_it():
    def moving(first, last):
        made = timeline(first, last)
        return replace(made, spans=replace(made.spans, octets=np.arange(first, last) + 100))

    whole = stitched(stitched(timeline(0, 5), moving(3, 9)), moving(6, 12)).spans
    assert whole.octets.tolist() == [0] * int((whole.octets == 0).sum()) + list(range(100 + 12 - (whole.octets > 0).sum(), 112))
    assert 0 < (whole.octets > 0).sum() < len(whole)
    assert len(stitched(timeline(0, 5), timeline(3, 9)).spans.octets) == 0


def test_a_step_is_over_when_the_last_rank_has_ended_it_or_half_a_step_later():
    steps = [np.stack([ends - 100, ends], axis=1) for ends in (np.arange(100, 1100, 100) + late for late in (0, 0, 0, 20, 90))]
    fewer = np.array([[0, 2000]])
    assert latest_end(Timeline((*steps[:4], fewer), (), spans(0, 0)), -2) == 920
    assert latest_end(Timeline((*steps, fewer), (), spans(0, 0)), -2) == 950


def test_windows_apart_leave_a_hole():
    ends = job_ends(stitched(timeline(0, 5), timeline(9, 14)))
    assert len(ends) == 10
    assert np.diff(ends).max() == 5 * STEP


def test_only_the_newest_is_kept():
    whole = timeline(0, 10)
    for begin in range(5, 500, 5):
        whole = stitched(whole, timeline(begin, begin + 10), max_steps=20, spans=15)
    assert [len(s) for s in whole.steps] == [20] * 3
    assert len(whole.spans) == 15
    assert job_ends(whole)[-1] == 505 * STEP + 1


def test_events_are_reported_once():
    old, new = timeline(0, 10), timeline(5, 15)
    stop, pause = Event("stop", 10 * STEP, 10 * STEP), Event("evaluation", 7 * STEP, 8 * STEP)
    old = Timeline(old.steps, (Event("start", 0, 0), pause, stop), old.spans)
    new = Timeline(new.steps, (Event("start", 5 * STEP, 5 * STEP), pause), new.spans)
    assert [event.kind for event in stitched(old, new).events] == ["start", "evaluation"]


def test_a_window_without_steps_changes_no_steps():
    old, none = timeline(0, 10), Timeline(tuple(np.zeros((0, 2), np.int64) for _ in range(3)), (), spans(0, 0))
    assert [len(s) for s in stitched(old, none).steps] == [10] * 3
