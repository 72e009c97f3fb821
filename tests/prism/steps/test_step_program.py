import numpy as np
import pytest

from prism.steps import constants as c
from prism.steps._step_program import Period, _lags, _power, period_of, whole_step
from prism.steps.examined_traffic import repetition_of
from prism.steps.record_sequences import chosen
from prism.steps.traffic_clock import Clock, clock_of
from tests.prism.steps.made import buckets, sequences
from tests.prism.traffic import training


@pytest.mark.parametrize("made", [{}, {"jitter": 0.3}, {"hang": (2, 7)}, {"steps": 60}, {"period": 600_000}, {"period": 20}])
def test_a_step_is_the_shortest_word_that_repeats(made):
    found = sequences(buckets(**made)[0])
    clock = clock_of(found, chosen(found))
    assert clock.parts / period_of(clock).bins == pytest.approx(made.get("steps", 10), rel=0.02)


def test_noise_has_no_period():
    rng = np.random.default_rng(3)
    density = rng.poisson(1.0, (8, c.BINS)).astype(float)
    pace = rng.standard_normal(c.BINS)
    assert period_of(Clock(np.cumsum(np.r_[0, np.exp(pace)]), density, False, 1 << 20)) is None


def test_a_step_of_one_record_per_connection_is_found_though_smoothing_rounds_its_lag_down():
    records, parts = 20, c.LEAST_BINS
    step = parts / records  # 409.6 bins: the lag of coarse scales is 408
    place = np.arange(parts) / step % 1
    density = np.exp(-(((place - 0.5) * 8) ** 2))[None]
    clock = Clock(np.cumsum(np.r_[0.0, 1 + 50 * (place > 0.9)]), density, True, records)
    spectra = np.concatenate([_power(density), _power(clock.pace(2.0))[None]])
    assert _lags(spectra, 32, clock)[0].min() == pytest.approx(step, abs=4)


def idle(times, apart=64):
    """A clock of equal parts of traffic, with these idle times `apart` bins from each other."""
    spent = np.ones(apart * (len(times) + 1))
    spent[apart * np.arange(1, len(times) + 1)] = times
    return Clock(np.concatenate([[0.0], np.cumsum(spent)]), np.ones((1, len(spent))), bursts=True, records=1 << 20)


def test_steps_are_found_though_each_bin_has_as_many_messages():
    assert period_of(idle(np.full(15, 400.0), apart=1024)).bins == pytest.approx(1024, rel=0.001)


BUCKETS, CRASH = [50, 50, 50, 400], [50, 20_000]
LAYERS = [5] * 6 + [10] * 12


@pytest.mark.parametrize(
    ("times", "step"),
    [
        (np.concatenate([np.tile(BUCKETS, 8), CRASH, np.tile(BUCKETS, 14)]), 4),
        (np.concatenate([np.tile(LAYERS, 3), LAYERS[:7], [20_000], np.tile(LAYERS, 9)]), 18),
        (np.tile([8, 8.1], 40), 1),
    ],
)
def test_idle_times_that_repeat_after_several_buckets_or_layers_show_the_step(times, step):
    clock = idle(times)
    assert whole_step(clock, Period(64, 1.0, clock.pace(2.0))).bins == pytest.approx(64 * step, rel=0.01)


def test_an_interruption_of_each_fifth_step_of_some_makes_no_longer_steps():
    clock = idle(np.tile([8, 8, 8, 8, 60], 5))
    assert whole_step(clock, Period(64, 1.0, clock.pace(2.0))).bins == 64


@pytest.mark.parametrize(("dp", "pp"), [(8, 1), (4, 2), (4, 4)])
@pytest.mark.parametrize("every", [4, 5, 10])
@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_a_pause_after_every_kth_step_makes_no_longer_steps(dp, pp, every, share):
    took = 3 * 20.0 * pp  # ms: forward and backward through the stages
    steps = 8 * every
    wire = training(dp=dp, pp=pp, steps=steps, pause=lambda step, _: share * took * (step % every == every - 1))
    found = repetition_of(sequences(wire))
    assert found.clock.parts / found.step == pytest.approx(steps, rel=0.02)


@pytest.mark.parametrize("rest", [50, 300, 600])
def test_buckets_of_a_step_remain_if_it_is_paused_after_some_steps(rest):
    clock = idle(np.tile(BUCKETS * 4 + [50, 50, 50, 400 + rest], 8))
    assert whole_step(clock, Period(64, 1.0, clock.pace(2.0))).bins == pytest.approx(4 * 64, rel=0.01)


