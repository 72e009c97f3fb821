from dataclasses import replace

import numpy as np

from prism.steps._step_program import period_of
from prism.steps._step_tracking import tracked
from prism.steps.record_sequences import chosen
from prism.steps.step_ends import Mean, end_of, folded, labelled
from prism.steps.traffic_clock import clock_of
from tests.prism.steps.made import buckets, sequences


def test_a_step_ends_where_its_operations_rest_longest():
    found = sequences(buckets()[0])
    picked = chosen(found)
    clock = clock_of(found, picked)
    places = tracked(clock, period_of(clock))
    mean = labelled(folded(clock, places, found, picked), clock, places, found)
    assert mean.spent.sum() == 1 or abs(mean.spent.sum() - 1) < 1e-9
    at = int(end_of(mean)[0] * len(mean.spent))
    assert mean.spent[at] == mean.spent.max()
    assert np.isclose(mean.turned(5).spent[0], mean.spent[5])


def test_small_messages_of_a_few_steps_are_no_scalar_reduction_of_each():
    wire, _ = buckets(steps=20, signal=False)
    for step in (2, 8, 17):  # one of many sizes of experts' messages
        wire.send(0, 1, 100 * step + 60, 12_288, long=0.1)
    found = sequences(wire)
    picked = chosen(found)
    clock = clock_of(found, picked)
    mean = folded(clock, tracked(clock, period_of(clock)), found, picked)
    assert found.small[picked].any()
    assert not mean.small.any()


def made(idle: dict[int, float], reduced: list[int], others: list[int], last: int = -1) -> Mean:
    """Make a mean step of 32 phases, idle in some of them; two classes of operations are active in the others."""
    spent = np.full(32, 0.01)
    spent[list(idle)] = list(idle.values())
    moved = np.zeros((2, 32))
    moved[0, reduced], moved[1, others] = 1 / len(reduced), 1 / len(others)
    none = np.zeros(2, np.bool_)
    return Mean(spent / spent.sum(), moved, np.arange(2), none, none, moved.sum(0) / 2, *moved, last=last)


def test_a_step_ends_between_the_reduction_and_other_traffic_but_layers_show_no_end():
    others, idle = [8, 9, 10, 11, 24, 25, 26, 27], {13: 0.3, 29: 0.2}
    assert 3 <= end_of(made(idle, [0, 1, 2, 3], others))[0] * 32 < 9
    assert 12 <= end_of(made(idle, [0, 1, 2, 3, 16, 17, 18, 19], others))[0] * 32 < 15


def test_layers_that_reduce_one_by_one_end_a_step_though_it_rests_longer_between_them():
    gathered, reduced = [*range(4), 10, 11, 14, 15, 18, 19, 22, 23], [12, 13, 16, 17, 20, 21, 24, 25]
    assert end_of(made({9: 0.3, 16: 0.3, 28: 0.1}, reduced, gathered))[0] * 32 == 28.5


def test_of_two_equal_idle_times_the_one_at_which_the_job_ended_ends_a_step():
    both = [*range(8), *range(16, 24)]
    for last in (12, 28):
        found = end_of(made({12: 0.3, 28: 0.3}, both, both, last))[0] * 32
        assert abs(found - last) <= 2


def test_of_equal_idle_times_that_after_the_longer_half_ends_a_step():
    idle = {
        0: 0.05,
        4: 0.05,
        8: 0.05,
        12: 0.05,
        16: 0.05,
        20: 0.1,
        24: 0.1,
        28: 0.1,
    }
    every = [phase for phase in range(32) if phase not in idle]
    assert int(end_of(made(idle | {0: 0.1}, every, every))[0] * 32) == 0


def test_of_two_idle_times_the_longer_one_ends_a_step_though_it_precedes_little_of_the_traffic():
    """Gradients in two buckets, the first small: the forward pass moves nothing, so no half of the traffic is that pass."""
    idle = {6: 4.0, 31: 5.5}
    every = [phase for phase in range(32) if phase not in idle]
    for turn in range(0, 32, 5):
        turned = {(phase + turn) % 32: spent for phase, spent in idle.items()}
        own = [(phase + turn) % 32 for phase in every]
        mean = made(turned, own, own)
        alone = replace(mean, moved=mean.moved[:1], kind=mean.kind[:1], small=mean.small[:1], signals=mean.signals[:1])
        assert int(end_of(alone)[0] * 32) == (31 + turn) % 32


def with_scalar(idle: dict[int, float], scalar: int, begins: int) -> Mean:
    """Make a mean step with two buckets of gradients and a scalar reduction, of which a recording may begin at a phase."""
    buckets = [*range(1, 15), *range(17, 30)]
    step = made(idle, buckets, buckets)
    moved = np.concatenate([step.moved, np.zeros((1, 32))])
    moved[2, scalar] = 1.0
    return replace(step, moved=moved, kind=np.arange(3), small=np.arange(3) == 2, signals=np.arange(3) == 2, begins=begins)


