"""Test the separation of own work from waits, on endpoint 1 between receives and sends."""

import numpy as np
from hypothesis import given as having
from hypothesis import strategies as st

from collectors.columns.record import Flows
from prism.loops.arrays.group_sums import counted
from prism.loops.detection import own_work as waits
from prism.loops.detection.own_work import own_work, step_end_mask, step_end_records, work_at
from tests.prism.traffic import MS, T0, Wire


def worked(wire, code=1):
    said, work = own_work(wire.flows(), code)
    return [(round((s - T0) / MS), round(w / MS)) for s, w in zip(said, work, strict=True)]


def given(wire, at, *, octets=1_000_000, src=0):
    wire.send(src, 1, octets, T0 + at * MS)


def says(wire, at, *, octets=1_000_000, dst=2):
    wire.send(1, dst, octets, T0 + at * MS)


def test_work_begins_with_what_was_given_last():
    wire = Wire()
    for at in (0, 100, 200):
        given(wire, at)
        says(wire, at + 31)
    assert worked(wire) == [(31, 30), (131, 30), (231, 30)]


def test_what_is_said_in_a_row_is_one_piece_of_work():
    wire = Wire()
    given(wire, 0)
    says(wire, 40)
    says(wire, 45)
    assert worked(wire) == [(40, 39), (45, 4)]


def test_who_is_still_being_sent_to_is_in_the_middle_of_a_collective():
    wire = Wire()
    given(wire, 0)
    given(wire, 20, octets=40_000_000)
    says(wire, 40)
    assert worked(wire) == [(40, 0)]


def test_who_answers_a_call_at_once_had_been_waiting():
    wire = Wire()
    for at in range(0, 1000, 100):
        given(wire, at)
        wire.send(2, 1, 48, T0 + (at + 50) * MS)
        says(wire, at + 50.1)
    assert [work for _, work in worked(wire)] == [0] * 10


def test_who_lets_a_call_wait_had_been_working():
    wire = Wire()
    for at in range(0, 1000, 100):
        given(wire, at)
        wire.send(2, 1, 48, T0 + (at + 5) * MS)
        says(wire, at + 50)
    assert [work for _, work in worked(wire)] == [49] * 10


def test_nobody_worked_before_anything_was_known():
    wire = Wire()
    says(wire, 500)
    assert worked(wire) == [(500, 0)]
    assert worked(wire, code=2) == []


def last(times, before):
    """The last of some times before each of others; 0 where there is none."""
    return np.array([max((t for t in times if t < one), default=0) for one in before], np.int64)


def naively(flows, code, needed):
    """`own_work`, with a search through everything for each record."""
    control, moves = flows.control(), flows.octets > 0
    talks = np.flatnonzero((flows.src == code) & moves)
    talks = talks[np.argsort(flows.start_ns[talks], kind="stable")]
    hears = np.flatnonzero((flows.dst == code) & moves)
    given, said = hears[~control[hears]], flows.start_ns[talks]
    known = needed[talks].copy()
    for i in np.flatnonzero(control[talks] & (known < 0)):
        payload = [row for row in talks[i:] if not control[row]]
        known[i] = needed[payload[0]] if payload and needed[payload[0]] <= said[i] else -1
    done = np.array([max(flows.end_ns[talks[:i]], default=0) for i in range(len(talks))], np.int64)
    base = np.maximum(done, last(flows.end_ns[given], said))
    base = np.where(known >= 0, np.maximum(done, np.minimum(known, said)), base)
    work = np.maximum(said - base, 0)
    called = np.zeros(len(talks), np.int64)
    for i, row in enumerate(talks):
        heard = hears[(flows.src[hears] == flows.dst[row]) & (control[hears] | (known[i] < 0))]
        called[i] = last(flows.end_ns[heard], flows.start_ns[[row]])[0]
    answer = said - called
    heard = called > 0
    told = heard & (known >= 0) & ~control[talks]
    prompt = 4 * np.percentile(answer[heard], 10) if heard.any() else 0.0
    known_prompt = max(prompt, 4 * np.percentile(answer[told], 10)) if told.any() else prompt
    soon = np.where(known >= 0, known_prompt, prompt)
    waited = heard & (called > base) & (answer <= np.minimum(soon, 0.1 * work))
    work[waited] = answer[waited]
    busy = [sum(flows.start_ns[given] < one) > sum(flows.end_ns[given] < one) for one in said]
    work[(np.array(busy, np.bool_) & (known < 0)) | (base == 0)] = 0
    return said, work


digits = st.integers(0, 9)
codes = st.integers(0, 2)
words = st.lists(st.tuples(digits, digits, codes, codes, st.sampled_from((0, 48, 4096)), st.integers(-1, 30)), max_size=24)


