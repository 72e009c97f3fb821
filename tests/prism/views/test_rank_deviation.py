import numpy as np
import pytest

from benchmarks.boards import board
from prism.views.rank_deviation import deviations

SHOWN = board(64, 40, stages=4)
FOUND, CASE = SHOWN.jobs[0].found, SHOWN.cases[0]


def test_the_culprit_comes_first():
    rows = deviations(FOUND, CASE.finding.start_ns, CASE.finding.end_ns, topology=SHOWN.topology, limit=5)
    assert [len(rows), rows[0]["endpoint"]] == [5, CASE.finding.ids[0]]
    assert rows[0]["now_ms"] == pytest.approx(1.4 * rows[0]["usual_ms"], rel=0.05)
    assert rows[0]["peers_ms"] == pytest.approx(rows[0]["usual_ms"], rel=0.05)
    assert rows[0]["deviation_ms"] > 5 * rows[1]["deviation_ms"]
    assert (rows[0]["stage"], len(rows[0]["values_ms"])) == (1, 40)


def test_without_a_time_before_peers_count():
    rows = deviations(FOUND, FOUND.job.start_ns, CASE.finding.end_ns, limit=1)
    assert rows[0]["usual_ms"] is None
    assert rows[0]["endpoint"] == CASE.finding.ids[0]


def test_ten_thousand_ranks_and_no_steps():
    large = board(10_000, 8)
    found, case = large.jobs[0].found, large.cases[0]
    assert deviations(found, case.finding.start_ns, case.finding.end_ns)[0]["endpoint"] == case.finding.ids[0]
    assert np.isfinite([row["now_ms"] for row in deviations(FOUND, CASE.finding.start_ns, CASE.finding.end_ns)]).all()
    assert all(row["now_ms"] is None for row in deviations(FOUND, 1, 2, limit=2))
