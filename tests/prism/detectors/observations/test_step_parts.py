from dataclasses import replace

import numpy as np
import pytest

from prism.detectors.observations.constants import MOST_PARTS
from prism.detectors.observations.step_parts import lasted, worked
from tests.prism.traffic import Wire, placed, seen, training

SLOW, STEP = 2, 9


def view(*, ms=100.0, dp=2, pp=4, factor=1.5):
    work = lambda step, rank: ms * (factor if (rank, step) == (SLOW, STEP) else 1.0)  # noqa: E731
    wire = training(dp=dp, pp=pp, micro=16, steps=12, wire=Wire(tcp=True), work=work)
    return replace(seen(wire.flows(), placed(dp * pp)), least=2)


def grown(parts):
    return parts[STEP] - np.nanmedian(parts, axis=0)


def test_who_is_slow_worked_longer_in_each_part_and_others_did_not():
    long = view()
    parts = worked(long, SLOW)
    assert parts.shape[0] == len(long.ends)
    assert 2 <= parts.shape[1] <= MOST_PARTS
    assert np.nanpercentile(grown(parts), [10, 50]) == pytest.approx(np.log(1.5), abs=0.1)
    other = grown(worked(long, SLOW + 1))
    assert np.nanmedian(other) == pytest.approx(0.0, abs=0.1)


def test_parts_take_the_time_of_a_step_in_all():
    long = view()
    for rank in (0, SLOW):
        parts = lasted(long, rank)
        assert np.isnan(parts[0]).all()
        steps = long.timeline.steps[rank]
        assert np.nansum(np.exp(parts[1:]), axis=1) == pytest.approx(np.diff(steps[:, 1]))


def test_short_steps_have_no_parts():
    short = view(ms=10.0)
    assert worked(short, SLOW) is None
    assert lasted(short, SLOW) is None
