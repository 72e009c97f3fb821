"""Micro-batches that gather and reduce as all others do; a scalar, and some time for the optimizer, after each few."""

import numpy as np
import pytest

from prism.steps.step_bounds import rank_steps, steps_of
from tests.prism.steps.made import MS, Wire, sequences


def micro_batches(steps=12, count=4, *, optimizer=6.0, scalar=True, jitter=0.3):
    """A sharded model on four ranks: `count` micro-batches of 100 ms each; also the times, ms, at which steps end."""
    wire, rng, at, ends = Wire([f"a{i}" for i in range(4)]), np.random.default_rng(7), 0.0, []
    for _ in range(steps):
        for _ in range(count):
            for gathered in (0, 9, 20, 33, 55):
                wire.ring([0, 1, 2, 3], at + gathered + jitter * float(rng.random()), 2_000_000, rounds=3, long=2.0)
            for reduced in (43, 65, 80):
                wire.ring([0, 1, 2, 3], at + reduced + jitter * float(rng.random()), 4_000_000, rounds=3, long=2.0)
            at += 100
        if scalar:
            wire.ring([0, 1, 2, 3], at - 12, 64, rounds=1, long=0.01)
        ends.append(at - 12)
        at += optimizer
    return wire, np.array(ends)


def ends_of(wire):
    found = sequences(wire)
    return [(own[:, 1] - wire.rows[0][0]) / MS for own in rank_steps(found, steps_of(found), 4)]


@pytest.mark.parametrize("count", [2, 4])
def test_micro_batches_with_one_scalar_and_one_optimizer_are_one_step(count):
    wire, ends = micro_batches(count=count)
    for own in ends_of(wire):
        assert len(own) >= len(ends) - 2
        assert np.all(np.abs(own[:, None] - ends).min(axis=1) < 1)


@pytest.mark.parametrize(
    "differs",
    [
        pytest.param({"optimizer": 0.0}, id="a value that is logged after every few steps"),
        pytest.param({"scalar": False}, id="no scalar"),
    ],
)
def test_steps_with_something_after_every_fourth_remain_steps(differs):
    wire, ends = micro_batches(**differs)
    assert all(len(own) >= 4 * len(ends) - 2 for own in ends_of(wire))
