"""Messages that touch, as one record: nothing is lost, and what does not touch stays apart."""

import math
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.columns.record import ACK, COLUMNS, PSH, Flows
from prism.loops.arrays.record_merging import SUMS, bursts

messages = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 2), st.integers(0, 3), st.sampled_from((64, 4096))),
    max_size=40,
)


def flows_of(some):
    """Records: who sends, over which queue pair, how long after the last that began, for how long, octets."""
    src, queue, later, length, octets = (
        np.array(column, np.int64) for column in (zip(*some, strict=True) if some else [[]] * 5)
    )
    start = np.cumsum(later)
    columns = {"start_ns": start, "end_ns": start + length, "src": src, "dst": 1 - src, "dst_qp": 7 + queue}
    more = {"octets": octets} | {"packets": octets // 64, "messages": np.ones_like(src), "busy_ns": length, "ecn": later}
    return Flows.build(columns | more, endpoints=("a", "b"))


@given(messages)
def test_sums_stay_and_records_come_back(some):
    flows = flows_of(some)
    found = bursts(flows)
    for name in SUMS:
        assert getattr(found.flows, name).sum() == getattr(flows, name).sum()
    assert sorted(found.records(np.arange(len(found.flows))).tolist()) == list(range(len(flows)))
    for k in range(len(found.flows)):
        rows = found.records(np.array([k]))
        assert (found.of[rows] == k).all()
        assert len(rows) == 1 or not flows.control()[rows].any()
        assert len({(int(flows.src[row]), int(flows.dst_qp[row])) for row in rows}) == 1
        assert found.flows.start_ns[k] == flows.start_ns[rows].min()
        assert found.flows.end_ns[k] == flows.end_ns[rows].max()
        assert found.flows.octets[k] == flows.octets[rows].sum()
    assert (np.diff(found.flows.start_ns) >= 0).all()


def test_what_touches_is_one_up_to_a_bound():
    touching = flows_of([(0, 0, 2, 2, 4096)] * 10)
    assert bursts(touching, most=4).of.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
    apart = flows_of([(0, 0, 2, 1, 4096)] * 3)
    assert bursts(apart).of.tolist() == [0, 1, 2]


def naively(flows, most, near, parts):
    """Bursts of records in order, one at a time: their rows."""
    found, last = [], {}
    keys = list(zip(flows.src.tolist(), flows.dst.tolist(), flows.dst_qp.tolist(), strict=True))
    for i, key in enumerate(keys):
        share = math.ceil(keys.count(key) / parts)
        reach = near if share >= most else 0
        limit = max(most, share) if near else most
        own, plain = last.get(key), not flows.control()[i] and flows.end_ns[i] > flows.start_ns[i]
        if own and plain and not flows.control()[own[-1]] and flows.end_ns[own[-1]] > flows.start_ns[own[-1]]:
            usual = sum(int(flows.end_ns[j] - flows.start_ns[j]) for j in own) / len(own)
            if len(own) < limit and flows.start_ns[i] - flows.end_ns[own[-1]] <= reach * usual:
                own.append(i)
                continue
        last[key] = [i]
        found.append(last[key])
    return found


@given(messages, st.integers(1, 5), st.sampled_from((0.0, 0.5, 1.0, 2.0)), st.integers(1, 8))
def test_what_is_near_is_one_as_the_obvious_loop_says(some, most, near, parts):
    flows = replace(flows_of(some), busy_ns=np.zeros(len(some), np.int64))
    found, expected = bursts(flows, most=most, near=near, parts=parts), naively(flows, most, near, parts)
    assert [found.records(np.array([k])).tolist() for k in range(len(found.flows))] == expected
    for k, rows in enumerate(expected):
        under_way = {t for row in rows for t in range(flows.start_ns[row], flows.end_ns[row])}
        assert found.flows.busy_ns[k] == (len(under_way) if near and len(rows) > 1 else 0)


@given(messages, st.integers(0, 3), st.integers(0, 2), st.sampled_from((0.0, 2.0)))
def test_a_column_of_one_value_is_summed_as_any_other(some, messages, marked, near):
    n = len(some)
    whole = replace(flows_of(some), messages=np.full(n, messages), cnp=np.full(n, marked))
    same = {name: np.broadcast_to(np.int64(value), n) for name, value in (("messages", messages), ("cnp", marked))}
    found, other = (bursts(flows, near=near).flows for flows in (whole, replace(whole, **same)))
    for column in COLUMNS:
        assert getattr(found, column.name).tolist() == getattr(other, column.name).tolist()


@given(messages, st.randoms())
def test_a_burst_has_the_flags_of_all_its_records(some, random):
    flags = np.array([random.choice((0, ACK, PSH)) for _ in some], np.uint8)
    found = bursts(replace(flows_of(some), tcp_flags=flags))
    for k in range(len(found.flows)):
        assert found.flows.tcp_flags[k] == np.bitwise_or.reduce(flags[found.of == k])


def test_a_busy_connection_becomes_so_many_bursts_and_one_that_is_not_stays_as_it_is():
    flows = flows_of([(0, 0, 3, 2, 4096)] * 64)
    assert [len(bursts(flows, most=4, near=1.0, parts=parts).flows) for parts in (2, 4, 8, 16, 32)] == [2, 4, 8, 16, 64]


def test_the_order_of_records_does_not_matter():
    flows = flows_of([(0, i % 2, 1, 2, 4096) for i in range(12)])
    there, back = bursts(flows).flows, bursts(flows.take(np.arange(12)[::-1])).flows
    for name in ("start_ns", "end_ns", "dst_qp", "octets"):
        assert getattr(there, name).tolist() == getattr(back, name).tolist()


def test_more_connections_than_sixteen_bits_count():
    many = (1 << 16) + 5
    flows = flows_of([(0, queue, 0, 1, 4096) for queue in range(many)] * 2)
    found = bursts(flows, near=2.0)
    assert len(found.flows) == many  # the second record of each touches its first
    assert found.of.tolist() == [*range(many)] * 2
