import numpy as np

from prism.evidence.streams import streams_of
from tests.prism.evidence.made import Wire


def streams(wire):
    flows = wire.flows()
    return streams_of(flows, wire.endpoints, origin=flows.window[0])


def test_each_steady_size_of_a_pair_is_a_stream_that_can_be_counted():
    wire = Wire(["a", "b"])
    for step in range(10):
        for k in range(3):
            wire.send(0, 1, step * 100 + k, 1_000_000)
        wire.send(0, 1, step * 100 + 50, 4_000_000)
    found = sorted(streams(wire), key=lambda s: s.size)
    assert [(len(s.rows), s.size, s.equal) for s in found] == [(30, 1_000_000, True), (10, 4_000_000, True)]


def test_messages_that_vary_in_size_are_one_stream():
    wire = Wire(["a", "b"])
    for step in range(20):
        for k in range(4):
            wire.send(0, 1, step * 100 + k, int(wire.rng.integers(1_000_000, 2_000_000)))
    found = streams(wire)
    assert len(found) == 1
    assert not found[0].equal
    assert len(found[0].rows) >= 76


def test_queue_pairs_in_turn_are_one_stream_and_others_are_not():
    wire = Wire(["a", "b"])
    for step in range(10):
        for qp in (1, 2):
            wire.send(0, 1, step * 100 + qp, 1_000_000, qp=qp)
        for k in range(8):
            wire.send(0, 1, step * 100 + 50 + k, 1_000_000, qp=3)
    assert sorted(len(s.rows) for s in streams(wire)) == [20, 80]


def test_connections_of_alike_bursts_are_one_conversation():
    wire = Wire(["a", "b"])
    for step in range(10):
        wire.send(0, 1, step * 100, 1_000_000 + 10_000 * step, port=1000 + (step > 5))
        wire.send(0, 1, step * 100 + 50, 8_000_000, port=2000)
    found = streams(wire)
    assert all(s.bursts and not s.equal for s in found)
    assert sorted(len(s.rows) for s in found) == [10, 10]


def test_channels_of_one_collective_are_one_conversation_however_tcp_splits_them():
    wire = Wire(["a", "b"])
    for step in range(10):
        wire.send(0, 1, step * 100, 4_000_000, port=1000)
        for part in range(4):
            wire.send(0, 1, step * 100 + part, 1_000_000, port=2000)
    assert [len(s.rows) for s in streams(wire)] == [50]


def test_control_messages_and_strangers_are_left_out():
    wire = Wire(["a", "b", "c"])
    for step in range(10):
        wire.send(0, 1, step * 100, 1_000_000)
        wire.send(1, 0, step * 100 + 1, 64)
        wire.send(0, 2, step * 100 + 2, 1_000_000)
    flows = wire.flows()
    found = streams_of(flows, ("a", "b"), origin=flows.window[0])
    assert [s.pair for s in found] == [(0, 1)]
    assert np.all(np.diff(found[0].start) > 0)


def test_a_long_pause_of_the_job_hides_no_steady_size():
    wire = Wire(["a", "b"])
    for step in range(12):
        at = step * 100 + (20_000 if step > 5 else 0)  # all ranks wait for 20 s after step 5
        for k in range(3):
            wire.send(0, 1, at + k, 1_000_000)
        wire.send(0, 1, at + 50, 4_000_000)
    found = sorted(streams(wire), key=lambda s: s.size)
    assert [(len(s.rows), s.size, s.equal) for s in found] == [(36, 1_000_000, True), (12, 4_000_000, True)]


def test_what_an_endpoint_sends_to_itself_is_no_stream():
    """Records of a loop back, or forged ones."""
    wire = Wire(["a", "b"])
    for step in range(10):
        wire.send(0, 0, step * 100, 1_000_000)
        wire.send(0, 1, step * 100 + 10, 1_000_000)
    assert [s.pair for s in streams(wire)] == [(0, 1)]
