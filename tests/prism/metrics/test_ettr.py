import numpy as np
import pytest

from prism.metrics.ettr import ettr_of_steps
from prism.model import Event

S = 10**9


def ends(*seconds):
    return (np.array(seconds) * S).astype(np.int64)


def test_a_job_that_only_trains():
    own = ettr_of_steps(ends(1, 2, 3, 4, 5), 0, 5 * S)
    assert own.ratio == 1
    assert own.lost == ()
    assert (own.sliding == 1).all()


def test_warm_up_and_a_hang():
    own = ettr_of_steps(ends(3, 4, 5, 10, 11, 12), 0, 12 * S, stops=[(5 * S + S // 2, 9 * S, "hang")])
    assert own.lost_ns("warm-up") == 2 * S
    assert own.lost_ns("hang") == 4 * S
    assert own.ratio == pytest.approx(0.5)
    assert own.sliding.min() < 0.2
    assert own.sliding[-1] == pytest.approx(1, abs=0.01)


def test_a_restart_repeats_what_came_after_the_checkpoint():
    events = [Event("checkpoint", int(2.1 * S), int(2.2 * S)), Event("restart", 5 * S, 8 * S)]
    own = ettr_of_steps(ends(1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 14), 0, 14 * S, events)
    assert own.lost_ns("restart") == 3 * S
    assert own.repeated == 3
    assert own.lost_ns("repeated") == 3 * S
    assert own.low == own.ratio
    unknown = ettr_of_steps(ends(1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 14), 0, 14 * S, events[1:])
    assert unknown.repeated == 0
    assert unknown.low == pytest.approx(unknown.ratio - 5 / 14)


def test_silences_that_nothing_explains_are_hangs():
    quiet = (np.array([[3.1, 5.6], [7.1, 9.5]]) * S).astype(np.int64)
    pauses = [Event("evaluation", int(7.1 * S), int(9.5 * S))]
    assert ettr_of_steps(ends(1, 2, 3, 6, 7, 10, 11, 12), 0, 12 * S, silences=quiet).lost_ns("hang") == 4 * S
    own = ettr_of_steps(ends(1, 2, 3, 6, 7, 10, 11, 12), 0, 12 * S, pauses, silences=quiet)
    assert own.lost_ns("hang") == 0  # as long as an evaluation elsewhere
    assert own.paused_ns == int(2.4 * S)


def test_a_job_that_stopped_for_good():
    own = ettr_of_steps(ends(1, 2, 3, 4), 0, 4 * S, stops=[(4 * S, 4 * S, "crash")], until_ns=8 * S)
    assert own.ratio == pytest.approx(0.5)
    assert own.lost_ns("crash") == 4 * S


def test_too_few_steps():
    assert np.isnan(ettr_of_steps(ends(1), 0, S).ratio)
    assert np.isnan(ettr_of_steps(ends(), 0, 0).ratio)


def test_an_evaluation_in_a_step_that_hangs_is_not_lost():
    quiet = (np.array([[3.1, 5.1], [6.1, 9.1], [10.1, 12.1]]) * S).astype(np.int64)
    pauses = [Event("evaluation", int(10.1 * S), int(12.1 * S))]
    own = ettr_of_steps(ends(1, 2, 3, 9.1, 10.1, 13.1), 0, int(13.1 * S), pauses, silences=quiet)
    [hang] = own.lost
    assert (hang.start_ns, hang.end_ns) == (int(6 * S), int(9.1 * S))  # it ends as traffic goes on
