"""Test what a view of a job adds to its steps."""

import pytest

from tests.prism.faults import case
from tests.prism.traffic import MS, placed, seen, training


def test_a_silence_of_all_is_a_pause_of_its_step():
    (pause,) = case("evaluation").pauses
    assert pause.step == 7
    assert pause.over / MS == pytest.approx(800, rel=0.1)
    assert case("nothing").pauses == []


@pytest.mark.parametrize(("late", "known"), [((7, 8), [7, 8]), ((7, 8, 9), [])])
def test_a_span_of_steps_with_silences_is_slow(late, known):
    pause = lambda step, _rank: 800.0 if step in late else 0.0  # noqa: E731
    view = seen(training(dp=4, pp=2, pause=pause).flows(placed(8)), placed(8))
    assert [one.step for one in view.pauses] == known
    assert [step for step in range(1, 14) if not view.comparable[step]] == known


def test_all_records_of_a_job_alone_show_whether_its_ranks_work():
    view = case("nothing")
    assert view.work_relevant.all()
