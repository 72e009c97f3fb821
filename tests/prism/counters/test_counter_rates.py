import numpy as np
import pytest

from prism.counters.counter_rates import rates
from prism.counters.counter_samples import Samples

S = 10**9


def samples(*counters):
    n = len(counters[0])
    port = np.repeat(np.arange(len(counters)), n).astype(np.int32)
    time = np.tile(np.arange(n) * S, len(counters))
    values = np.concatenate(counters).astype(np.int64)
    return Samples(tuple(("s", str(i)) for i in range(len(counters))), port, time, values, np.full(len(values), -1))


def test_octets_per_bin():
    own = rates(samples(np.arange(20) * 100))
    assert own.seconds == 1
    assert own.octets.tolist() == [[100.0] * 19]
    assert own.ingress.tolist() == [1.0]


def test_wraps_and_restarts():
    wrapped = (np.arange(20) * 2**28) % 2**32
    restarted = np.concatenate([np.arange(10) * 100 + 2**40, np.arange(10) * 100])
    own = rates(samples(wrapped, restarted))
    assert own.wraps == 1
    assert own.restarts == 1
    assert own.octets[0].tolist() == [2.0**28] * 19
    assert own.octets[1].sum() == pytest.approx(1800)


def test_too_few_samples():
    assert rates(samples(np.arange(5))).ports == ()
    assert rates(Samples((), *(np.zeros(0, np.int64) for _ in range(4)))).ports == ()
