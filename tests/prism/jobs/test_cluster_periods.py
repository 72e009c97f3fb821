import numpy as np
import pytest

from prism.jobs.cluster_periods import in_step, parts_by_size, repeats
from tests.prism.jobs.made import MS, edge, rhythm, steps


def beat(count=12, period=100.0, *, jitter=0.01, seed=0, bursts=(0.0, 5.0, 40.0), later=0.0):
    times, _ = steps(count, period, jitter=jitter, seed=seed, bursts=bursts)
    return rhythm([edge(k, (k + 1) % 4, times + later + 0.1 * k) for k in range(4)])


def test_marks_are_the_bounds_of_steps():
    found = beat()
    assert len(found.marks) == 13
    assert np.median(np.diff(found.marks)) == pytest.approx(100 * MS, rel=0.1)
    assert found.regularity > 0.6
    assert repeats(found.edges, found.marks)


def test_parts_of_one_job_are_locked_whatever_they_send():
    assert in_step(beat(), beat(bursts=(20.0, 60.0), later=3.0))


def test_strangers_are_not_locked():
    assert not in_step(beat(), beat(period=83.0, seed=1))
    assert not in_step(beat(40, jitter=0.03), beat(40, jitter=0.03, seed=1)), "twins drift"


def varied(seed, *, scalar_at=90.0, scalars=1_000):
    """Work that varies within steps of varying duration, and a reduction of a scalar that all join."""
    begins = 100.0 * np.arange(12) + np.random.default_rng(9).uniform(-20, 20, 12)
    work = begins + np.random.default_rng(seed).uniform(0, 60, 12)
    pairs = [(k, (k + 1) % 4) for k in range(4)]
    starts = [np.concatenate([work, begins + scalar_at]) for _ in pairs]
    sizes = np.repeat([1_000_000, scalars], 12)
    edges = []
    for pair, own in zip(pairs, starts, strict=True):
        order = np.argsort(own)
        edges.append(edge(*pair, own[order], sizes[order]))
    return rhythm(edges)


def test_scalar_reductions_lock_parts_whose_work_varies():
    assert in_step(varied(1), varied(2))
    assert not in_step(varied(1), varied(2, scalar_at=70.0)), "twins with another phase"
    assert not in_step(varied(1), varied(2, scalars=2_000))


def test_without_steps_nothing_is_locked():
    chance = np.random.default_rng(0)
    noise = rhythm([edge(0, 1, np.sort(chance.uniform(0, 1000, 30)), chance.integers(1000, 10**6, 30))])
    assert not repeats(noise.edges, noise.marks)
    assert not in_step(noise, beat())


def test_messages_of_one_size_are_constant_where_others_vary():
    times, begins = steps(12)
    chance = np.random.default_rng(0)
    sizes = np.where(np.arange(len(times)) % 3 == 0, 1_000_000, chance.integers(2_000, 900_000, len(times)))
    mixed = edge(0, 1, times, sizes)
    (part,) = parts_by_size(mixed)
    assert len(part.rows) == 12
    marks = ((begins - 1) * MS).astype(np.int64)
    assert repeats([mixed], marks)
    assert repeats([edge(0, 1, times)], marks)
    assert [len(part.rows) for part in parts_by_size(edge(0, 1, times))] == [len(times)]


def test_volumes_are_equal_wherever_marks_cut_a_burst():
    times, begins = steps(12, bursts=tuple(float(k) for k in range(20)))
    marks = ((begins + 7 + 3 * np.sin(np.arange(12))) * MS).astype(np.int64)
    assert repeats([edge(0, 1, times)], marks)


def test_lost_records_leave_volumes_equal_and_records_at_random_are_not():
    chance = np.random.default_rng(1)
    times, begins = steps(20, bursts=tuple(float(k) for k in range(40)))
    marks = ((begins - 1) * MS).astype(np.int64)
    assert repeats([edge(0, 1, times[chance.random(len(times)) > 0.05])], marks)
    assert not repeats([edge(0, 1, np.sort(chance.uniform(100, 2000, 800)))], marks)


def test_traffic_in_few_steps_does_not_follow_them():
    copies = rhythm([edge(4, 5, [200.0, 600.0, 1000.0])])
    assert not in_step(beat(), copies)


def test_hand_overs_of_varying_length_repeat_where_as_much_goes_back():
    times, begins = steps(12)
    octets = np.random.default_rng(2).integers(100_000, 900_000, len(times))
    marks = ((np.append(begins, begins[-1] + 100) - 1) * MS).astype(np.int64)
    forth, back = edge(0, 1, times, octets), edge(1, 0, times + 20, octets)
    norm = edge(2, 3, begins + 60, 8)
    assert repeats([forth, back, norm], marks)
    assert not repeats([forth, edge(1, 0, times + 20, octets[::-1].copy()), norm], marks)
    assert not repeats([forth, back], marks), "inference"


def test_records_larger_than_steps_are_no_loss():
    times, begins = steps(12)
    sizes = np.where(np.arange(len(times)) >= 18, 1_000_000, 50_000 + 1_000 * np.arange(len(times)))
    marks = ((np.append(begins, begins[-1] + 100) - 1) * MS).astype(np.int64)
    assert not repeats([edge(0, 1, times, sizes)], marks[:8])
