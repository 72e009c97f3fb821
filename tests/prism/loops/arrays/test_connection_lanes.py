from dataclasses import replace

import numpy as np

from collectors.columns.record import Flows
from prism.loops.arrays.connection_lanes import connections, lanes, renewals


def flows(rows):
    """Records of (src, dst, src_port, dst_port, dst_qp, start, octets)."""
    names = ("src", "dst", "src_port", "dst_port", "dst_qp", "start_ns", "octets")
    columns = {name: np.array([row[i] for row in rows]) for i, name in enumerate(names)}
    return Flows.build(columns | {"end_ns": columns["start_ns"] + 1}, endpoints=("a", "b"))


def told(rows):
    made = flows(rows)
    return lanes(made, connections(made, np.arange(len(made)))).tolist()


def test_connections_that_move_unequally_are_two_lanes_in_both_directions():
    big = [(0, 1, 7, 9, 0, t, 1000) for t in range(10)] + [(1, 0, 9, 7, 0, t, 1000) for t in range(10)]
    small = [(0, 1, 8, 9, 0, t, 10) for t in range(3)]
    assert told(big + small) == [0] * 20 + [1] * 3


def test_channels_are_one_lane():
    assert told([(0, 1, 0, 0, 5 + t % 2, t, 1000) for t in range(20)]) == [0] * 20


def test_queue_pairs_of_two_directions_are_matched_by_what_they_move():
    there = [(0, 1, 0, 0, 5, t, 1000) for t in range(10)] + [(0, 1, 0, 0, 6, t, 30) for t in range(4)]
    back = [(1, 0, 0, 0, 8, t, 30) for t in range(4)] + [(1, 0, 0, 0, 9, t, 1000) for t in range(10)]
    assert told(there + back) == [0] * 10 + [1] * 4 + [1] * 4 + [0] * 10


def test_after_a_restart_a_lane_goes_on():
    before = [(0, 1, 7, 9, 0, t, 1000) for t in range(10)] + [(0, 1, 8, 9, 0, t, 10) for t in range(10)]
    after = [(0, 1, 17, 9, 0, 100 + t, 1500) for t in range(10)] + [(0, 1, 18, 9, 0, 100 + t, 15) for t in range(10)]
    assert told(before + after) == [0] * 10 + [1] * 10 + [0] * 10 + [1] * 10


def test_a_connection_per_message_is_one_lane():
    assert told([(0, 1, 1000 + t, 9, 0, t, 1000 + 500 * t) for t in range(100)]) == [0] * 100


def test_without_ports_all_is_one_lane():
    assert told([(0, 1, 0, 0, 0, t, 1000 + t) for t in range(9)] + [(1, 0, 0, 0, 0, t, 7) for t in range(9)]) == [0] * 18


def test_a_restart_is_when_all_connections_are_new():
    columns = {name: [] for name in ("start_ns", "end_ns", "src", "dst", "dst_qp", "octets")}
    for k in range(20):
        for src, dst in ((0, 1), (1, 0)):
            late = k >= 12
            row = (100 * k + 500 * late, 100 * k + 50 + 500 * late, src, dst, 7 + src + 100 * late, 1000)
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
    arrays = {name: np.array(values, np.int64) for name, values in columns.items()}
    flows = Flows.build(arrays, endpoints=("a", "b"), exporters=("leaf",), paths=((),))
    assert renewals(flows, connections(flows, np.arange(40))).tolist() == [1700]
    assert renewals(flows, connections(flows, np.arange(24))).tolist() == []
    small = [(1200 + 20 * i, 1210 + 20 * i, i % 2, 1 - i % 2, 500 + i, 5) for i in range(12)]  # they find one another
    more = {name: np.append(arrays[name], [row[i] for row in small]) for i, name in enumerate(columns)}
    flows = Flows.build(more, endpoints=("a", "b"), exporters=("leaf",), paths=((),))
    assert renewals(flows, connections(flows, np.arange(52))).tolist() == [*range(1200, 1440, 20), 1700]
    arrays["dst_qp"] = arrays["start_ns"] + 1  # a connection for each message is a habit
    flows = Flows.build(arrays, endpoints=("a", "b"), exporters=("leaf",), paths=((),))
    assert renewals(flows, connections(flows, np.arange(40))).tolist() == []


def test_conversations_of_about_one_volume_are_two_lanes_where_each_has_its_own_times():
    """One goes on all the time, the other, of as many records, once in a while."""
    steadily = [(0, 1, 0, 0, 5 + t % 2, 10 * t, 1000) for t in range(200)]
    seldom = [(0, 1, 0, 0, 7 + t % 2, 500 * (t // 50) + t % 50, 1100) for t in range(200)]
    assert told(steadily + seldom) == [1] * 200 + [0] * 200
    assert told(steadily + [(0, 1, 0, 0, 7 + t % 2, 10 * t + 1, 1100) for t in range(200)]) == [0] * 400


def test_directions_of_a_lane_may_be_in_as_many_messages_but_not_in_as_many_records():
    """Records of many messages that followed upon one another are as many as there were pauses."""
    big = [(0, 1, 0, 0, 5, t, 1000) for t in range(12)] + [(1, 0, 0, 0, 6, 3 * t, 3000) for t in range(4)]
    small = [(0, 1, 0, 0, 7, t, 10) for t in range(12)] + [(1, 0, 0, 0, 8, 3 * t, 30) for t in range(4)]
    made = flows(big + small)
    counted = replace(made, messages=np.array([1] * 12 + [3] * 4 + [1] * 12 + [3] * 4))
    assert lanes(counted, connections(counted, np.arange(len(made)))).tolist() == [0] * 16 + [1] * 16
