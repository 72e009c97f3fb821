"""Windows of several jobs: each job is analysed as often as it shows something new."""

from collections import Counter
from dataclasses import replace

import pytest

from collectors.columns.record import Transits
from prism.live import live_analysis
from prism.live.live_analysis import Watch
from prism.recordings.timed_playback import play, ticks
from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.synth.simulation import simulate

FAST = Job(dp=4, steps=90, forward_ms=100, backward_ms=200, gradient_octets=4_000_000)
SLOW = Job(name="B", dp=4, steps=12, forward_ms=800, backward_ms=1600, gradient_octets=4_000_000, first_host=4, begin_s=0.2)


@pytest.fixture
def looked(monkeypatch):
    """How many windows of each job were analysed, by its first endpoint; each leaves a note of that endpoint unexplained."""
    seen, analysed = Counter[str](), live_analysis.diagnose_windows

    def counted(executor, works):
        works = list(works)
        for work, found in zip(works, analysed(executor, works), strict=True):
            if work is not None and work.known is not None:
                seen[work.job.endpoints[0]] += 1
            yield found and replace(found, unexplained=(work.job.endpoints[0],))

    monkeypatch.setattr(live_analysis, "diagnose_windows", counted)
    return seen


def played(*faults):
    made = simulate(Spec("run", Cluster(hosts=8, nic_gbit=8.0), (FAST, SLOW), faults), seed=3)
    return list(play(Watch(), ticks(made.flows, Transits.empty(), every_s=0.25)))


def test_a_job_of_long_steps_is_analysed_less_often_than_one_of_short_steps(looked):
    boards = played()
    assert len(boards[-1].jobs) == 2
    fast, slow = (number for _, number in sorted(looked.items()))
    assert 0 < 3 * slow <= 2 * fast


def test_what_a_window_left_unexplained_is_told_until_the_next_one_of_the_job(looked):
    boards = [board for board in played() if len(board.jobs) == 2]
    assert len(boards) > 8
    assert all(looked.keys() <= set(board.unexplained) for board in boards[1:])


def test_a_job_of_which_something_may_be_wrong_is_analysed_soon(looked):
    played(Fault("compute_slow", job="B", ranks=(2,), first=8, stop=12, factor=2.0))
    slow = looked.pop(max(looked))
    looked.clear()
    played()
    assert slow > 2 * looked.pop(max(looked))
