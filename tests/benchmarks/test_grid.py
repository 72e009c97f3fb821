import numpy as np
import pytest

from benchmarks import grid


def test_the_same_number_and_seed_give_the_same_case():
    one, other = (list(grid.cases(3, 14, scales=("small",))) for _ in range(2))
    assert one == other
    assert [case.layout for case in one] == list(grid.LAYOUTS)
    assert one != list(grid.cases(4, 14, scales=("small",)))


def test_a_grid_has_every_kind_of_fault_and_degradation():
    drawn = list(grid.cases(1, 200, degraded=0.5))
    assert {case.fault for case in drawn} == set(grid.FAULTS)
    assert {case.degradation for case in drawn} == {"none", *grid.DEGRADATIONS}
    assert {case.nuisance for case in drawn} == set(grid.NUISANCES)


@pytest.mark.parametrize("number", [0, 5])
def test_a_case_is_simulated_with_its_truth(number):
    case = list(grid.cases(3, number + 1, scales=("small",)))[number]
    drawn = grid.drawn(case)
    assert len(drawn.flows)
    assert set(drawn.truth["jobs"]) >= {"A"}
    assert all("hidden" in f or f["kind"] in ("hang", "crash") for f in drawn.truth["faults"])
    assert np.all(np.diff(drawn.flows.start_ns) >= 0)
