import pytest

from collectors.columns.record import ACK, PSH, SYN
from tests.collectors.aggregation.test_flow_table import stream, table
from tests.collectors.builders.packets import tcp


def records(rows, **knobs):
    flows, _, tally = table({"a": rows}, **knobs)
    return flows, tally


def test_the_first_segment_of_a_flow_is_new_whatever_its_number():
    assert records([tcp(0, 1000, 2**32 - 1)])[0].octets.tolist() == [1000]


@pytest.mark.parametrize("again", [1, 3])
def test_a_keep_alive_and_a_window_probe_are_no_retransmissions(again):
    """The last octet that was sent before, or the first behind a window of zero, which is sent with others when it opens."""
    probes = [tcp(10 + k, 1, 147) for k in range(again)]
    flows, tally = records([tcp(0, 48, 100), *probes, tcp(20, 48, 148)])
    assert sorted(zip(flows.octets.tolist(), flows.retransmits.tolist(), strict=True)) == [(48, 0), (48, 0)]
    assert tally["keep-alive or window probe"] == again
    flows, tally = records([tcp(0, 1448, 0), *(tcp(10 + k, 1, 1448) for k in range(again)), tcp(20, 1448, 1448)])
    assert (flows.octets.sum(), flows.retransmits.sum()) == (2 * 1448, 0)
    assert tally["keep-alive or window probe"] == again - 1


def test_what_was_sent_again_is_distinguished_from_a_probe():
    flows, tally = records([tcp(0, 48, 100), tcp(10, 2, 146), tcp(20, 1, 120)])
    assert (flows.octets.sum(), flows.retransmits.sum()) == (48, 2)
    assert tally["keep-alive or window probe"] == 0


@pytest.mark.parametrize("order", [(1, 0, 2, 3, 4, 5), (0, 2, 1, 5, 3, 4), (0, 5, 4, 3, 2, 1), (0, 3, 1, 5, 4, 2)])
@pytest.mark.parametrize("size", [1448, 100])
@pytest.mark.parametrize("begin", [0, 2**32 - 3000])
def test_segments_that_were_overtaken_are_no_retransmissions(order, size, begin):
    """The first segment may have been sent before the capture began."""
    rows = [tcp(i * 1000, size, begin + k * size) for i, k in enumerate(order)]
    flows, _ = records(rows)
    lost = order[0] == 1
    assert (flows.octets.sum(), flows.retransmits.sum()) == ((6 - lost) * size, lost)
    again = [tcp(10_000 + k, size, begin + k * size) for k in range(1, 6)]
    flows, _ = records(rows + again)
    assert (flows.octets.sum(), flows.retransmits.sum()) == ((6 - lost) * size, lost + 5)


def test_a_gap_that_is_filled_in_parts():
    rows = [tcp(0, 1000, 0), tcp(1, 1000, 5000), tcp(2, 1000, 2000), tcp(3, 3000, 1500), tcp(4, 2000, 4000), tcp(5, 900, 1000)]
    flows, _ = records(rows)
    assert (flows.octets.sum(), flows.retransmits.sum()) == (6000, 0)


@pytest.mark.parametrize("lag", [0, 1, 3])
@pytest.mark.parametrize("size", [1448, 100])
def test_a_segment_that_a_mirror_saw_twice_is_no_retransmission(size, lag):
    """A copy has the same IP identification; a retransmission has another."""
    once = [tcp(k * 1000, size, k * size, ip_id=7 + k) for k in range(20)]
    twice = [row | {"time_ns": row["time_ns"] + lag * 1000 + 1} for row in once]
    both = sorted(once + twice, key=lambda row: row["time_ns"])
    flows, tally = records(both)
    assert (flows.octets.sum(), flows.retransmits.sum()) == (20 * size, 0)
    assert tally["seen twice by a mirror"] == 20
    for other in (lambda row: 500 + row["ip_id"], lambda _: 0, lambda _: 70_000, lambda _: 99):
        known = [row | {"ip_id": other(row) if other(row) in (0, 70_000, 99) else row["ip_id"]} for row in once]
        again = [row | {"ip_id": other(row)} for row in twice]
        flows, _ = records(sorted(known + again, key=lambda row: row["time_ns"]))
        assert flows.octets.sum() == 20 * size
        assert flows.retransmits.sum() >= 19


def test_a_header_after_a_pushed_segment_is_control_and_one_after_an_unpushed_one_is_its_rest():
    for flags, lengths in ((ACK | PSH, [48, 1448]), (ACK, [1496])):
        assert sorted(records([tcp(0, 1448, 0, flags=flags), tcp(5, 48, 1448)])[0].octets.tolist()) == lengths


def test_what_carries_nothing_is_tallied():
    _, tally = records([tcp(0, 0, flags=ACK), tcp(0, 0, flags=0, protocol=1)])
    assert (tally["acknowledgment only"], tally["no payload"]) == (1, 1)


@pytest.mark.parametrize("segments", [3, 15, 16, 17, 40])
def test_a_lane_that_rested_starts_anew_and_loses_nothing(segments):
    """What waits of the flow before is kept, whichever part of a block it is; its sequence numbers count for nothing."""
    rows = stream(segments, 65_536) + stream(segments, 65_536, start=10**12)
    flows, _ = records([tcp(0, 0, 5, flags=SYN, src=2), *rows], idle_ns=10**9)
    flows = flows.take(flows.octets > 0)
    assert flows.octets.tolist() == [segments * 65_536] * 2
    assert flows.retransmits.sum() == 0
    assert flows.end_ns.tolist() == [10_000 * (segments - 1), 10**12 + 10_000 * (segments - 1)]