def test_a_recording_that_begins_between_buckets_does_not_say_where_steps_end():
    """It may hold a whole number of steps all the same; the scalar and the longest idle time say where they end."""
    part = with_scalar({15: 0.2, 31: 0.6}, scalar=31, begins=15)
    assert abs(end_of(part)[0] * 32 - 31) <= 1
    assert not part.may_begin_after(end_of(part)[0])


def test_a_recording_that_begins_elsewhere_than_after_a_scalar_begins_a_step_unless_that_rests_far_longer():
    whole = with_scalar({15: 0.4, 31: 0.6}, scalar=31, begins=15)
    assert int(end_of(whole)[0] * 32) == 15
    assert whole.may_begin_after(end_of(whole)[0])


def test_a_scalar_that_uses_the_lanes_of_gradients_ends_a_step_though_it_follows_the_end_of_a_long_burst():
    """Its phase holds little of the payload, though the burst before it ends there."""
    mean = with_scalar({7: 0.3, 15: 0.3, 23: 0.3}, scalar=29, begins=-1)
    ended = np.where(np.arange(32) == 29, 1.0, 0.0)
    assert end_of(replace(mean, reduced=ended, others=np.zeros(32))) == (29.5 / 32, True)
    assert int(end_of(replace(mean, reduced=ended, others=np.zeros(32), payload=ended))[0] * 32) != 29


def test_a_step_ends_with_the_parameters_that_are_gathered_after_the_scalar_though_other_payload_follows_at_once():
    """ZeRO-1 with context parallelism: scalar, optimizer, gather, then the forward pass, whose first payload does not wait."""
    gathered, sent, reduced = [1, 2, 3, 4], [*range(5, 20)], [*range(24, 28)]
    step = made({0: 0.1, 20: 0.3, 22: 0.3}, [*gathered, *reduced], sent)
    moved = np.concatenate([step.moved, np.zeros((1, 32))])
    moved[2, 31] = 1.0
    small = np.arange(3) == 2
    assert end_of(replace(step, moved=moved, kind=np.arange(3), small=small, signals=small)) == (4.5 / 32, False)


def test_signals_are_where_they_come_in_time_though_other_sequences_built_the_clock():
    """Scalars between ranks that exchange nothing else, in the longest idle time of each step."""
    wire, _ = buckets(steps=12, signal=False)
    for step in range(12):
        wire.send(0, 2, 100 * step + 90, 68)
    found = sequences(wire)
    picked = chosen(found)
    clock = clock_of(found, picked)
    places = tracked(clock, period_of(clock))
    mean = labelled(folded(clock, places, found, picked), clock, places, found)
    assert mean.signals.sum() == 1
    assert mean.moved[mean.signals][0].argmax() == mean.spent.argmax()


def reductions_only(idle: dict[int, float], last: int, first: int) -> Mean:
    """Make a mean step of one class of reductions, with the phases of the last and of the first record."""
    every = [phase for phase in range(32) if phase not in idle]
    both = made(idle, every, every, last)
    one = {"moved": both.moved[:1], "kind": both.kind[:1], "small": both.small[:1], "signals": both.signals[:1]}
    return replace(both, **one, others=np.zeros(32), first=first)


def test_a_job_of_reductions_that_closed_its_connections_ended_a_step_though_it_rests_longer_elsewhere():
    idle = {12: 0.2, 28: 0.6}
    assert end_of(reductions_only(idle, last=12, first=13)) == (12.5 / 32, False)
    assert int(end_of(reductions_only(idle, last=-1, first=13))[0] * 32) == 28, "it did not close its connections"


def test_a_job_that_began_beside_a_longer_idle_time_than_its_last_may_have_crashed():
    idle = {4: 0.25, 12: 0.2, 28: 0.6}
    assert int(end_of(reductions_only(idle, last=12, first=5))[0] * 32) == 12
    assert int(end_of(reductions_only(idle, last=12, first=4))[0] * 32) == 28


def test_what_a_recording_begins_with_does_not_end_a_step_though_it_is_gathered_after_the_scalar():
    """ZeRO-3 gathers for the forward pass at once, which looks like ZeRO-1's gather after the optimizer."""
    gathered, sent, reduced = [1, 2, 3, 4], [*range(5, 20)], [*range(24, 28)]
    step = made({4: 0.1, 20: 0.3, 22: 0.3}, [*gathered, *reduced], sent)
    moved = np.concatenate([step.moved, np.zeros((1, 32))])
    moved[2, 31] = 1.0
    mean = replace(step, moved=moved, kind=np.arange(3), small=np.arange(3) == 2, signals=np.arange(3) == 2)
    assert end_of(mean) == (4.5 / 32, False)
    assert end_of(replace(mean, begins=0)) == (31.5 / 32, True)
