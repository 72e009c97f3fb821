import numpy as np

from prism.live.stalled_process import ProcessActivity, record_gap

S = 1_000_000_000


def test_who_goes_on_is_settled():
    activity = ProcessActivity()
    assert activity.settled(5 * S)  # nobody listens here
    for second in range(10, 20):
        activity.mark_running(second * S)
        assert activity.settled(second * S + S // 2)
    assert activity.take() is None


def test_nothing_is_analysed_before_what_waited_is_taken():
    activity = ProcessActivity()
    activity.mark_running(10 * S)
    assert not activity.settled(14 * S)  # no beat yet
    activity.mark_running(15 * S)
    assert not activity.settled(15 * S + S // 2)
    activity.mark_running(16 * S)
    assert activity.settled(16 * S)
    assert activity.take() == (10 * S, 15 * S)
    assert activity.take() is None


def test_two_pauses_in_a_row_are_one():
    activity = ProcessActivity()
    for second in (10, 15, 20):
        activity.mark_running(second * S)
    assert activity.take() == (10 * S, 20 * S)


def ends(*seconds):
    return (np.array(seconds) * S).astype(np.int64)


def test_only_what_is_missing_is_a_gap():
    rng = np.arange(0, 40, 0.25)
    assert record_gap(ends(*rng), 10 * S, 20 * S) is None  # all of it waited in the buffers
    assert record_gap(ends(*rng[(rng < 12) | (rng > 20)]), 10 * S, 20 * S) == (11.75 * S, 20.25 * S)
    assert record_gap(ends(*rng[(rng < 10) | (rng > 14)]), 10 * S, 20 * S) is None  # most of it came: the job rested
    assert record_gap(ends(*rng[(rng < 20) | (rng > 35)]), 10 * S, 19 * S) is None
    assert record_gap(ends(), 1, 2) is None
    assert record_gap(ends(5), 1, 2) is None
