import numpy as np
import pytest

from benchmarks import offsets
from benchmarks.offsets import Pairs, fitted, lines, quantiles, relations
from prism.layout.search.problem import problem_of
from tests.prism.layout.made import tensor_and_data, topology


def pairs(relation, offset, bound=False, number=4, origin="a"):
    return Pairs(origin, relation, np.full(number, offset), np.zeros(number), np.full(number, bound))


def test_each_job_counts_alike_however_many_pairs_it_has():
    middle, _ = quantiles([np.full(100, -1.0), np.full(2, -3.0), np.full(2, -3.0)], [1.0, 1.0, 1.0])
    assert middle == -3


def test_median_and_sigma_are_those_of_a_normal_distribution():
    middle, sigma = quantiles([np.random.default_rng(1).normal(-2, 0.5, 20_000)], [1.0])
    assert middle == pytest.approx(-2, abs=0.02)
    assert sigma == pytest.approx(0.5, rel=0.03)


def test_jobs_whose_members_start_together_count_as_bound_and_not_as_offsets():
    table, (every, none) = fitted([pairs(2, -3.0), pairs(2, -3.2), pairs(2, -5.0, bound=True)])
    assert table[2].offsets[0] in (-3.0, -3.2)
    assert 0.3 < table[2].bound < 0.5
    assert (every, none) == (1, 0)


def test_true_groups_tell_the_relation_of_two_members():
    wire = tensor_and_data(hosts=4, per_host=2)
    problem = problem_of(wire.flows(), wire.endpoints, topology(wire.endpoints, 2))
    ranks = [{"rank": i, "ip": address} for i, address in enumerate(problem.members)]
    twins = [[0, 1], [2, 3], [4, 5], [6, 7]]
    rails, seen = [[0, 2, 4, 6], [1, 3, 5, 7]], problem.lockstep
    assert set(relations(problem, {"ranks": ranks, "groups": {"tp": twins, "dp": rails}}, seen)) == {1}
    assert set(relations(problem, {"ranks": ranks, "groups": {"dp": [list(range(8))]}}, seen)) == {5}
    assert set(relations(problem, {"ranks": ranks, "groups": {"pp": twins, "dp": rails}}, seen)) == {3}
    assert set(relations(problem, {"ranks": ranks[:1], "groups": {"tp": twins}}, seen)) == {0}


def test_the_tables_are_printed_as_they_are_written():
    text = list(lines([pairs(1, -4.0), pairs(2, -3.0)]))
    assert len(text) == 1 + 2 + 1 + 4 + 2
    assert text[-2].startswith("BOUND = {1: ")


def test_nothing_to_read_is_said(tmp_path, capsys):
    assert offsets.main([str(tmp_path)]) == 2
    assert "no capture" in capsys.readouterr().err
