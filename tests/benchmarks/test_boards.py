import numpy as np
import pytest

from benchmarks import boards


def test_a_board_is_one_the_analysis_could_have_left():
    made = boards.board(30, 10, stages=3)
    found = made.jobs[0].found
    phases = found.timeline.phases
    assert len(found.job.endpoints) == 30
    assert len(phases) == 30 * 10 * len(boards.WORK)
    assert (np.diff(phases.rank) >= 0).all()
    own = slice(*np.searchsorted(phases.rank, (4, 5)))
    assert phases.start_ns[own][1:].tolist() == phases.end_ns[own][:-1].tolist()
    assert phases.by_rank(30).sum(axis=1) == pytest.approx(10 * 0.85e9, rel=0.2)
    assert made.cases[0].finding.ids == (found.job.endpoints[10],)


def test_it_prints_what_answers_cost(capsys):
    boards.main(20, 5)
    assert "timeline" in capsys.readouterr().out
