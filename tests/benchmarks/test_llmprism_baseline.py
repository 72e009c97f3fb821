import numpy as np
import pytest
from scipy.special import gammaln

from benchmarks.llmprism_baseline import change_points, diagnose, joined
from collectors.columns.record import Flows
from tests.prism.traffic import MS, T0, Wire, placed, source, training


def naive(x, hazard):
    """Adams & MacKay, run by run; the likeliest run length after each value."""
    mean0, var0 = np.mean(x), max(np.var(x), 1e-6)
    runs = [(1.0, 1.0, mean0, 1.0, var0)]  # chance, kappa, mean, alpha, beta
    likeliest = []
    for value in x:
        grown, changed = [], 0.0
        for chance, kappa, mean, alpha, beta in runs:
            scale = beta * (kappa + 1) / (alpha * kappa)
            z = (value - mean) ** 2 / (2 * alpha * scale)
            density = (
                np.exp(gammaln(alpha + 0.5) - gammaln(alpha)) / np.sqrt(2 * np.pi * alpha * scale) * (1 + z) ** (-alpha - 0.5)
            )
            changed += chance * density * hazard
            new = (kappa * mean + value) / (kappa + 1)
            beta = beta + kappa * (value - mean) ** 2 / (2 * (kappa + 1))
            grown.append((chance * density * (1 - hazard), kappa + 1, new, alpha + 0.5, beta))
        runs = [(changed, 1.0, mean0, 1.0, var0), *grown]
        total = sum(run[0] for run in runs)
        runs = [(run[0] / total, *run[1:]) for run in runs]
        likeliest.append(int(np.argmax([run[0] for run in runs])))
    return likeliest


@pytest.mark.parametrize("seed", range(4))
def test_change_points_are_those_of_the_naive_twin(seed):
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.normal(0, 1, 20), rng.normal(8, 1, 15), rng.normal(0, 1, 10)])
    runs = naive(x, 0.05)
    falls = [t for t in range(1, len(x)) if runs[t] < runs[t - 1] + 1]
    assert change_points(x[None, :], hazard=0.05)[:, 1].tolist() == falls


def test_records_close_together_are_one_flow():
    wire = Wire()
    for at in (0, 1, 2, 50, 51):
        wire.send(0, 1, 1000, T0 + at * MS)
    wire.send(1, 0, 700, T0)
    flows = joined(wire.flows(), 3 * MS)
    assert sorted(flows.octets.tolist()) == [700, 2000, 3000]


def test_a_job_is_found_with_its_hosts():
    flows = training(dp=4).flows()
    found = diagnose(flows, source(flows), topology=placed(4))
    assert [len(one.job.endpoints) for one in found.jobs] == [4]
    assert found.jobs[0].job.hosts


def test_no_flows_are_no_jobs():
    flows = Flows.build({"start_ns": []}, endpoints=())
    assert diagnose(flows, source(flows)).jobs == ()
