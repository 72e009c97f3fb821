from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.addresses import address_halves
from collectors.clickhouse.tables import BATCH
from collectors.columns.record import COLUMNS, Flows
from collectors.store import flow_rows
from tests.collectors.builders import stores

NOW = 1_795_214_542_677_184_076


def test_every_column_of_a_record_is_a_column_of_the_table_and_is_filled():
    names = {c.name for c in flow_rows.FLOWS.columns}
    assert {c.name for c in COLUMNS} <= names
    kept = {c.name for c in flow_rows.FLOWS.kept(plain=False)} - {BATCH}
    assert set(flow_rows.to_rows(stores.flows(5, now_ns=NOW))) == kept
    assert set(flow_rows.pair_rows(stores.flows(5, now_ns=NOW))) == {c.name for c in flow_rows.PAIRS.kept(plain=False)}


@pytest.mark.parametrize(
    "shape", [lambda flows: flows, flow_rows.sort_records, lambda flows: flow_rows.sort_records(flows.take([7] * 9))]
)
def test_rows_are_the_records_again(shape):
    flows = shape(stores.flows(1000, now_ns=NOW))
    answer = {
        n: v if isinstance(v, np.ndarray) else np.array(v.to_pylist(), object) for n, v in flow_rows.to_rows(flows).items()
    }
    assert stores.meant(flow_rows.flows_of(answer)) == stores.meant(flows)


def test_numbers_too_big_for_their_column_are_as_big_as_can_be():
    flows = Flows.build({"start_ns": [1], "messages": [1 << 40], "octets": [-5]}, endpoints=("10.0.0.1",))
    rows = flow_rows.to_rows(flows)
    assert rows["messages"].tolist() == [2**32 - 1]
    assert rows["octets"].tolist() == [0]


def test_an_invalid_address_is_reported():
    flows = Flows.build({"start_ns": [1, 2], "src": [0, 1], "dst": [0, 0]}, endpoints=("10.0.0.1", "server7"))
    assert flow_rows.have_addresses(flows).tolist() == [True, False]


def in_order(flows):
    """The slow way: places of records in the order of the table."""
    low = [address_halves.halves(name)[1] for name in flows.endpoints]
    keys = zip(flows.start_ns.tolist(), flows.src.tolist(), flows.dst.tolist(), strict=True)
    keyed = [(start // flow_rows.BUCKET_NS, low[src], low[dst], start, i) for i, (start, src, dst) in enumerate(keys)]
    return [key[-1] for key in sorted(keyed)]


@given(count=st.integers(0, 40), seed=st.integers(0, 9), span_ns=st.sampled_from([1, 10**12, 10**17, 10**18]))
def test_records_are_put_in_the_order_of_the_table(count, seed, span_ns):
    flows = stores.flows(count, now_ns=NOW, span_ns=span_ns, seed=seed)
    flows = flows.take(np.random.default_rng(seed).permutation(count))
    names = dict.fromkeys((*flows.endpoints, *(f"10.9.{i >> 8}.{i & 255}" for i in range(40_000)))) if seed == 3 else ()
    flows = replace(flows, endpoints=tuple(names) or flows.endpoints)  # many: keys are too long for one number
    assert flow_rows.sort_records(flows).busy_ns.tolist() == flows.busy_ns[in_order(flows)].tolist()


def test_nothing_has_no_rows():
    flows = stores.flows(0, now_ns=NOW)
    assert len(flow_rows.sort_records(flows)) == 0
    assert {len(values) for values in (flow_rows.to_rows(flows) | flow_rows.pair_rows(flows)).values()} == {0}


@pytest.mark.parametrize("shape", [lambda flows: flows, flow_rows.sort_records])
def test_pairs_add_up(shape):
    flows = stores.flows(2000, now_ns=NOW, span_ns=200 * 10**9)
    rows = flow_rows.pair_rows(shape(flows))
    found = {}
    ends = zip(*(rows[name].tolist() for name in (*flow_rows.ENDS, "octets", "records")), strict=True)
    for a, b, c, d, octets, records in ends:
        key = address_halves.text(a, b), address_halves.text(c, d)
        o, n = found.get(key, (0, 0))
        found[key] = o + octets, n + records
    assert found == stores.pairs(flows)
    assert set((rows["minute_ns"] % flow_rows.MINUTE).tolist()) == {0}
    assert np.all(np.diff(rows["minute_ns"]) >= 0)
    assert rows["first_ns"].min() == flows.start_ns.min()
    assert rows["last_ns"].max() == flows.end_ns.max()


def test_pieces_are_of_one_partition_each():
    start = np.array([0, 59, 60, 200, 61])
    assert {k: v.tolist() for k, v in flow_rows.split_partitions(start, 60).items()} == {0: [0, 1], 1: [2, 4], 3: [3]}
    assert {k: v.tolist() for k, v in flow_rows.split_partitions(start, 0).items()} == {0: [0, 1, 2, 3, 4]}
    assert flow_rows.split_partitions(start[:0], 60) == {}
