from dataclasses import replace

import numpy as np
import pytest

from collectors.columns.record import TCP
from prism.steps.examined_traffic import repetition_of
from prism.steps.record_sequences import sequences_of
from prism.steps.step_bounds import steps_of
from tests.prism.evidence.made import Wire
from tests.prism.steps.made import MS, buckets, sequences


def test_a_repetition_that_is_known_is_used_at_other_times_too():
    first = sequences(buckets(jitter=0.1)[0])
    found = repetition_of(first)
    again = replace(first, origin=first.origin + 5 * MS)
    moved = replace(found, origin=found.origin + 5 * MS)
    assert steps_of(again, moved).examined is moved
    assert np.array_equal(steps_of(again, moved).times, steps_of(again).times)


def test_traffic_outside_a_known_repetition_is_examined():
    first = sequences(buckets(jitter=0.1)[0])
    found = repetition_of(first)
    longer = sequences(buckets(jitter=0.1, steps=20)[0])
    assert found.covers(first)
    assert not found.covers(longer)
    assert len(steps_of(longer, found).complete) > len(steps_of(first).complete)


def test_small_sequences_that_come_when_they_like_do_not_hide_the_steps():
    """Ranks also send 5 kB to the next one at random times, as a library does: six times on each of eight connections."""
    wire, rng = Wire([f"a{i}" for i in range(4)]), np.random.default_rng(0)
    for step in range(20):
        wire.ring([0, 1, 2, 3], 100 * step, 2_000_000, long=10)
    for connection in range(8):
        for at in rng.uniform(0, 1995, 6).tolist():
            wire.send(connection % 4, (connection + 1) % 4, at, 5000, port=2000 + connection)
    flows = wire.flows()
    found = sequences_of(replace(flows, protocol=np.full(len(flows), TCP, np.uint8)), np.arange(len(flows)))
    assert found.bursts
    assert np.count_nonzero(found.small) == 8
    examined = repetition_of(found)
    assert examined is not None
    assert len(examined.places) == 19
    assert np.allclose(np.diff(examined.clock.times(examined.places)), 100 * MS, rtol=0.1)


@pytest.mark.parametrize("steps", [23, 40])
def test_a_message_after_each_seventh_step_does_not_hide_the_steps(steps):
    """One rank sends another 3 kB in three steps of all, a value that is logged."""
    wire, _ = buckets(steps=steps, signal=False)
    for k in range(3):
        wire.send(0, 1, 100 * (3 + 7 * k) + 95, 3000)
    found = repetition_of(sequences(wire))
    assert found is not None
    assert found.clock.parts / found.step == pytest.approx(steps, rel=0.02)


def layers(passes, *, count=6, every=5, steps=24):
    """A sharded model on four ranks: gathers forward, gathers and reductions backward; after some steps an evaluation, which is
    so many forward passes and half of one. Also the ends of steps, ns from the first record.
    """
    wire, ring, at, ends = Wire([f"a{i}" for i in range(4)]), [0, 1, 2, 3], 0.0, []
    for step in range(steps):
        evaluated = count * passes + count // 2 if step and step % every == 0 else 0
        for _ in range(evaluated + count):
            wire.ring(ring, at, 1_000_000, long=2.0)
            at += 20
        for _ in range(count):
            wire.ring(ring, at + 30, 1_000_000, long=2.0)
            wire.ring(ring, at + 38, 600_000, long=2.0)
            at += 50
        at -= 5
        ends.append(at)
    return sequences(wire), np.array(ends) * MS


@pytest.mark.parametrize(("passes", "every", "steps"), [(4, 5, 24), (1, 7, 30)])
def test_evaluations_after_equal_numbers_of_steps_do_not_make_these_one_step(passes, every, steps):
    found, ends = layers(passes, every=every, steps=steps)
    told = steps_of(found)
    assert told.complete.sum() == steps
    assert np.abs(told.times[1:][told.complete][:, None] - ends).min(axis=1).max() < 20 * MS


def experts(passes, *, every=5, steps=21):
    """Pairs of eight ranks exchange tokens, more or less, forward and backward, and a ring reduces gradients; after some steps
    an evaluation, which is so many forward passes. Also the number of steps.
    """
    wire, at, rng = Wire([f"a{i}" for i in range(8)]), 0.0, np.random.default_rng(2)
    for step in range(steps):
        evaluated = 6 * passes if step % every == every - 1 and step < steps - every else 0
        for k in range(12 + evaluated):
            for rank in range(8):
                wire.send(rank, rank ^ 1, at, int(1_000_000 * np.exp(0.3 * rng.standard_normal())), long=2.0)
            at += 15
            if k == 11:
                wire.ring(list(range(8)), at, 400_000, long=1.0)
                at += 30
    flows = wire.flows()
    return sequences_of(replace(flows, protocol=np.full(len(flows), TCP, np.uint8)), np.arange(len(flows))), steps


@pytest.mark.parametrize("passes", [2, 3])
def test_a_few_evaluations_after_equal_numbers_of_steps_repeat_too_seldom_to_be_steps(passes):
    found, steps = experts(passes)
    repeated = repetition_of(found)
    assert repeated is not None
    assert repeated.clock.parts / repeated.step == pytest.approx(steps + 3 * passes / 2, rel=0.1)
