import numpy as np

from collectors.columns.record import ACK, FIN, RST, SYN, Flows
from prism.loops.detection.connection_ends import closings


def told(*rows):
    """Return the closings among records (src, dst, src_port, dst_port, start, flags)."""
    names = ("src", "dst", "src_port", "dst_port", "start_ns", "tcp_flags")
    columns = {name: np.array([row[i] for row in rows], np.int64) for i, name in enumerate(names)}
    return closings(Flows.build(columns | {"end_ns": columns["start_ns"]}, endpoints=("a", "b"))).tolist()


def test_both_ends_of_a_connection_in_order_of_time():
    assert told((0, 1, 7, 9, 5, FIN | ACK), (1, 0, 9, 7, 4, FIN | ACK), (0, 1, 7, 9, 2, ACK)) == [1, 0]


def test_who_refuses_a_connection_ends_none():
    assert told((0, 1, 7, 9, 1, SYN), (1, 0, 9, 7, 2, RST | ACK)) == []


def test_but_who_resets_one_that_it_had_opened_does():
    opened = (0, 1, 7, 9, 1, SYN), (1, 0, 9, 7, 2, SYN | ACK)
    assert told(*opened, (1, 0, 9, 7, 3, RST | ACK)) == [2]
    assert told(*opened, (0, 1, 7, 9, 3, RST)) == [2]


def test_nor_does_it_matter_that_the_port_is_used_again_later():
    refused = (0, 1, 7, 9, 1, SYN), (1, 0, 9, 7, 2, RST | ACK)
    assert told(*refused, (0, 1, 7, 9, 3, SYN), (1, 0, 9, 7, 4, SYN | ACK), (1, 0, 9, 7, 5, RST)) == [4]


def test_a_reset_of_what_was_opened_before_anybody_looked_ends_a_connection():
    assert told((1, 0, 9, 7, 2, RST)) == [0]


def test_none_without_records():
    assert closings(Flows.build({"start_ns": [], "end_ns": []}, endpoints=())).tolist() == []
