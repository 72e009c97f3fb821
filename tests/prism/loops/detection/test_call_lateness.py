import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.intervals import weighted_median
from prism.loops.detection.call_lateness import first_of, firsts, lateness
from tests.prism.traffic import on_end

MS = 1_000_000
RANKS, STEPS, CALLS = 4, 6, 5
NEVER = np.iinfo(np.int64).max


def on_time(*_):
    return 0.0


def ring(late=on_time, calls=CALLS):
    """Build the sends of a ring: each rank's own part at the begin of a call, the rest after the last rank has begun."""
    sent = [[] for _ in range(RANKS)]
    clock = 0.0
    for step in range(STEPS):
        for call in range(calls):
            begun = [clock + late(step, call, rank) for rank in range(RANKS)]
            for rank, own in enumerate(sent):
                own.append((begun[rank], begun[rank] + 1, 10))
                own.append((max(begun) + 1.1, max(begun) + 2, 30))
            clock = max(begun) + 12
        clock += 20
    tables = [np.array(own) for own in sent]
    begins = (tables[0][:: 2 * calls, 0] * MS).astype(np.int64) - 1
    return [
        ((t[:, 0] * MS).astype(np.int64), (t[:, 1] * MS).astype(np.int64), t[:, 2].astype(np.int64)) for t in tables
    ], begins


def test_the_late_one_is_late_in_every_call():
    sent, begins = ring(lambda step, _call, rank: 3.0 * ((step, rank) in ((2, 1), (3, 1))))
    late = lateness(on_end(sent), begins)
    assert late is not None
    assert late[1] / MS == pytest.approx([0, 0, 15, 15, 0, 0], abs=0.01)
    assert late[[0, 2, 3]].max() == 0


def test_few_calls_give_no_result():
    sent, begins = ring(calls=3)
    assert lateness(on_end(sent), begins) is None


def test_who_sent_nothing_in_a_step_is_unknown():
    sent, begins = ring()
    silent = [tuple(column[: -2 * CALLS] for column in one) if rank == 2 else one for rank, one in enumerate(sent)]
    late = lateness(on_end(silent), begins)
    assert late is not None
    assert np.isfinite(late[:, :-1]).all()
    assert np.isnan(late[:, -1]).all()


def test_where_others_begin_as_late_nobody_is_named():
    """A rank that has sent its own part waits in the call; this pause may be wider than the one before the call."""
    sent, begins = ring()
    for start, end, _ in sent[1:3]:
        for times in (start, end):
            times[4 * CALLS : 6 * CALLS : 2] += 3 * MS
    late = lateness(on_end(sent), begins)
    assert late is not None
    assert late.max() == 0


def slowly(sent, begins, share=0.1, least=4):
    """`call_lateness`, edge by edge and call by call."""

    def resumes(start, end, _):
        gap = np.maximum(start[1:] - np.maximum.accumulate(end)[:-1], 0)
        return np.append(0, np.flatnonzero(gap >= max(share * weighted_median(gap, gap), 1.0)) + 1), np.append(NEVER, gap)

    def done(octets, at):
        return np.append(0, np.cumsum(octets))[at]

    calls = [resumes(*one)[0] for one in sent]
    fewest = int(np.argmin([len(first) for first in calls]))
    (start, _, octets), first = sent[fewest], calls[fewest]
    step = np.searchsorted(begins, start[first], "right") - 1
    first, step = first[step >= 0], step[step >= 0]
    if len(first) < least * len(begins):
        return None
    into = done(octets, first) - done(octets, np.searchsorted(start, begins[step]))
    slack = float(np.median(np.diff(done(octets, first)))) / 4
    begun = np.full((len(sent), len(step)), np.nan)
    for edge, (start, end, octets) in enumerate(sent):
        gap, before = resumes(start, end, octets)[1], done(octets, np.arange(len(start)))
        for call, (k, octet) in enumerate(zip(step, into, strict=True)):
            near = np.abs(before - done(octets, np.searchsorted(start, begins[k])) - octet) <= slack
            at = max(np.flatnonzero(near), key=lambda i: (gap[i], -i), default=None)
            if at is not None and np.searchsorted(begins, start[at], "right") - 1 == k:
                begun[edge, call] = start[at]
    out, known = np.zeros((len(sent), len(begins))), np.isfinite(begun).all(axis=0)
    for call in np.flatnonzero(known):
        *_, other, last = np.sort(begun[:, call])
        out[np.argmax(begun[:, call]), step[call]] += last - other
    return np.where(np.bincount(step[known], minlength=len(begins)) > 0, out, np.nan)


edges = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(1, 3)), min_size=20, max_size=40)


@given(st.lists(edges, min_size=3, max_size=4), st.integers(1, 3))
def test_lateness_is_that_of_each_call(some, steps):
    sent = []
    for edge in some:
        pause, long, octets = np.array(edge, np.int64).T
        sent.append((np.cumsum(pause + long) - long, np.cumsum(pause + long), octets.copy()))
    begins = np.array([-1, 40, 80])[:steps]
    told, found = slowly(sent, begins), lateness(on_end(sent), begins)
    assert (found is None) == (told is None)
    assert told is None or np.array_equal(found, told, equal_nan=True)


@given(st.lists(st.lists(st.integers(0, 30)), min_size=1, max_size=3), st.lists(st.integers(0, 30), max_size=5))
def test_the_first_time_in_each_step(times, later):
    begins = np.array([np.iinfo(np.int64).min, *sorted(later)], np.int64)
    flat, cuts = np.array([t for one in times for t in one], np.int64), np.cumsum([0, *map(len, times)])
    ends = [*begins[1:], np.inf]
    told = [[min((t for t in one if a < t <= b), default=np.nan) for a, b in zip(begins, ends, strict=True)] for one in times]
    assert np.array_equal(firsts(flat, cuts, begins), np.array(told, np.float64), equal_nan=True)
    for one, own in zip(times, told, strict=True):
        start = np.array(sorted(one), np.int64)
        since, until = first_of(start, start + 5, begins)
        assert np.array_equal(since, np.array(own, np.float64), equal_nan=True)
        assert np.array_equal(until, since + 5, equal_nan=True)
