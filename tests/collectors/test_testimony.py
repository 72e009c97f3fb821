import threading

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.evidence import Delays, Drops, Notices
from collectors.testimony import Witnessed, waits

BIN = 50


def delays(rows, exporters=("s1", "s2")):
    time, exporter, delay = (np.array([row[i] for row in rows], np.int64) for i in range(3))
    return Delays.build({"time_ns": time, "exporter": exporter, "delay_ns": delay}, exporters=exporters)


def drops(n, reason=1):
    return Drops.build({"time_ns": np.arange(n), "reason": np.full(n, reason)}, exporters=("s1",))


def test_each_kind_is_given_out_once_in_order():
    testimony = Witnessed()
    testimony.add([drops(2), delays([(1, 0, 5)])])
    testimony.add([drops(3, reason=2)])
    found = testimony.drain()
    assert [part.reason.tolist() for part in found.drops] == [[1, 1], [2, 2, 2]]
    assert [part.delay_ns.tolist() for part in found.delays] == [[5]]
    assert len(testimony.drain()) == 0
    assert (testimony.told, testimony.gone) == ({"drops": 5, "delays": 1}, 0)


def test_the_newest_are_kept_and_the_others_counted():
    testimony = Witnessed(most=10)
    for i in range(5):
        testimony.add([drops(4, reason=i)])
    assert [int(part.reason[0]) for part in testimony.drain().drops] == [3, 4]
    assert (testimony.told["drops"], testimony.gone) == (20, 12)
    testimony.add([drops(11)])
    assert (len(testimony.drain()), testimony.gone) == (0, 23)


def test_nothing_is_lost_between_threads():
    testimony, got, done = Witnessed(), [], threading.Event()

    def ask():
        while not done.is_set():
            got.extend(testimony.drain())

    thread = threading.Thread(target=ask)
    thread.start()
    for _ in range(500):
        testimony.add([drops(1), Notices.build({"time_ns": [0]})])
    done.set()
    thread.join()
    got.extend(testimony.drain())
    assert sum(map(len, got)) == 1000


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 1), st.integers(-1, 90)), max_size=30), st.integers(0, 30))
def test_delays_by_switch_and_bin(rows, cut):
    exporters = ["s9"]
    found = waits([delays(rows[:cut]), delays(rows[cut:], ("s1", "s2"))], exporters, bin_ns=BIN)
    expected = {}
    for time, switch, delay in rows:
        if delay >= 0:
            expected.setdefault((time // BIN * BIN, f"s{switch + 1}"), []).append(delay)
    columns = (found.start_ns, found.sender, found.packets, found.max_delay_ns, found.delay_ns)
    got = {
        (start, exporters[code]): (n, most, mean)
        for start, code, n, most, mean in zip(*map(np.ndarray.tolist, columns), strict=True)
    }
    assert got.keys() == expected.keys()
    for key, (n, most, mean) in got.items():
        assert (n, most) == (len(expected[key]), max(expected[key]))
        assert abs(mean - sum(expected[key]) / n) <= 0.5
    assert found.sender.tolist() == found.receiver.tolist()
    assert found.exporters == tuple(exporters) == ("s9", "s1", "s2")
    assert np.all(np.diff(found.start_ns) >= 0)


def test_switches_keep_their_codes_from_one_time_to_the_next():
    exporters = []
    first = waits([delays([(0, 1, 5)])], exporters)
    second = waits([delays([(0, 0, 7), (0, 1, 5)], ("s7", "s2"))], exporters)
    assert first.exporters == ("s1", "s2")
    assert second.exporters == ("s1", "s2", "s7")
    assert second.sender.tolist() == [1, 2]
