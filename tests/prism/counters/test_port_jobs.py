import numpy as np
import pytest

from prism.counters.counter_rates import Rates
from prism.counters.port_jobs import changes, paces_of, period_of, port_jobs


def beat(rng, period, bins, jitter=0.02):
    out = np.zeros(bins, np.float32)
    at = 0.0
    while at < bins:
        out[int(at) : int(at + 0.3 * period) + 1] = 1e6
        at += period * np.exp(rng.normal(0, jitter))
    return out


def rates(rows):
    return Rates(tuple(("s", str(i)) for i in range(len(rows))), 0, 10**9, np.array(rows, np.float32), np.zeros(len(rows)))


def test_periods():
    rng = np.random.default_rng(0)
    assert period_of(beat(rng, 12.3, 3000)) == pytest.approx(12.3, rel=0.02)
    assert np.isnan(period_of(rng.normal(0, 1, 3000).astype(np.float32)))
    assert np.isnan(period_of(np.zeros(3000, np.float32)))


def test_a_change_of_pace():
    rng = np.random.default_rng(0)
    _, paces = paces_of(np.concatenate([beat(rng, 10, 2000), beat(rng, 13, 2000)]))
    [change] = changes(paces, 100, 0)
    assert change.ratio == pytest.approx(10 / 13, rel=0.02)
    assert changes(np.ones(3), 1, 0) == []


def test_the_odd_port_out():
    rng = np.random.default_rng(0)
    common = beat(rng, 10, 3000)
    rows = [common * (0.8 if i == 3 else 1.0) + rng.exponential(1e4, 3000) for i in range(8)]
    [job] = port_jobs(rates(rows))
    assert len(job.ports) == 8
    assert job.period_s == pytest.approx(10, rel=0.02)
    assert [(one.port, one.what) for one in job.odd] == [(("s", "3"), "volume")]
    assert job.odd[0].ratio == pytest.approx(0.8, abs=0.03)
    assert job.agreement == 1
    assert job.confidence > 0.9


def test_no_traffic_no_job():
    assert port_jobs(rates(np.zeros((4, 500)))) == ()
    noise = np.random.default_rng(0).exponential(1, (6, 2000))
    assert port_jobs(rates(noise)) == ()
