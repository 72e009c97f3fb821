import pytest

from prism.live import by_clock, play_files, rate
from tests.prism.played import PCAPS, boards, capture


def test_a_speed_is_a_number_or_max():
    assert (rate("10"), rate("0"), rate("max")) == (10, 0, 0)
    for text in ("-1", "fast", "nan", "inf"):
        with pytest.raises(ValueError, match="--speed"):
            rate(text)


def test_the_clock_of_the_recording_is_waited_for():
    now, slept = [100.0], []

    def sleep(seconds):
        slept.append(round(seconds, 6))
        now[0] += seconds

    wait = by_clock(10, clock=lambda: now[0], sleep=sleep)
    for at in (5_000_000_000, 6_000_000_000, 6_500_000_000):
        assert wait(at)
    assert slept == [0.1, 0.05]
    now[0] += 5  # the analysis took long: nothing is waited for, nothing is skipped
    assert wait(7_000_000_000)
    assert len(slept) == 2


def test_files_tell_what_boards_do():
    _, _, topology, _ = capture("two_jobs")
    inputs = [(path.name.split(".")[0], str(path)) for path in sorted((PCAPS / "two_jobs").glob("*.pcap.gz"))]
    lines = list(play_files(inputs, topology, speed=0))
    assert sum(" job " in text and "running" in text for text in lines) == len(boards("two_jobs")[-1].jobs) == 2
    assert not any("opened" in text for text in lines)
