"""Rhythms on streams whose steps are known, since they were made so."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism.loops.periods.stream_rhythm import FOREVER, NONE, rhythm

MS = 1_000_000


def stream(steps, *, records=6, within=1, between=40, hang=(), tail=None, lead=0, seed=0):
    """Records of `steps` steps, each larger than the one before it, and the true step ends.

    `hang`: pauses before a record (step, record, ms); `lead`, `tail`: records of a step of which only a part was seen.
    """
    chance = np.random.default_rng(seed)
    pauses = {(step, record): ms for step, record, ms in hang}
    start, length, size, ends = [], [], [], []
    clock = 0.0
    parts = [(-1, lead)] * (lead > 0) + [(k, records) for k in range(steps)] + [(steps, tail)] * (tail is not None)
    for step, count in parts:
        for record in range(count):
            clock += within * chance.uniform(0.5, 1.0) + pauses.get((step, record), 0)
            start.append(clock)
            length.append(2.0)
            size.append(1000 + 300 * record)
            clock += 2.0
        if 0 <= step < steps:
            ends.append(clock)
        clock += between * chance.uniform(0.8, 1.4)
    start, length = np.array(start), np.array(length)
    as_ns = [(x * MS).astype(np.int64) for x in (start, start + length)]
    return (*as_ns, np.array(size, np.int64)), (np.array(ends) * MS).astype(np.int64)


@settings(max_examples=60)
@given(st.integers(4, 40), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_steps_of_equal_volume_are_found_whatever_time_they_take(steps, records, seed):
    (start, end, octets), ends = stream(steps, records=records, seed=seed)
    found = rhythm(start, end, octets)
    assert found.quiet[:, 0].tolist() == ends.tolist()
    assert found.octets == octets[:records].sum()
    assert found.explained == 1
    assert found.quiet[-1, 1] == FOREVER
    assert (found.quiet[:-1, 1] == start[np.arange(1, steps) * records]).all()


@settings(max_examples=60)  # hangs may stand where a third of all steps ends
@given(st.integers(8, 30), st.integers(2, 8), st.data())
def test_hangs_within_a_step_are_no_steps(steps, records, data):
    place = st.tuples(st.integers(0, steps - 1), st.integers(1, records - 1), st.sampled_from([60, 500, 5000]))
    hangs = data.draw(st.lists(place, max_size=steps // 4))
    (start, end, octets), ends = stream(steps, records=records, hang=hangs, seed=steps)
    assert rhythm(start, end, octets).quiet[:, 0].tolist() == ends.tolist()


@pytest.mark.parametrize("hangs", [[(0, 1, 60)], [(2, 1, 500), (3, 1, 500)]], ids=["in the first step", "a full volume apart"])
def test_hangs_where_they_are_most_like_steps(hangs):
    (start, end, octets), ends = stream(8, records=2, hang=hangs, seed=8)
    assert rhythm(start, end, octets).quiet[:, 0].tolist() == ends.tolist()


@settings(max_examples=60)  # rarely steps are taken three at a time
@given(st.integers(6, 30), st.integers(2, 8), st.data())
def test_a_capture_may_begin_and_end_within_a_step(steps, records, data):
    lead, tail = data.draw(st.integers(0, records - 1)), data.draw(st.integers(1, records - 1))
    (start, end, octets), ends = stream(steps, records=records, lead=lead, tail=tail, seed=steps)
    assert rhythm(start, end, octets).quiet[:, 0].tolist() == ends.tolist()


def test_micro_batches_are_no_steps():
    """Four equal volumes a little apart, then the wide gap that ends a step."""
    (start, end, octets), ends = stream(15, records=8, hang=[(s, r, 6) for s in range(15) for r in (2, 4, 6)])
    assert rhythm(start, end, octets).quiet[:, 0].tolist() == ends.tolist()


def test_equal_records_are_no_steps_either():
    (start, end, octets), ends = stream(20, records=5, lead=2, tail=3)
    assert rhythm(start, end, np.full_like(octets, 1000)).quiet[:, 0].tolist() == ends.tolist()


def test_a_long_pause_now_and_then_joins_no_steps():
    (start, end, octets), ends = stream(24)
    late = np.arange(24) // 10 * 4000 * MS
    at = np.repeat(late, 6)
    assert rhythm(start + at, end + at, octets).quiet[:, 0].tolist() == (ends + late).tolist()


@pytest.mark.parametrize("n", [0, 1, 2])
def test_two_records_are_no_rhythm(n):
    (start, end, octets), _ = stream(n, records=1)
    assert rhythm(start, end, octets) is NONE
    assert NONE.period_ns == 0
    assert NONE.rest == 0


def test_chance_is_no_rhythm():
    chance = np.random.default_rng(0)
    start = np.cumsum(chance.exponential(10 * MS, 300)).astype(np.int64)
    found = rhythm(start, start + MS, np.exp(chance.normal(10, 2, 300)).astype(np.int64))
    assert not len(found.quiet)


def test_rest_and_period():
    (start, end, octets), ends = stream(20, within=0, between=40)
    found = rhythm(start, end, octets)
    assert found.period_ns == np.median(np.diff(ends))
    assert found.rest == pytest.approx(1 - 12 * MS / found.period_ns, abs=0.03)


@given(st.integers(-(2**40), 2**61))
def test_time_has_no_beginning(by):
    (start, end, octets), ends = stream(6)
    assert (rhythm(start + by, end + by, octets).quiet[:, 0] == ends + by).all()


def test_pauses_of_two_kinds_are_no_steps():
    """Evaluations part equal volumes; checkpoints, every so many other steps, show that these are no steps."""
    pauses = [(s, 0, 900) for s in range(5, 26, 5)] + [(s, 0, 800) for s in range(7, 26, 7)]
    (start, end, octets), ends = stream(26, records=1, hang=pauses)
    assert rhythm(start, end, octets, pauses=True).quiet[:, 0].tolist() == ends.tolist()


def grouped(groups, every, *, parts=1, extra=0, jitter=0.0, pause=400):
    """Steps of `parts` equal records between evaluations, which come after `every` of them; `extra` steps follow the last.

    The time between steps varies by `jitter`.
    """
    start, clock, ends, rng = [], 0.0, [], np.random.default_rng(1)
    for step in range(groups * every + extra):
        for part in range(parts):
            start.append(clock)
            clock += 2 + (12 if part < parts - 1 else 0)
        ends.append(clock)
        clock += (40 if (step + 1) % every else pause) * (1 + jitter * rng.normal())
    times = np.rint(np.array(start) * MS).astype(np.int64)
    return (times, times + 2 * MS, np.full(len(times), 1000, np.int64)), np.rint(np.array(ends) * MS).astype(np.int64)


@pytest.mark.parametrize("extra", [0, 1])
def test_few_groups_of_steps_that_have_parts_are_told_by_those(extra):
    records, ends = grouped(5, 5, parts=4, extra=extra)
    assert rhythm(*records, pauses=True).quiet[:, 0].tolist() == ends.tolist()


@pytest.mark.parametrize(
    ("groups", "parts", "pause"),
    [*((*many, pause) for many in ((5, 1), (5, 4), (8, 4)) for pause in (60, 100, 150, 400)), (8, 1, 60)],
)
def test_groups_of_steps_that_take_each_its_own_time_are_none(groups, parts, pause):
    """However long evaluations are, and however often they come; unless steps may be buckets, that leave a forward pass."""
    records, ends = grouped(groups, 5, parts=parts, jitter=0.03, pause=pause)
    assert rhythm(*records, pauses=True).quiet[:, 0].tolist() == ends.tolist()


def test_somebody_else_may_tell_how_often_steps_come():
    records, ends = grouped(6, 5, extra=2)
    assert len(rhythm(*records, pauses=True).quiet) == 6
    assert rhythm(*records, pauses=True, often=33).quiet[:, 0].tolist() == ends.tolist()
    assert len(rhythm(*records, pauses=True, often=11).quiet) == 6  # nothing comes so often


def test_steps_between_evaluations_are_steps_though_some_end_with_a_checkpoint():
    """Three of the eighteen gaps within groups are checkpoints, too."""
    chance, clock, starts, ends = np.random.default_rng(4), 0.0, [], []
    for step in range(22):
        for part in range(4):
            starts.append(clock)
            clock += 2.0 + (10 + chance.uniform(0, 1)) * (part < 3)
        ends.append(clock)
        clock += 57 + chance.uniform(0, 3) + 57 * (step % 7 == 6) + 315 * (step % 5 == 4)
    start = (np.array(starts) * MS).astype(np.int64)
    found = rhythm(start, start + 2 * MS, np.full(len(start), 500_000), pauses=True)
    assert np.abs(found.quiet[:, 0] - np.array(ends) * MS).max() < MS
    assert len(found.quiet) == 22
