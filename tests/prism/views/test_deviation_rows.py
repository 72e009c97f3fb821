import numpy as np
import pytest

from benchmarks.boards import MS, START, board
from prism.views.deviation_rows import ROWS, arrange_rows
from prism.views.step_cells import CellRange

LARGE = board(1024, 40, stages=4)
FOUND, FINDING = LARGE.jobs[0].found, LARGE.cases[0].finding
CULPRIT = 1024 // 3


def test_the_culprit_is_on_top_and_the_rest_of_its_group_below():
    made = arrange_rows(FOUND, FINDING.start_ns, CellRange(), blamed=[CULPRIT], topology=LARGE.topology)
    first = made["rows"][0]
    assert (first["rank"], first["stage"], first["group"], first["host"]) == (CULPRIT, 1, 1, "server42")
    rest = [row for row in made["rows"] if row["rank"] is None]
    assert [row["stage"] for row in rest][:1] == [1]
    assert sum(row["ranks"] for row in made["rows"]) == 1024
    assert made["own_past"]
    value = np.array(made["value"], float)
    assert value.shape == (len(made["rows"]), 40)
    assert np.abs(value[0, :20]).max() < 60
    assert value[0, 20:].mean() == pytest.approx(0.4 * made["usual_ms"], rel=0.1)
    together = [at for at, row in enumerate(made["rows"]) if row["rank"] is None]
    assert np.abs(value[together]).max() < 10  # what many have in common


def test_of_a_small_job_each_rank_has_a_row():
    small = board(24, 12, stages=2)
    made = arrange_rows(small.jobs[0].found, START, CellRange(START, START + 20_000 * MS), topology=small.topology)
    assert [row["ranks"] for row in made["rows"]] == [1] * 24
    assert not made["own_past"]
    assert made["rows"][0]["rank"] == 8  # it deviates from its stage


def test_rows_and_columns_are_bounded():
    many = board(2048, 900, stages=512)  # groups of four
    made = arrange_rows(many.jobs[0].found, many.cases[0].finding.start_ns, CellRange(), blamed=[682])
    assert len(made["rows"]) == ROWS
    assert made["binned"] == 3
    assert len(made["steps"]) == len(made["value"][0]) == 300
    assert sum(row["ranks"] for row in made["rows"]) == 2048


def test_no_steps_no_columns():
    made = arrange_rows(FOUND, 1, CellRange(1, 2))
    assert made["steps"] == []
    assert made["usual_ms"] is None
