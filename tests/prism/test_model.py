import numpy as np

from prism.model import PHASES, Phases, Severity, Spans, Timeline, shares

MS = 1_000_000
NO_SPANS = Spans(
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int8), np.zeros(0, np.int32)
)


def timeline(*ends_ms):
    steps = tuple(np.array([[end - 1, end] for end in ends], np.int64).reshape(-1, 2) * MS for ends in ends_ms)
    return Timeline(steps, (), NO_SPANS)


def test_durations_are_the_median_over_ranks():
    assert timeline([10, 20, 32], [11, 21, 31], [10, 20, 30]).durations_ms().tolist() == [10.0, 10.0]


def test_ranks_with_another_number_of_steps_are_left_out():
    assert timeline([10, 20, 30], [10, 30], [10, 20, 30]).durations_ms().tolist() == [10.0, 10.0]


def test_too_few_steps_have_no_duration():
    assert timeline([10], []).durations_ms().tolist() == []
    assert len(timeline([10]).spans) == 0


def test_a_severity_is_its_word():
    assert [str(s) for s in Severity] == ["info", "warning", "critical"]


def test_time_by_rank_and_phase_and_its_shares():
    ints = [np.array(column, np.int64) for column in ([0, 30, 0], [30, 40, 10], [0, 0, 2], [0, 0, 0])]
    idle, dp = PHASES.index("idle"), PHASES.index("dp")
    phases = Phases(ints[0], ints[1], ints[2].astype(np.int32), ints[3].astype(np.int32), np.array([dp, idle, dp], np.int8))
    time = phases.by_rank(3)
    assert time[:, dp].tolist() == [30, 0, 10]
    assert time[:, idle].tolist() == [10, 0, 0]
    assert shares(time.sum(axis=0)) == {"dp": 0.8, "idle": 0.2}
    assert shares(time[1]) == {}
