import numpy as np
import pytest

from benchmarks import calibration
from benchmarks.calibration import FITTED, NAMES, PRESENT, Table, fitted, row
from benchmarks.true_jobs import Case
from tests.prism.layout.made import tensor_and_data, topology


def job(origin, true, name):
    """Two layouts; the second has one unit of a feature more."""
    features = np.zeros((2, len(NAMES)))
    features[1, NAMES.index(name)] = 1.0
    return Table(origin, features, np.array([0, 1]), np.arange(2) == true)


def test_a_weight_grows_where_its_feature_speaks_against_what_is_wrong_and_shrinks_where_it_does_not():
    jobs = [job("a", 0, "strided"), job("b", 0, "strided"), job("a", 1, "no_tensor"), job("b", 1, "no_tensor")]
    weights = dict(zip(NAMES, fitted(jobs, 0.1), strict=True))
    assert weights["strided"] < -1
    assert -1 < weights["no_tensor"] < 0
    assert weights["relayed"] == -1, "no job tells more"


def test_the_fit_does_not_depend_on_the_present_weights(monkeypatch):
    jobs = [job("a", 0, "strided"), job("b", 1, "in_levels"), job("a", 0, "uneven")]
    before = fitted(jobs, 0.5)
    monkeypatch.setattr(calibration, "PRESENT", np.where(FITTED, 3 * PRESENT, PRESENT))
    assert fitted(jobs, 0.5) == pytest.approx(before)
    assert before[~FITTED] == pytest.approx(PRESENT[~FITTED])


def test_a_row_counts_what_is_right_and_what_is_reported_with_confidence():
    right, wrong = job("a", 0, "product"), job("a", 1, "product")
    jobs, exact, said, sure, sure_right, log_p = row([right, wrong], PRESENT)
    assert (jobs, exact, said, sure, sure_right) == (2, 0.5, 1.0, 2, 1)
    assert log_p < -2.5


def test_a_job_becomes_a_table_of_its_hypotheses():
    wire = tensor_and_data(hosts=3, per_host=2)
    case = Case("A", wire.flows(), wire.endpoints, topology(wire.endpoints, 2), {"dp": 3, "tp": 2}, origin="made")
    found = calibration.table(case)
    assert found.features.shape == (len(found.layout), len(NAMES))
    assert 0 < found.right.sum() < len(found.right)
    text = list(calibration.lines([found], 1.0))
    assert text[0].split()[:2] == ["origin", "weights"]
    assert len(text) == 3 + 1 + len(NAMES)


def test_nothing_to_read_is_reported(tmp_path, capsys):
    assert calibration.main([str(tmp_path)]) == 2
    assert "no capture" in capsys.readouterr().err
