from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.edges import edges_of
from prism.loops.communicators.handover_test import Tide, _floor, _in_flight, _merged, _tide, _usual, handings, handover
from tests.prism.traffic import MS, T0, Wire


def test_an_exchange_in_which_one_side_is_late_leaves_nothing_in_flight():
    wire = Wire()
    for step in range(20):
        for k in range(4):
            wire.send(0, 1, 100_000, T0 + (step * 100 + k) * MS)
            wire.send(1, 0, 100_000, T0 + (step * 100 + k + 2) * MS)
    own = edges_of(wire.flows())
    assert handover(own[0, 1], own[1, 0]) is None


@pytest.mark.parametrize("again", [0, 24])
def test_what_never_came_back_when_a_job_crashed_was_in_flight(again):
    """Activations come in bursts of two, gradients one by one; the last step is cut short before they come back.

    Of what went there in it some octets may have been sent `again`.
    """
    wire = Wire()
    for step in range(8):
        for k in range(4):
            wire.send(0, 1, 100_000 + again * (step == 7), T0 + (step * 150 + k // 2 * 10 + k % 2 * 0.08) * MS)
            if step < 7:
                wire.send(1, 0, 100_000, T0 + (step * 150 + 40 + k * 10) * MS)
    own = edges_of(wire.flows())
    found = handover(own[0, 1], own[1, 0])
    assert found is not None
    assert len(found.first.empty) == 7


@pytest.mark.parametrize(("every", "deep"), [(3, 4), (3, 8), (5, 4)])
def test_steps_between_long_evaluations_are_steps(every, deep):
    """Evaluations take all but a little of the time for which a pair rests."""
    wire, at = Wire(), T0
    for step in range(15):
        for k in range(deep):
            wire.send(0, 1, 100_000, at + k * 30 * MS)
            wire.send(1, 0, 100_000, at + (deep + k) * 30 * MS)
        at += (60 * deep + 40 + 3000 * (step % every == every - 1)) * MS
    own = edges_of(wire.flows())
    found = handover(own[0, 1], own[1, 0])
    assert found is not None
    assert len(found.first.empty) == 15


def test_too_little_gives_no_result():
    wire = Wire()
    wire.send(0, 1, 1000, T0)
    wire.send(1, 0, 1000, T0 + MS)
    own = edges_of(wire.flows())
    assert handover(own[0, 1], own[1, 0]) is None


def test_pairs_asked_at_once_are_told_what_each_is_alone():
    wire = Wire()
    for step in range(12):
        for k in range(4):
            for pair, late in enumerate((40, 2, 25)):
                wire.send(2 * pair, 2 * pair + 1, 100_000, T0 + (step * 150 + k * 10) * MS)
                wire.send(2 * pair + 1, 2 * pair, 100_000, T0 + (step * 150 + late + k * 10) * MS)
    wire.send(6, 7, 1000, T0)
    wire.send(7, 6, 1000, T0 + MS)
    own = edges_of(wire.flows())
    pairs = [(own[a, a + 1], own[a + 1, a]) for a in (0, 2, 4, 6)]
    told, alone = handings(pairs), [handover(*pair) for pair in pairs]
    assert [found is None for found in told] == [found is None for found in alone] == [False, True, False, True]
    for one, other in zip(told, alone, strict=True):
        for a, b in zip(one or (), other or (), strict=True):
            assert (a.busy, a.empty.tolist(), a.rest) == (b.busy, b.empty.tolist(), b.rest)


pauses = st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 9)), min_size=2, max_size=30)


@given(pauses)
def test_levels_and_tides_are_the_obvious_loops(some):
    level, idle = (np.array(column, np.float64) for column in zip(*some, strict=True))
    stays = {own: idle[np.abs(level - own) <= 1].sum() for own in sorted(set(level.tolist()))}
    order, longest = np.argsort(level), max(stays, key=stays.__getitem__)
    assert _usual(level, idle, 1.0, order).tolist() == (np.abs(level - longest) <= 1).tolist()
    assert _floor(level, idle, order) == min(own for own in stays if idle[level <= own].sum() >= 0.02 * idle.sum())
    calm = level <= 1
    visits = [list(own) for low, own in groupby(range(len(level)), key=lambda i: calm[i]) if low]
    rests = np.array([idle[own].max() for own in visits])
    working = idle[~calm]
    usual = min(
        min((rest for rest in own if own[own <= rest].sum() >= own.sum() / 2), default=np.inf) for own in (rests, working)
    )
    visits = [own for own, rest in zip(visits, rests, strict=True) if rest >= usual / 4 or own[-1] == len(idle) - 1]
    tide = Tide(*_tide(np.arange(len(level)), level, idle, 1.0))
    assert tide.empty.tolist() == [own[0] for own in visits]
    assert tide.busy == idle[~calm].sum() / idle.sum()
    assert tide.rest == (np.median([idle[own].max() for own in visits]) if visits else 0.0)
    parts = [(idle[own][~calm[own]].sum(), idle[own].sum()) for k in range(12) if len(own := _part(len(idle), k))]
    assert _in_flight(calm, idle) == pytest.approx(np.median([away / whole for away, whole in parts]))


@given(st.lists(st.integers(0, 20), max_size=30), st.lists(st.integers(0, 20), max_size=30))
def test_two_series_are_merged_as_if_they_were_sorted(one, other):
    both = np.array([*one, *other], np.int64)
    assert _merged(both[: len(one)], both[len(one) :]).tolist() == np.argsort(both, kind="stable").tolist()


def _part(n, k):
    """The places of the k-th of twelve parts of n."""
    return np.flatnonzero(np.arange(n) * 12 // n == k)
