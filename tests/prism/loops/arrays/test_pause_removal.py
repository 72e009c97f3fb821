import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.columns.record import Flows
from prism.loops.arrays.pause_removal import without_pauses

MS = 1_000_000


def _flows(starts: list[int], length: int = 10 * MS) -> Flows:
    start = np.array(starts, np.int64)
    columns = {"start_ns": start, "end_ns": start + length, "src": start * 0, "dst": start * 0 + 1, "octets": start * 0 + 10**6}
    return Flows.build(columns, endpoints=("a", "b"), exporters=("leaf",), paths=((),))


def test_what_comes_once_is_cut_to_what_is_usual():
    starts = [100 * MS * i + (5000 * MS if i >= 7 else 0) for i in range(12)]
    flows = _flows(starts)
    clock = without_pauses(flows, np.arange(12), times=2.5)
    told = clock.on(flows)
    assert np.diff(told.start_ns).tolist() == [100 * MS] * 6 + [10 * MS + 225 * MS] + [100 * MS] * 4
    assert clock.back(told.start_ns).tolist() == flows.start_ns.tolist()
    assert clock.back(told.end_ns).tolist() == flows.end_ns.tolist()


def test_what_comes_again_and_again_stays():
    starts = np.cumsum([0, *([100 * MS, 100 * MS, 900 * MS] * 5)]).tolist()
    flows = _flows(starts)
    assert without_pauses(flows, np.arange(len(starts))).on(flows) is flows


@given(st.lists(st.integers(0, 10**12), max_size=40))
def test_order_stays_and_the_clock_runs_both_ways(starts: list[int]):
    flows = _flows(sorted(starts))
    clock = without_pauses(flows, np.arange(len(starts)))
    told = clock.on(flows)
    assert (np.diff(told.start_ns) >= 0).all()
    assert (np.diff(told.start_ns) <= np.diff(flows.start_ns) + 1).all()
    assert np.abs(clock.back(told.start_ns) - flows.start_ns).max(initial=0) <= 1
