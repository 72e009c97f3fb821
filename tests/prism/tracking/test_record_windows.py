from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.columns.losses import COLUMNS as LOST
from collectors.columns.losses import Losses
from collectors.columns.record import Flows, Transits
from prism.tracking import record_windows
from prism.tracking.record_windows import (
    FORGOTTEN,
    FUTURE,
    SECOND,
    Delays,
    RecordWindow,
    hop_ns,
    rest_ns,
    select_transits,
    steps_back,
    trimmed,
)


def flows(starts, *, lasted=10, exporters=("a",)):
    starts = np.array(starts, np.int64)
    n = len(starts)
    return Flows.build(
        {"start_ns": starts, "end_ns": starts + lasted, "src": np.zeros(n), "dst": np.ones(n), "octets": np.arange(n)},
        endpoints=("10.0.0.1", "10.0.0.2"),
        exporters=exporters,
    )


@given(st.lists(st.integers(0, 1000), max_size=40), st.integers(1, 7), st.integers(0, 1000), st.integers(0, 1000))
def test_a_shelf_gives_what_was_put_in_by_time_however_it_came(starts, pieces, low, high):
    recent, whole = RecordWindow(), flows(starts)
    for rows in np.array_split(np.arange(len(whole)), pieces):
        recent.add(whole.take(rows), 2000)
    found = recent.between(low, high)
    assert sorted(s for s in starts if low <= s < high) == found.start_ns.tolist()
    assert len(recent) == len(starts)


def test_what_is_forgotten_is_gone_and_later_too_late():
    recent = RecordWindow()
    recent.add(flows(range(100)), 2000)
    recent.forget(50)
    assert recent.between(0, 1000).start_ns.tolist() == list(range(50, 100))
    assert len(recent.add(flows([3, 60]), 2000)) == 1
    assert recent.skipped[FORGOTTEN] == 1


def test_memory_is_bounded_by_rows():
    recent = RecordWindow(most_rows=10)
    recent.add(flows(range(100)), 2000)
    recent.forget(0)
    assert recent.between(0, 1000).start_ns.tolist() == list(range(90, 100))


def test_records_from_the_future_are_left_out_by_exporter():
    recent = RecordWindow(ahead_s=1)
    ahead = replace(flows([10 * SECOND], exporters=("a", "b")), exporter=np.array([1], np.int32))
    assert len(recent.add(ahead, SECOND)) == 0
    assert recent.skipped[FUTURE] == 1
    assert list(recent.ahead) == ["b"]


def test_what_a_store_holds_now_takes_the_place_of_what_it_held():
    recent = RecordWindow()
    recent.add(flows([1, 5, 9]), 2000)
    assert recent.newest_ns == 19
    assert recent.replace(5) == 2
    recent.add(flows([5, 7, 9]), 2000)
    assert recent.between(0, 100).start_ns.tolist() == [1, 5, 7, 9]


def test_trimmed_records_are_the_same_records():
    whole = replace(flows([1, 2]), endpoints=("x", "y", "z"), src=np.array([2, 2], np.int32), dst=np.array([0, 0], np.int32))
    less = trimmed(whole)
    assert less.endpoints == ("x", "z")
    assert [less.endpoints[code] for code in less.src] == ["z", "z"]


def test_the_lag_is_what_nearly_all_records_need_and_one_late_batch_moves_nothing():
    delays = Delays()
    for _ in range(200):
        delays.add(np.full(100, 10 * SECOND), 11 * SECOND)
    delays.add(np.full(3, 1 * SECOND), 11 * SECOND)
    assert delays.lag_ns == SECOND
    assert Delays().lag_ns == 0


def test_the_lag_is_bounded():
    delays = Delays(most_s=5)
    delays.add(np.zeros(10, np.int64), 100 * SECOND)
    assert delays.lag_ns == 5 * SECOND


def test_windows_are_as_long_as_steps_say():
    assert steps_back(2e9) == 24
    assert steps_back(0.3e9) == 34
    assert steps_back(1e6) == 64
    assert hop_ns([]) == hop_ns([1e8]) == SECOND
    assert hop_ns([1.5e9, 9e9]) == int(1.5e9)
    assert hop_ns([9e9]) == 4 * SECOND
    assert hop_ns([9e9], urgent=True) == SECOND // 2
    assert hop_ns([1e9], urgent=True) == SECOND // 4
    assert rest_ns([1e9]) == SECOND
    assert rest_ns([9e9]) == 2 * SECOND


def test_delays_between_switches_are_kept_by_time():
    n = 5
    codes = np.zeros(n, np.int32)
    some = Transits(
        np.arange(n) * 10,
        codes,
        codes + 1,
        codes.astype(np.int64),
        codes.astype(np.int64),
        codes.astype(np.int64),
        ("a", "b"),
        10,
    )
    recent = RecordWindow()
    recent.add_transits(select_transits(some, np.arange(2)))
    recent.add_transits(select_transits(some, np.arange(2, 5)))
    assert recent.transits(10, 40).start_ns.tolist() == [10, 20, 30]


def lost(*ends):
    """Losses that ended then, 10 ns after they began."""
    columns = {name: [0] * len(ends) for name in LOST} | {"start_ns": [end - 10 for end in ends], "end_ns": ends}
    return replace(Transits.empty(), losses=Losses.build(columns, ("s",), ("a",)))


def test_losses_are_kept_by_time_and_bounded(monkeypatch):
    monkeypatch.setattr(record_windows, "LOSSES", 4)
    recent = RecordWindow()
    for ends in ((5, 20), (30,), (), (40, 50)):
        recent.add_transits(lost(*ends))
    assert recent.transits(0, 100).losses.end_ns.tolist() == [20, 30, 40, 50]
    assert recent.transits(20, 40).losses.end_ns.tolist() == [30, 40]  # what may have been then, and is known
