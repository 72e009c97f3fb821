import numpy as np
import pytest

from collectors.columns.record import COLUMNS, Flows, Transits
from tests.collectors.builders.packets import packets, tcp


def flows(**columns):
    return Flows.build({"start_ns": [1, 2, 3], "octets": [48, 0, 1000], **columns}, endpoints=("a", "b"))


def test_columns_that_are_not_known_take_their_default():
    f = flows()
    assert f.sampling_rate.tolist() == [1, 1, 1]
    assert f.messages.tolist() == [0, 0, 0]
    assert [getattr(f, c.name).dtype for c in COLUMNS] == [np.dtype(c.dtype) for c in COLUMNS]


def test_columns_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match="column end_ns has shape"):
        flows(end_ns=[1])


def test_control_is_little_a_message():
    assert flows(messages=[1, 0, 1]).control().tolist() == [True, True, False]


def test_take_keeps_the_dictionaries():
    f = flows().take(np.array([2, 0]))
    assert f.start_ns.tolist() == [3, 1]
    assert f.endpoints == ("a", "b")
    assert len(f) == 2


def test_packets_and_transits():
    assert packets([tcp(1, 2), tcp(3, 4)]).take(np.array([False, True])).time_ns.tolist() == [3]
    assert len(Transits.empty(("a",))) == 0
