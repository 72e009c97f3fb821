from dataclasses import replace

import numpy as np

from prism.metrics.aggregate_metrics import aggregate
from prism.metrics.regressions import Figure, compare, drift, figures, fingerprint, same_job
from tests.prism.metrics.test_aggregate_metrics import job


def test_a_difference_must_exceed_chance_and_the_floor():
    before = [Figure("step", 1.0, 0.001, True), Figure("bus bandwidth dp 8", 100.0, 0.001, False)]
    assert compare([Figure("step", 1.015, 0.001, True)], [before]) == ()
    assert compare([Figure("step", 1.05, 0.02, True)], [before]) == ()
    [one] = compare([Figure("step", 1.03, 0.001, True)], [before])
    assert one.worse
    parts = [Figure("bus bandwidth dp 8", 110.0, 0.001, False)]
    assert compare(parts, [before]) == ()  # a part alone is none
    told = compare([*parts, Figure("step", 1.03, 0.001, True)], [before])
    assert [(one.name, one.worse) for one in told] == [("step", True), ("bus bandwidth dp 8", False)]
    assert compare([Figure("new", 1.0, 0.0, True)], [before]) == ()


def test_runs_that_differ_ask_for_more():
    runs = [[Figure("step", value, 0.001, True)] for value in (1.0, 1.02, 0.98, 1.03)]
    assert compare([Figure("step", 1.06, 0.001, True)], runs) == ()
    assert compare([Figure("step", 1.2, 0.001, True)], runs)


def test_drift_within_a_run():
    rng = np.random.default_rng(0)
    steady = rng.normal(1, 0.01, 60)
    assert drift(steady) is None
    assert drift(steady[:9]) is None
    told = drift(np.concatenate([steady, steady * 1.05]))
    assert told is not None
    assert told.worse


def test_fingerprints():
    own = aggregate(job())
    assert own is not None
    one = fingerprint(own)
    assert same_job(one, one)
    assert not same_job(one, fingerprint(replace(own, ranks=3)))
    assert same_job(one, fingerprint(replace(own, volumes={"dp": 1_010_000})))
    assert not same_job(one, fingerprint(replace(own, volumes={"dp": 1_100_000})))
    assert {one.name for one in figures(own)} == {"step", "work of stage 0", "bus bandwidth dp 2"}
