import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors import flowrows
from collectors.record import COLUMNS, Flows
from collectors.tables import BATCH
from tests.collectors import stores

NOW = 1_795_214_542_677_184_076


def test_every_column_of_a_record_is_a_column_of_the_table_and_is_filled():
    names = {c.name for c in flowrows.FLOWS.columns}
    assert {c.name for c in COLUMNS} <= names
    kept = {c.name for c in flowrows.FLOWS.kept(plain=False)} - {BATCH}
    assert set(flowrows.rows(stores.flows(5, now_ns=NOW))) == kept
    assert set(flowrows.pair_rows(stores.flows(5, now_ns=NOW))) == {c.name for c in flowrows.PAIRS.kept(plain=False)}


def test_rows_are_the_records_again():
    flows = stores.flows(1000, now_ns=NOW)
    answer = {n: v if isinstance(v, np.ndarray) else np.array(v.to_pylist(), object) for n, v in flowrows.rows(flows).items()}
    assert stores.meant(flowrows.flows_of(answer)) == stores.meant(flows)


def test_numbers_too_big_for_their_column_are_as_big_as_can_be():
    flows = Flows.build({"start_ns": [1], "messages": [1 << 40], "octets": [-5]}, endpoints=("10.0.0.1",))
    rows = flowrows.rows(flows)
    assert rows["messages"].tolist() == [2**32 - 1]
    assert rows["octets"].tolist() == [0]


@given(st.ip_addresses().map(str))
def test_an_address_is_its_halves_and_back(address):
    assert flowrows.halves(flowrows.text(*flowrows.halves(address))) == flowrows.halves(address)


def test_what_is_no_address_is_told():
    flows = Flows.build({"start_ns": [1, 2], "src": [0, 1], "dst": [0, 0]}, endpoints=("10.0.0.1", "server7"))
    assert flowrows.addressed(flows).tolist() == [True, False]


def test_pairs_add_up():
    flows = stores.flows(2000, now_ns=NOW, span_ns=200 * 10**9)
    rows = flowrows.pair_rows(flows)
    found = {}
    ends = zip(*(rows[name].tolist() for name in (*flowrows.ENDS, "octets", "records")), strict=True)
    for a, b, c, d, octets, records in ends:
        key = flowrows.text(a, b), flowrows.text(c, d)
        o, n = found.get(key, (0, 0))
        found[key] = o + octets, n + records
    assert found == stores.pairs(flows)
    assert set((rows["minute_ns"] % flowrows.MINUTE).tolist()) == {0}
    assert rows["first_ns"].min() == flows.start_ns.min()
    assert rows["last_ns"].max() == flows.end_ns.max()


def test_pieces_are_of_one_partition_each():
    start = np.array([0, 59, 60, 200, 61])
    assert {k: v.tolist() for k, v in flowrows.pieces(start, 60).items()} == {0: [0, 1], 1: [2, 4], 3: [3]}
    assert {k: v.tolist() for k, v in flowrows.pieces(start, 0).items()} == {0: [0, 1, 2, 3, 4]}
    assert flowrows.pieces(start[:0], 60) == {}
