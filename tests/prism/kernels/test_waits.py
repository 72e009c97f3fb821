"""Own work told from waiting, on endpoint 1 between what it is given and what it says."""

import numpy as np
import pytest

from prism.kernels.waits import own_work, typical_work
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


def test_typical_work_leaves_out_the_turns_of_a_collective():
    said = np.array([10, 20, 30, 40, 50, 110, 120, 310])
    work = np.array([30, 30, 32, 1, 1, 60, 1, 7])
    ends = np.array([100, 200, 300])
    typical, largest, total = typical_work(said, work, ends)
    assert typical == pytest.approx([30, 60, np.nan], nan_ok=True)
    assert largest == pytest.approx([32, 60, np.nan], nan_ok=True)
    assert total == pytest.approx([94, 61, np.nan], nan_ok=True)
