import threading

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.columns.record import Transits
from collectors.exports.evidence import Counters, Delays, Drops, Evidence, Notices
from collectors.exports.evidence_store import EvidenceBuffer, EvidenceConverter, drop_losses, merge_transits, switch_delays

BIN = 50


def delays(rows, exporters=("s1", "s2")):
    time, exporter, delay = (np.array([row[i] for row in rows], np.int64) for i in range(3))
    return Delays.build({"time_ns": time, "exporter": exporter, "delay_ns": delay}, exporters=exporters)


def drops(n, reason=1):
    return Drops.build({"time_ns": np.arange(n), "reason": np.full(n, reason)}, exporters=("s1",))


def test_each_kind_is_given_out_once_in_order():
    testimony = EvidenceBuffer()
    testimony.add([drops(2), delays([(1, 0, 5)])])
    testimony.add([drops(3, reason=2)])
    found = testimony.drain()
    assert [part.reason.tolist() for part in found.drops] == [[1, 1], [2, 2, 2]]
    assert [part.delay_ns.tolist() for part in found.delays] == [[5]]
    assert len(testimony.drain()) == 0
    assert (testimony.told, testimony.gone) == ({"drops": 5, "delays": 1}, 0)


def test_the_newest_are_kept_and_the_others_counted():
    testimony = EvidenceBuffer(most=10)
    for i in range(5):
        testimony.add([drops(4, reason=i)])
    assert [int(part.reason[0]) for part in testimony.drain().drops] == [3, 4]
    assert (testimony.told["drops"], testimony.gone) == (20, 12)
    testimony.add([drops(11)])
    assert (len(testimony.drain()), testimony.gone) == (0, 23)


def test_nothing_is_lost_between_threads():
    testimony, got, done = EvidenceBuffer(), [], threading.Event()

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
    found = switch_delays([delays(rows[:cut]), delays(rows[cut:], ("s1", "s2"))], exporters, bin_ns=BIN)
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
    first = switch_delays([delays([(0, 1, 5)])], exporters)
    second = switch_delays([delays([(0, 0, 7), (0, 1, 5)], ("s7", "s2"))], exporters)
    assert first.exporters == ("s1", "s2")
    assert second.exporters == ("s1", "s2", "s7")
    assert second.sender.tolist() == [1, 2]


def seen(*rows):
    """Drops of (time, exporter, src, reason)."""
    time, exporter, src, reason = zip(*rows, strict=True)
    columns = {"time_ns": time, "exporter": exporter, "src": src, "reason": reason, "dst": [0] * len(rows)}
    return Drops.build(columns, exporters=("s1", "s2"), endpoints=("a", "b"))


def test_drops_by_who_where_why_and_bin():
    found = drop_losses(
        seen((10, 0, 1, 259), (120, 0, 1, 259), (11, 0, 1, 259), (12, 1, 1, 259), (13, 0, 0, 259), (14, 0, -1, 260))
    )
    assert len(found) == 4  # one bin
    found = drop_losses(seen((10, 0, 1, 259), (120, 0, 1, 259), (11, 0, 1, 259)), bin_ns=BIN)
    rows = zip(found.start_ns.tolist(), found.end_ns.tolist(), found.packets.tolist(), strict=True)
    assert list(rows) == [(0, 50, 2), (100, 150, 1)]
    assert [(found.endpoints[a], found.endpoints[b]) for a, b in zip(found.src, found.dst, strict=True)] == [("b", "a")] * 2


def test_a_witness_tells_of_delays_drops_and_what_counters_grew_by():
    witness = EvidenceConverter()
    interface = {"exporter": [0], "interface": [4]}
    for errors in (3, 8):
        counted = Counters.build({"time_ns": [errors], **interface, "in_errors": [errors]}, exporters=("s1",))
        found = witness.transits(Evidence([counted], [delays([(1, 1, 5)])], [seen((10, 0, 1, 259))]))
        assert (found.exporters, found.delay_ns.tolist()) == (("s1", "s2"), [5])
    assert list(zip(found.losses.reason.tolist(), found.losses.packets.tolist(), strict=True)) == [(259, 1), (-1, 5)]
    assert len(witness.transits(Evidence())) == len(witness.transits(Evidence()).losses) == 0


def test_what_several_told_is_together():
    one, other = (
        EvidenceConverter().transits(Evidence([], [delays([(1, 1, 5)])], [seen((10, 0, 1, 259))])),
        switch_delays([delays([(60, 0, 7)])], []),
    )
    both = merge_transits([one, Transits.empty(), other])
    assert [both.exporters[code] for code in both.sender] == ["s2", "s1"]
    assert (both.delay_ns.tolist(), both.bin_ns, len(both.losses)) == ([5, 7], one.bin_ns, 1)
    assert both.sender.dtype == both.receiver.dtype == np.int32
    assert len(merge_transits([])) == 0


def test_how_deep_queues_were_also_where_no_delay_is_reported():
    told = {"time_ns": [0, 1, 60, 61], "exporter": [0] * 4, "delay_ns": [7, -1, -1, -1], "depth": [-1, 30, 9, 40]}
    found = switch_delays([Delays.build(told, exporters=("s1",))], [], bin_ns=BIN)
    assert (found.packets.tolist(), found.delay_ns.tolist(), found.depth.tolist()) == ([1, 0], [7, 0], [30, 40])
    assert merge_transits([found, switch_delays([delays([(60, 0, 7)])], [], bin_ns=BIN)]).depth.tolist() == [30, 40, -1]
