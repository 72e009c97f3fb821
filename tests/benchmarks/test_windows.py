import numpy as np

from benchmarks.windows import clipped, windows
from collectors.columns.record import Flows


def test_records_that_cross_an_edge_keep_their_share():
    columns = {
        "start_ns": [0, 50, 300],
        "end_ns": [100, 150, 400],
        "src": [0, 0, 0],
        "dst": [1, 1, 1],
        "octets": [1000, 1000, 1000],
    }
    own = clipped(Flows.build(columns, endpoints=("10.0.0.1", "10.0.0.2")), 60, 200)
    assert own.start_ns.tolist() == [60, 60]
    assert own.end_ns.tolist() == [100, 150]
    assert np.array_equal(own.octets, [400, 900])


def test_windows_lie_inside_the_steps_and_are_the_same_for_a_seed():
    truth = {"jobs": {"a": {"steps": {"0": [[k, 100 * k, 100 * k + 90] for k in range(30)]}}}}
    found = list(windows(truth, "x", 1, 4))
    assert found == list(windows(truth, "x", 1, 4))
    assert len(found) == 4
    assert all(0 <= lo < hi <= 3000 for lo, hi in found)
