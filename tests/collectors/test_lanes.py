import pytest

from collectors.record import ACK, PSH, SYN
from tests.collectors.packets import tcp
from tests.collectors.test_flowtable import stream, table


def records(rows, **knobs):
    flows, _, tally = table({"a": rows}, **knobs)
    return flows, tally


def test_the_first_segment_of_a_flow_is_new_whatever_its_number():
    assert records([tcp(0, 1000, 2**32 - 1)])[0].octets.tolist() == [1000]


def test_a_keep_alive_is_a_retransmission():
    flows, _ = records([tcp(0, 48, 100), tcp(10, 1, 147)])
    assert sorted(zip(flows.octets.tolist(), flows.retransmits.tolist(), strict=True)) == [(0, 1), (48, 0)]


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
