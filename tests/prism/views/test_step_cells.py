from dataclasses import replace

import numpy as np
import pytest

from benchmarks.boards import board
from prism.views.step_cells import cell_values, step_grid

RANKS, STEPS = 6, 10


@pytest.fixture(scope="module")
def found():
    return board(RANKS, STEPS, stages=2).jobs[0].found


def test_columns_are_the_numbers_of_steps_also_of_ranks_that_lack_some(found):
    whole = found.timeline
    steps = (*whole.steps[:2], whole.steps[2][3:], *whole.steps[3:])
    grid = step_grid(replace(whole, steps=steps, first=100), range(1, 4))
    assert grid.first == 100
    assert grid.there.tolist() == [[True] * STEPS, [False] * 3 + [True] * (STEPS - 3), [True] * STEPS]
    assert (grid.end[1, 3:] == whole.steps[2][3:, 1]).all()


def test_steps_whose_phases_are_forgotten_have_no_time_in_them(found):
    whole = found.timeline
    late = whole.phases.step >= 4
    phases = replace(whole.phases, **{name: column[late] for name, column in vars(whole.phases).items()})
    line = replace(whole, phases=phases, first=100)
    values = cell_values(line, 0, RANKS, step_grid(line, range(RANKS)), "work")
    assert np.isnan(values[:, :4]).all()
    assert (values[:, 4:] > 0).all()
    assert np.isfinite(cell_values(line, 0, RANKS, step_grid(line, range(RANKS)), "duration")).all()


def test_there_is_no_other_measure(found):
    with pytest.raises(ValueError, match="not in"):
        cell_values(found.timeline, 0, RANKS, step_grid(found.timeline, range(RANKS)), "nothing")


def test_a_step_that_was_not_seen_whole_keeps_its_column_without_a_time(found):
    whole = found.timeline
    begin, end = whole.steps[0][4].tolist()
    line = replace(whole, unseen=((begin + (end - begin) // 3, begin + (end - begin) // 2),))
    values = cell_values(line, 0, RANKS, step_grid(line, range(RANKS)), "duration")
    assert values.shape == (RANKS, STEPS)
    assert np.isnan(values).any(axis=0).tolist() == [step == 4 for step in range(STEPS)]
