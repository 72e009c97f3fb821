import numpy as np

from collectors.numbers import FlowNumbers, Memory


def identities(*values):
    return np.array(values, np.uint64)


def test_a_flow_keeps_its_number_until_it_rests():
    flows = FlowNumbers(100, seen=Memory(np.int64, -1))
    number, order = flows.lookup(identities(9, 5, 9), np.array([0, 1, 2]))
    assert number[0] == number[2] != number[1]
    assert order.tolist() == [1, 0, 2]
    again, _ = flows.lookup(identities(9, 9, 5), np.array([50, 151, 60]))
    assert again[0] == number[0]
    assert again[1] not in number
    assert again[2] == number[1]


def test_state_goes_with_the_number():
    flows = FlowNumbers(100, seen=Memory(np.int64, -1))
    flow, order = flows.lookup(identities(9, 5, 9), np.array([0, 1, 2]))
    assert flows.previous("seen", np.array([7, 8, 9]), flow[order]).tolist() == [-1, -1, 8]
    gone = flows.rested(102)
    assert np.count_nonzero(gone) == 1
    renumbered = flows.forget(gone)
    assert sorted(renumbered.tolist()) == [-1, 0]
    assert flows.state["seen"].tolist() == [9]
    assert flows.lookup(identities(9), np.array([102]))[0].tolist() == [0]