def test_pauses_after_each_fifth_step_do_not_hide_that_steps_have_parts():
    """One part of a step rests less than the two others: a forward pass before a backward one."""
    clock = idle(np.tile([54, 108, 108] * 4 + [54, 108, 2000], 5))
    assert whole_step(clock, Period(64, 1.0, clock.pace(2.0))).bins == pytest.approx(3 * 64, rel=0.01)


def test_long_pauses_after_some_steps_do_not_hide_that_steps_have_layers():
    steps = [[*LAYERS[:-1], 12_000 if k in (6, 7, 13, 15, 20) else LAYERS[-1]] for k in range(23)]
    clock = idle(np.concatenate(steps))
    assert whole_step(clock, Period(64, 1.0, clock.pace(2.0))).bins == pytest.approx(18 * 64, rel=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_what_repeats_seldom_and_not_quite_after_no_whole_number_of_steps_is_chance(seed):
    """Other traffic makes idle times longer and shorter again."""
    step = np.arange(36)
    scatter = 0.13 * np.random.default_rng(seed).normal(size=36)
    clock = idle(390 * (1 + 0.15 * np.sin(2 * np.pi * step / 9.4) + scatter))
    assert whole_step(clock, Period(64, 1.0, clock.pace(2.0))).bins == 64


def test_pauses_after_most_fourth_steps_make_no_longer_steps():
    paused = [50, 50, 50, 50, 8, 50]  # after steps 4, 8, ...: a checkpoint or an evaluation, but not after all of them
    clock = idle(np.concatenate([[8, 8, 8, pause] for pause in paused * 2]))
    assert whole_step(clock, Period(64, 1.0, clock.pace(2.0))).bins == 64


@pytest.mark.parametrize(
    ("took", "step"), [([72, 72, 90, 72, 72, 93, 72, 93, 99], 9), ([72, 72, 72, 72, 72, 72, 72, 72, 99], 1)]
)
def test_layers_differ_at_several_places_of_a_step_though_their_longest_idle_times_hardly_do(took, step):
    parts = np.tile(took, 16)
    spent = np.repeat(parts / 64, 64)
    spent[32::64] = 10 + parts / 50
    clock = Clock(np.concatenate([[0.0], np.cumsum(spent)]), np.ones((1, len(spent))), bursts=True, records=1 << 20)
    assert whole_step(clock, Period(64, 1.0, clock.pace(2.0))).bins == pytest.approx(64 * step, rel=0.01)


def test_equal_steps_remain_though_the_clock_divides_an_idle_time_of_some():
    """Two bins of the clock hold an idle time in two of seven steps, one holds it in the others."""
    spent = np.ones((28, 64))
    spent[:, 30] = 175
    spent[[k for k in range(28) if k % 7 in (4, 5)], 30:36] = [145, 1, 1, 1, 1, 31]
    clock = Clock(np.concatenate([[0.0], np.cumsum(spent)]), np.ones((1, spent.size)), bursts=False, records=1 << 20)
    assert whole_step(clock, Period(64, 1.0, clock.pace(2.0))).bins == 64


def gathering(steps, rest):
    """Micro-batches of 64 parts of traffic in 400 ms, then after each fourth 22 parts more, so many ms later: their clock."""
    micro = np.ones(64)
    micro[20] = 400 - 63
    gather = np.ones(22)
    gather[0] = rest
    spent = np.tile(np.concatenate([np.tile(micro, 4), gather]), steps)
    return Clock(np.concatenate([[0.0], np.cumsum(spent)]), np.ones((1, len(spent))), bursts=True, records=1 << 20)


@pytest.mark.parametrize(("steps", "rest", "step"), [(14, 30, 4 * 64 + 22), (4, 600, 64)])
def test_a_gather_after_several_micro_batches_ends_a_step_and_a_few_evaluations_do_not(steps, rest, step):
    clock = gathering(steps, rest)
    assert whole_step(clock, Period(64, 1.0, clock.pace(2.0))).bins == pytest.approx(step, rel=0.01)


@pytest.mark.parametrize("copied", [1, 3])
@pytest.mark.parametrize("slow", [[], [4, 4, 4, 3]])
def test_buckets_of_a_step_are_found_though_the_recording_begins_with_a_copy_of_the_model(copied, slow):
    """Nothing rests during the copy; the first step may be slower than others."""
    usual = np.array([200, 200, 200, 740])
    clock = idle(np.concatenate([np.ones(copied), np.multiply(slow, usual) if slow else [], np.tile(usual, 20)]))
    assert whole_step(clock, Period(64, 1.0, clock.pace(2.0))).bins == pytest.approx(4 * 64, rel=0.01)
