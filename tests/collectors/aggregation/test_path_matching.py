import numpy as np

from collectors.aggregation.path_matching import Sightings
from tests.collectors.builders.packets import ADDRESSES, packets, tcp

SECOND = 10**9


def test_memory_holds_a_window_not_the_capture():
    sightings = Sightings(("a", "b"), None, horizon_ns=SECOND, bin_ns=50_000_000, least=100)
    seen, most = 0, 0
    for i in range(200):
        rows = [tcp(i * SECOND // 10 + k * 1_000_000, 100, i * 50 + k) for k in range(50)]
        for name in ("a", "b"):
            sightings.add(name, packets(rows))
        if sightings.due() and (taken := sightings.take(ADDRESSES)):
            assert np.all(np.diff(taken.packets.time_ns) >= 0)
            seen += len(taken.packets)
        most = max(most, sum(len(p) for _, p in sightings.parts))
    sightings.close("a")
    sightings.close("b")
    last = sightings.take(ADDRESSES, last=True)
    assert seen + len(last.packets) == 200 * 50
    assert most < 5000
    assert sightings.paths == [(), (0,), (0, 1)]


def test_the_switch_that_is_behind_is_read_next():
    sightings = Sightings(("a", "b"), None, horizon_ns=SECOND, bin_ns=1, least=1)
    sightings.add("a", packets([tcp(100, 1)]))
    assert sightings.behind() == "b"
    sightings.add("b", packets([tcp(200, 1)]))
    assert sightings.behind() == "a"
    sightings.close("a")
    sightings.close("b")
    assert sightings.behind() is None


def test_one_switch_alone_keeps_equal_packets_apart():
    sightings = Sightings(("a",), None, horizon_ns=SECOND, bin_ns=1)
    sightings.add("a", packets([tcp(5, 1)] * 3))
    assert len(sightings.take(ADDRESSES, last=True).packets) == 3
    assert len(sightings.transits()) == 0


def test_transits_go_by_link_and_time_bin():
    sightings = Sightings(("a", "b"), None, horizon_ns=SECOND, bin_ns=50_000_000)
    rows = [tcp(t, 10, i) for i, t in enumerate((0, 10_000_000, 60_000_000))]
    sightings.add("a", packets(rows))
    sightings.add("b", packets([row | {"time_ns": row["time_ns"] + d} for row, d in zip(rows, (100, 300, 7), strict=True)]))
    sightings.take(ADDRESSES, last=True)
    transits = sightings.transits()
    assert transits.start_ns.tolist() == [0, 50_000_000]
    assert transits.packets.tolist() == [2, 1]
    assert transits.delay_ns.tolist() == [200, 7]
    assert transits.max_delay_ns.tolist() == [300, 7]
    assert transits.bin_ns == 50_000_000
