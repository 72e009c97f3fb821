"""Test what a view of a job adds to its steps."""

import pytest

from tests.prism.faults import case
from tests.prism.traffic import MS


def test_a_silence_of_all_is_a_pause_of_its_step():
    (pause,) = case("evaluation").pauses
    assert pause.step == 7
    assert pause.over / MS == pytest.approx(800, rel=0.1)
    assert case("nothing").pauses == []


def test_all_records_of_a_job_alone_show_whether_its_ranks_work():
    view = case("nothing")
    assert view.work_relevant.all()
