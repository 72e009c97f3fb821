import math

import numpy as np

from benchmarks.counters import fabric, main, score
from prism.counters.port_jobs import PortJob
from prism.counters.server_checks import Agreement


def test_a_small_fabric(capsys):
    assert main(["--ports", "64", "--seconds", "600", "--seeds", "1"]) == 0
    assert "'whole'" in capsys.readouterr().out


def test_a_perfect_answer():
    _, truth = fabric(np.random.default_rng(0), 64, 300)
    unknown = Agreement(0, math.nan, ())
    both = zip(truth.jobs, truth.periods, strict=True)
    found = [PortJob(tuple(ports), (), period, 1.0, 1.0, 1.0, (), (), unknown) for ports, period in both]
    told = score(found, truth)
    assert told["whole"] == told["jobs"] == told["right"] == told["claims"]
