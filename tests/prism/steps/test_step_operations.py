import numpy as np
import pytest

from prism.steps._step_operations import after_layers, after_one, after_reduction, has_all_operations
from prism.steps.record_sequences import sequences_of
from prism.steps.step_bounds import steps_of
from tests.prism.evidence.made import MS, Wire

GATHERS = [*range(16), *range(20, 24), *range(28, 32), *range(36, 40), *range(44, 48)]  # of 4 layers, forward and backward
REDUCES = [*range(24, 28), *range(32, 36), *range(40, 44), *range(48, 52)]
GATHERED, REDUCED, PERIOD = 1_000_000, 600_000, 100


def moved(at):
    """Equal traffic in some of 64 phases."""
    out = np.zeros(64)
    out[at] = 1.0
    return out


def phases(found):
    return np.flatnonzero(found).tolist()


def test_a_step_ends_after_the_reduction_and_before_other_traffic():
    assert phases(after_reduction(moved([40, 41]), moved([3, 4, 20, 21]))) == [*range(3), *range(41, 64)]
    assert not after_reduction(moved([10, 40]), moved([3, 4, 20, 21])).any()  # other traffic is between its parts
    assert not after_reduction(moved([40]), moved([])).any()


def test_an_operation_that_comes_once_ends_a_step_if_a_long_rest_follows_it_only():
    spent = np.full(64, 0.01)
    spent[50] = 0.3
    assert phases(after_one([moved([40, 41]), moved([3, 4, 20, 21])], spent)) == [50]
    spent[41] = 0.3
    assert phases(after_one([moved([40, 42]), moved([3, 4, 20, 21])], spent)) == []


def test_layers_that_reduce_one_by_one_end_a_step_before_the_forward_pass_gathers():
    assert phases(after_layers([moved(GATHERS), moved(REDUCES)])) == [*range(51, 64)]
    assert not after_layers([moved(GATHERS + REDUCES)]).any()
    assert not after_layers([]).any()


def test_two_directions_of_a_pipeline_that_end_apart_show_no_end():
    forward, backward = [0, 4, 8, 12, 16, 20, 24], [10, 14, 18, 22, 26, 30, 34]
    assert phases(after_layers([moved(range(0, 36, 4)), moved(backward)])) == [*range(34, 64)]
    assert not after_layers([moved(forward), moved(backward)]).any()


def test_equal_layers_all_the_time_show_no_end():
    assert not after_layers([moved(range(0, 64, 8)), moved(range(4, 64, 8))]).any()


def sharded(steps, evaluated, vary=0.0, before=0, reduced=REDUCED):
    """Four ranks that gather in each step, in a ring that turns one way, and reduce the other way in all but those that are
    `evaluated`, and twice as much in those `before` a step. Also the bounds of the segments, ns.
    """
    wire, chance = Wire([f"a{i}" for i in range(4)]), np.random.default_rng(1)
    for step in range(steps):
        wire.ring([0, 1, 2, 3], step * PERIOD, GATHERED, long=2.0)
        if step not in evaluated:
            octets = reduced * np.exp(vary * chance.standard_normal()) * (1 + (step < before))
            wire.ring([3, 2, 1, 0], step * PERIOD + 50, int(octets), long=2.0)
    flows = wire.flows()
    found = sequences_of(flows, np.arange(len(flows)))
    return found, (np.arange(steps + 1) * PERIOD - 1) * MS - (found.origin - int(flows.start_ns.min()))


@pytest.mark.parametrize("reduced", [REDUCED, GATHERED])
@pytest.mark.parametrize("evaluated", [(), (4, 5), (3, 7, 8)])
def test_segments_without_a_reduction_are_no_steps(evaluated, reduced):
    """Messages of both are one class if they have one size."""
    assert np.flatnonzero(~has_all_operations(*sharded(12, evaluated, reduced=reduced))).tolist() == list(evaluated)


def test_what_half_of_the_segments_lack_is_no_part_of_a_step():
    assert has_all_operations(*sharded(12, range(0, 12, 2))).all()


def test_segments_that_hold_another_class_instead_are_steps():
    """A restarted job opens connections of other volumes, which are other classes."""
    assert not has_all_operations(*sharded(16, range(5)))[:5].any()
    assert has_all_operations(*sharded(16, (), before=5)).all()


def test_what_varies_tells_nothing():
    assert has_all_operations(*sharded(12, (4, 5), vary=1.5)).all()


@pytest.mark.parametrize("evaluated", [(), (8, 9), (8, 9, 10, 11)])
def test_evaluations_that_gather_and_do_not_reduce_are_not_counted(evaluated):
    found, _ = sharded(24, evaluated)
    assert steps_of(found).complete.sum() == 24 - len(evaluated)
