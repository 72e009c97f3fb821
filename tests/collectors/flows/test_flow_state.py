import numpy as np
import pytest

from collectors.compilation.primitives import SEED, compiled, hashed
from collectors.flows.flow_state import (
    FLOW,
    FLOWS,
    FREE,
    MESSAGES,
    PACED,
    RECORD,
    UNITS,
    empty_table,
    find,
    paces,
    settle,
    with_room,
)
from collectors.memory.pages import LINE


@compiled
def found(t, ends, rest, seed):
    return find(t, ends, rest, hashed(ends, rest, seed))[0]


def test_rows_fill_whole_lines_of_the_cache():
    assert FLOW.itemsize == RECORD.itemsize == 128
    assert FLOW.fields["kind"][1] == 64  # what lanes need lies behind what all need


@pytest.mark.parametrize("every", [1, 3])  # so many flows have messages that are held, and a block before
def test_flows_are_found_again_when_the_table_has_grown(every):
    t = with_room(empty_table(), 500, 1, 1, 1)
    for i in range(500):
        t.flows[i]["ends"], t.flows[i]["rest"], t.flows[i]["kind"] = i, i * i, 1
    t.held["octets"][: MESSAGES * 500] = np.arange(MESSAGES * 500)
    t.history[:500] = np.arange(500)[:, None, None]
    t.flows["used"][:500:every] = t.flows["has_history"][:500:every] = 1
    t.counters[FLOWS] = 500
    settle(t, SEED)
    for grown in (t, with_room(t, 5000, 1, 1, 1)):
        assert [found(grown, np.uint64(i), np.uint64(i * i), SEED) for i in range(500)] == list(range(500))
        assert found(grown, np.uint64(3), np.uint64(8), SEED) == -1
        assert len(grown.held) == MESSAGES * len(grown.flows)
        held = grown.held["octets"][: MESSAGES * 500].reshape(500, MESSAGES)[::every]
        assert held.tolist() == np.arange(MESSAGES * 500).reshape(500, MESSAGES)[::every].tolist()
        assert (grown.history[:500:every] == np.arange(0, 500, every)[:, None, None]).all()
        assert grown.flows.ctypes.data % LINE == grown.records.ctypes.data % LINE == grown.held.ctypes.data % LINE == 0


def test_paces_of_senders_stay_as_their_number_grows():
    t = with_room(empty_table(), 1, 1, 1, 100)
    t.typical[60, 3], t.counters[PACED] = 7, 61
    grown = with_room(t, 1, 1, 1, 10_000)
    assert len(grown.typical) >= 10_000
    assert (int(grown.typical[60, 3]), int(grown.typical.sum())) == (7, 7)
    assert paces(grown).tolist() == paces(t).tolist() == grown.typical.sum(axis=0).tolist()
    assert not paces(empty_table()).any()


def test_free_units_are_one_chain():
    t = with_room(empty_table(), 1, 100, 1, 1)
    t.counters[FREE], t.counters[UNITS] = t.units["next"][t.counters[FREE]], 1
    t = with_room(t, 1, 5000, 1, 1)
    seen, at = set(), int(t.counters[FREE])
    while at >= 0:
        seen.add(at)
        at = int(t.units["next"][at])
    assert seen == set(range(len(t.units))) - {0}
