import numpy as np
import pytest

from prism.kernels.lateness import lateness

MS = 1_000_000
RANKS, STEPS, CALLS = 4, 6, 5


def on_time(*_):
    return 0.0


def ring(late=on_time, calls=CALLS):
    """What each rank of a ring sends on: its own part at once in every call, the rest when the last one has begun."""
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
    late = lateness(sent, begins)
    assert late is not None
    assert late[1] / MS == pytest.approx([0, 0, 15, 15, 0, 0], abs=0.01)
    assert late[[0, 2, 3]].max() == 0


def test_few_calls_say_nothing():
    assert lateness(*ring(calls=3)) is None


def test_who_sent_nothing_in_a_step_is_unknown():
    sent, begins = ring()
    silent = [tuple(column[: -2 * CALLS] for column in one) if rank == 2 else one for rank, one in enumerate(sent)]
    late = lateness(silent, begins)
    assert late is not None
    assert np.isfinite(late[:, :-1]).all()
    assert np.isnan(late[:, -1]).all()


def test_where_others_begin_as_late_nobody_is_named():
    """Whoever has sent its own part waits in the call, and that pause may be wider than the one before the call."""
    sent, begins = ring()
    for start, end, _ in sent[1:3]:
        for times in (start, end):
            times[4 * CALLS : 6 * CALLS : 2] += 3 * MS
    late = lateness(sent, begins)
    assert late is not None
    assert late.max() == 0
