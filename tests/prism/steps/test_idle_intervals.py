from dataclasses import replace

import numpy as np
import pytest

from collectors.columns.record import TCP
from prism.steps._idle_intervals import idle_intervals, rests_of, shorter_than
from prism.steps.examined_traffic import repetition_of
from prism.steps.record_sequences import sequences_of
from tests.prism.steps.made import MS, buckets, sequences


def rests_of_all(found):
    return rests_of(found, np.ones(len(found.of), np.bool_), None)


def ends_found(near):
    """Idle intervals near the ends of steps of 100 ms, and when each step ends, ns."""
    wire, ends = buckets(steps=12)
    found = sequences(wire)
    examined, ends = repetition_of(found), ends - found.origin
    at = np.concatenate([[0.0], examined.clock.places(ends[:-1]), [examined.clock.parts]])
    return idle_intervals(at, examined.clock, rests_of_all(found), near * examined.step, found.life), ends


@pytest.mark.parametrize("near", [0.01, 0.025])
def test_a_step_is_followed_by_the_longest_idle_interval_near_its_end(near):
    found, ends = ends_found(near)
    assert np.abs(found[1:-1, 0] - ends[:-1]).max() <= MS
    assert np.abs(np.diff(found[1:-1]).ravel() - 54 * MS).max() <= 2 * MS
    assert (found[0] == -1).all()
    assert (found[-1] > ends[-1]).all()


def test_an_interval_that_is_known_to_hold_the_bound_is_kept():
    wire, ends = buckets(steps=12)
    found = sequences(wire)
    examined, ends = repetition_of(found), ends - found.origin
    at = np.concatenate([[0.0], examined.clock.places(ends[:-1]), [examined.clock.parts]])
    inside = np.stack([ends[:-1] - 20 * MS, ends[:-1] - 10 * MS], axis=1).astype(np.float64)
    early = idle_intervals(at, examined.clock, rests_of_all(found), 0.5 * examined.step, found.life, inside)
    assert (early[1:-1, 0] < ends[:-1] - 5 * MS).all()


def test_a_burst_that_lasts_for_steps_is_longer_than_one():
    wire, _ = buckets(steps=12)
    wire.send(0, 2, 150, 9_000_000, long=350)
    flows = wire.flows()
    found = sequences_of(replace(flows, protocol=np.full(len(flows), TCP, np.uint8)), np.arange(len(flows)))
    examined = repetition_of(sequences(buckets(steps=12)[0]))
    assert np.flatnonzero(~shorter_than(found, examined.clock, examined.step)).tolist() == [
        int(np.argmax(found.end - found.start))
    ]
    messages = sequences(wire)
    assert shorter_than(messages, examined.clock, examined.step).all(), "messages are never joined"
