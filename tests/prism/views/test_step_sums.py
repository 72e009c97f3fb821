from dataclasses import replace

import numpy as np
import pytest

from benchmarks.boards import board
from prism.views.step_sums import sums


def test_sums_are_those_of_the_model_and_kept():
    found = board(16, 9, stages=2).jobs[0].found
    known = sums(found)
    assert sums(found) is known
    assert known.spent == pytest.approx(found.timeline.phases.by_rank(16))
    assert known.distance_ms == pytest.approx(found.timeline.durations_ms())
    assert known.median_ms == pytest.approx([np.median(own[:, 1] - own[:, 0]) / 1e6 for own in found.timeline.steps])


def test_the_job_s_steps_are_the_medians_of_the_ranks_that_have_most():
    found = board(5, 6, stages=1).jobs[0].found
    steps = [own + np.int64(1_000_000 * rank) for rank, own in enumerate(found.timeline.steps)]
    steps[4] = steps[4][:2]
    steps[3] = steps[3][:0]
    known = sums(replace(found, timeline=replace(found.timeline, steps=tuple(steps))))
    assert known.start_ns.tolist() == (steps[1][:, 0]).tolist()
    assert known.duration_ms == pytest.approx((steps[1][:, 1] - steps[1][:, 0]) / 1e6)
    assert np.isnan(known.median_ms[3])
    assert np.isfinite(known.median_ms[4])
