from dataclasses import replace

import pytest

from collectors.clickhouse import drivers
from prism.past.run_history import EVERY_S, Runs, kept_runs
from prism.tracking.board import Boards
from tests.prism.web.conftest import recorded


@pytest.fixture
def database(tmp_path):
    made = drivers.opened(str(tmp_path / "store"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def board():
    return recorded("sharded")[0]


def later(board, state="running"):
    job = board.jobs[0]
    own = replace(job.found.job, end_ns=job.found.job.end_ns + 10**9)
    return replace(board, jobs=(replace(job, state=state, found=replace(job.found, job=own)),))


def test_runs_outlive_a_restart(board, database):
    runs = Runs(database)
    assert runs.measure_jobs(board) == 1
    [one] = Runs(database).all()
    assert one.job == board.jobs[0].id
    assert [one] == list(runs.all())


def test_a_job_is_measured_again_when_it_ends_or_from_time_to_time(board):
    now = [0.0]
    runs = Runs(clock=lambda: now[0])
    assert (runs.measure_jobs(board), runs.measure_jobs(board)) == (1, 0)
    assert runs.measure_jobs(later(board)) == 0
    assert runs.measure_jobs(later(board, "ended")) == 1
    now[0] = 2 * EVERY_S
    assert runs.measure_jobs(board) == 1
    assert len(runs.all()) == 1


def test_the_newest_board_is_measured_at_the_end(board):
    runs = Runs()
    with kept_runs(runs, Boards(board)):
        assert runs.all() == ()
    assert len(runs.all()) == 1
