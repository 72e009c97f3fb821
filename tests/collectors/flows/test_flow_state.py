import numpy as np

from collectors.compilation.primitives import SEED, compiled, hashed
from collectors.flows.flow_state import (
    FLOW,
    FLOWS,
    FREE,
    MESSAGES,
    NEAR,
    PACED,
    RECORD,
    UNITS,
    empty_table,
    find,
    paces,
    settle,
    with_room,
    without_flows,
)
from collectors.memory.pages import LINE


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
    t.history[:500] = np.arange(500)[:, None, None]
    t.counters[FLOWS] = 500
    settle(t, SEED)
    for more in (1, 5000, 50_000):
        t = with_room(t, more, 1, 1, 1)
        assert [found(t, np.uint64(i), np.uint64(i * i), SEED) for i in range(500)] == list(range(500))
        assert found(t, np.uint64(3), np.uint64(8), SEED) == -1
        assert len(t.flows) >= 500 + more
        assert len(t.held) == MESSAGES * len(t.flows)
        assert (t.held["octets"][: MESSAGES * 500] == np.arange(MESSAGES * 500)).all()
        assert (t.history[:500] == np.arange(500)[:, None, None]).all()
        assert t.flows.ctypes.data % LINE == t.records.ctypes.data % LINE == t.held.ctypes.data % LINE == 0
    settle(without_flows(t), SEED)
    assert found(t, np.uint64(7), np.uint64(49), SEED) == 7


def test_places_of_headers_grow_with_the_flows_that_they_lead_to_alone():
    t = with_room(empty_table(), 100_000, 1, 1, 1)
    least = len(t.near)
    assert least < len(t.slots)
    t.counters[NEAR], t.near[0] = least // 2, 1
    assert with_room(t, 1, 1, 1, 1).near is t.near
    t.counters[NEAR] += 1
    grown = with_room(t, 1, 1, 1, 1)
    assert (len(grown.near), grown.near.any(), grown.counters[NEAR]) == (4 * least, False, 0)


def test_paces_of_senders_stay_as_their_number_grows():
    t = with_room(empty_table(), 1, 1, 1, 100)
    t.pacing[60], t.counters[PACED], t.typical[0, 3] = 1, 1, 7
    before = paces(t).tolist()
    grown = with_room(t, 1, 1000, 1, 10_000)
    assert len(grown.pacing) >= 10_000
    assert len(grown.typical) > 1000
    assert (int(grown.pacing[60]), int(grown.typical[0, 3]), int(grown.typical.sum())) == (1, 7, 7)
    assert paces(grown).tolist() == before == grown.typical.sum(axis=0).tolist()
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
