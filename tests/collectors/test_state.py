import numpy as np

from collectors.state import FLOW, FLOWS, FREE, LINE, MESSAGES, PAGE, RECORD, UNITS, empty_table, find, large, settle, with_room
from collectors.wire import SEED, compiled, hashed


@compiled
def found(t, ends, rest, seed):
    return find(t, ends, rest, hashed(ends, rest, seed))[0]


def test_rows_fill_whole_lines_of_the_cache():
    assert FLOW.itemsize == RECORD.itemsize == 128
    assert FLOW.fields["kind"][1] == 64  # what lanes need lies behind what all need


def test_flows_are_found_again_when_the_table_has_grown():
    t = with_room(empty_table(), 500, 1, 1, 1)
    for i in range(500):
        t.flows[i]["ends"], t.flows[i]["rest"], t.flows[i]["kind"] = i, i * i, 1
    t.held["octets"][: MESSAGES * 500] = np.arange(MESSAGES * 500)
    t.counters[FLOWS] = 500
    settle(t, SEED)
    for grown in (t, with_room(t, 5000, 1, 1, 1)):
        assert [found(grown, np.uint64(i), np.uint64(i * i), SEED) for i in range(500)] == list(range(500))
        assert found(grown, np.uint64(3), np.uint64(8), SEED) == -1
        assert len(grown.held) == MESSAGES * len(grown.flows)
        assert grown.held["octets"][: MESSAGES * 500].tolist() == list(range(MESSAGES * 500))
        assert grown.flows.ctypes.data % LINE == grown.records.ctypes.data % LINE == grown.held.ctypes.data % LINE == 0


def test_free_units_are_one_chain():
    t = with_room(empty_table(), 1, 100, 1, 1)
    t.counters[FREE], t.counters[UNITS] = t.units["next"][t.counters[FREE]], 1
    t = with_room(t, 1, 5000, 1, 1)
    seen, at = set(), int(t.counters[FREE])
    while at >= 0:
        seen.add(at)
        at = int(t.units["next"][at])
    assert seen == set(range(len(t.units))) - {0}


def test_memory_for_few_and_for_many_is_zeros_to_be_written():
    for size in (0, 5, PAGE // 8, PAGE // 8 + 1):
        room = large(size, np.dtype(np.int64))
        assert len(room) == size
        assert not room.any()
        room[:] = 1