@having(words)
def test_own_work_is_what_the_obvious_search_finds(some):
    later, length, src, dst, octets, needed = (
        np.array(column, np.int64) for column in (zip(*some, strict=True) if some else [[]] * 6)
    )
    start = 1 + np.cumsum(later)
    columns = {"start_ns": start, "end_ns": start + length, "src": src, "dst": dst, "octets": octets}
    flows = Flows.build(columns | {"messages": np.ones_like(src)}, endpoints=("a", "b", "c"))
    for found, expected in zip(own_work(flows, 1, needed), naively(flows, 1, needed), strict=True):
        assert found.tolist() == expected.tolist()


@having(st.lists(st.integers(-30, 30), max_size=40), st.sampled_from((2, 100)))
def test_a_tenth_is_the_quantile(values, few):
    found = waits._tenth(np.array(values, np.int64), few)
    assert found == (np.percentile(values, 10) if values else 0.0)


@having(st.lists(st.tuples(*[st.integers(0, 20)] * 5), min_size=1, max_size=12), st.data())
def test_work_of_records_at_places_is_that_of_the_records(some, data):
    start, long, src, dst, need = (np.array([one[i] for one in some], np.int64) for i in range(5))
    columns = {"start_ns": start, "end_ns": start + long, "src": src, "dst": dst, "octets": 1 + 2000 * (src % 2)}
    flows = Flows.build(columns | {"messages": np.ones_like(src)}, endpoints=tuple(map(str, range(21))))
    records = waits.send_records(flows, need - 1)
    talks, hears = (np.array(data.draw(st.lists(st.integers(0, len(some) - 1))), np.intp) for _ in range(2))
    both, first = np.concatenate([records[talks], records[hears]]), np.arange(len(talks))
    told = [column.tolist() for column in work_at(both, first, len(talks) + np.arange(len(hears)))]
    assert [column.tolist() for column in work_at(records, talks, hears)] == told


def naively_parting(small, start, end, talks, hears, ends):
    """One record at a time: is it a small one that begins after all payload of its step has come?"""
    moved = [row for row in [*talks, *hears] if not small[row]]
    out = []
    for row in talks:
        step = sum(e < start[row] for e in ends)
        own = [end[other] for other in moved if sum(e < end[other] for e in ends) == step]
        out.append(bool(small[row] and own and start[row] >= max(own)))
    return out


@having(
    st.lists(st.tuples(st.booleans(), st.integers(0, 30), st.integers(0, 5)), max_size=12),
    st.sets(st.integers(0, 30)),
    st.data(),
)
def test_what_parts_steps_is_as_the_obvious_loop_says(some, ends, data):
    small, start, long = (np.array([one[i] for one in some], kind) for i, kind in enumerate((np.bool_, np.int64, np.int64)))
    rows = st.lists(st.integers(0, len(some) - 1)) if some else st.just([])
    talks, hears = (np.array(data.draw(rows), np.intp) for _ in range(2))
    told = small, start, start + long, talks, hears, np.array(sorted(ends), np.int64)
    assert step_end_mask(*told).tolist() == naively_parting(*(column.tolist() for column in told))


@having(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 40), st.integers(1, 9), st.booleans()), max_size=40)
)
def test_what_all_endpoints_worked_is_what_each_did(some):
    src, dst, start, long, small = (np.array([one[k] for one in some], np.int64) for k in range(5))
    columns = {"start_ns": start, "end_ns": start + long, "src": src, "dst": dst, "octets": 4096 - 4000 * small}
    flows = Flows.build(columns | {"messages": np.ones_like(src)}, endpoints=("a", "b", "c"))
    records = waits.send_records(flows, np.full(len(some), -1))
    talks, hears = (counted(side, 3, np.arange(len(some))) for side in (src, dst))
    codes, ends, cuts = np.array([2, 0]), np.array([10, 30, 20]), np.array([0, 2, 3])
    said, work, what, begins = waits.work_of_ranks(records, talks, hears, codes)
    small, parting_rows = small > 0, []
    for k, code in enumerate(codes):
        own = np.flatnonzero(src == code), np.flatnonzero(dst == code)
        alone = work_at(records, *own)
        for one, column in zip(alone, (said, work, what), strict=True):
            assert one.tolist() == column[begins[k] : begins[k + 1]].tolist()
        parting_rows += own[0][step_end_mask(small, start, start + long, *own, ends[cuts[k] : cuts[k + 1]])].tolist()
    assert step_end_records(small, start, start + long, talks, hears, codes, ends, cuts).tolist() == parting_rows
