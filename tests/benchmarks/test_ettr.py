import pytest

from benchmarks.ettr import truth_of

S = 10**9


def test_the_truth_of_a_hang_and_a_restart():
    steps = [[i, (i + 1) * S, (i + 2) * S] for i in range(4)] + [[4, 5 * S, 9 * S], [5, 9 * S, 10 * S]]
    again = [[0, 12 * S, 13 * S], [1, 13 * S, 14 * S]]
    truth = {
        "jobs": {"A": {"start_ns": 0, "steps": {"0": steps}}, "A-restart": {"start_ns": 11 * S, "steps": {"0": again}}},
        "faults": [{"kind": "hang", "start_ns": 6 * S, "end_ns": 8 * S}],
    }
    assert truth_of(truth, "A", S // 2).ratio == pytest.approx(1 - (1 + 2 + 2) / 14)  # warm-up, hang, restart
    assert truth_of(truth, "A", S).ratio == pytest.approx(1 - (2 + 2) / 13)  # the launch is not on the wire
