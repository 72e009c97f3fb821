import numpy as np

from prism.live.stalled_process import Pulse, hole

S = 1_000_000_000


def test_who_goes_on_is_settled():
    pulse = Pulse()
    assert pulse.settled(5 * S)  # nobody listens here
    for second in range(10, 20):
        pulse.beat(second * S)
        assert pulse.settled(second * S + S // 2)
    assert pulse.take() is None


def test_nothing_is_analysed_before_what_waited_is_taken():
    pulse = Pulse()
    pulse.beat(10 * S)
    assert not pulse.settled(14 * S)  # no beat yet
    pulse.beat(15 * S)
    assert not pulse.settled(15 * S + S // 2)
    pulse.beat(16 * S)
    assert pulse.settled(16 * S)
    assert pulse.take() == (10 * S, 15 * S)
    assert pulse.take() is None


def test_two_pauses_in_a_row_are_one():
    pulse = Pulse()
    for second in (10, 15, 20):
        pulse.beat(second * S)
    assert pulse.take() == (10 * S, 20 * S)


def ends(*seconds):
    return (np.array(seconds) * S).astype(np.int64)


def test_only_what_is_missing_is_a_gap():
    rng = np.arange(0, 40, 0.25)
    assert hole(ends(*rng), 10 * S, 20 * S) is None  # all of it waited in the buffers
    assert hole(ends(*rng[(rng < 12) | (rng > 20)]), 10 * S, 20 * S) == (11.75 * S, 20.25 * S)
    assert hole(ends(*rng[(rng < 10) | (rng > 14)]), 10 * S, 20 * S) is None  # most of it came: the job rested
    assert hole(ends(*rng[(rng < 20) | (rng > 35)]), 10 * S, 19 * S) is None
    assert hole(ends(), 1, 2) is None
    assert hole(ends(5), 1, 2) is None
