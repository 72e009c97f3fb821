import os
import signal

import pytest

from prism.live.live_analysis import Watch
from prism.recordings.live_replay import by_clock, play_files, rate
from prism.recordings.stored_replay import through
from prism.recordings.timed_playback import play, ticks
from prism.workers.distributed_analysis import StoredSource
from prism.workers.executors import workers
from prism.workers.worker_cluster import scheduled
from tests.collectors.builders.servers import running
from tests.prism.played import PCAPS, boards, capture


def test_a_speed_is_a_number_or_max():
    assert (rate("10"), rate("0"), rate("max")) == (10, 0, 0)
    assert rate("0.001") == 0.001
    for text in ("-1", "fast", "nan", "inf", "1e-300", "5e-324"):
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


class Dying:
    """Records of a store whose first reader is killed at it; the mark says that it was."""

    def __init__(self, where, mark):
        self.kept, self.mark, self.home = StoredSource(where), mark, os.getpid()

    def between(self, start_ns, end_ns, *, endpoints=(), limit=None):
        if os.getpid() != self.home and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.kept.between(start_ns, end_ns, endpoints=endpoints, limit=limit)


def claims(told):
    return [[(c.id, c.state, c.finding.ids, c.finding.confidence) for c in board.cases] for board in told]


def test_workers_of_a_cluster_read_their_jobs_rows_and_give_the_same_result_though_one_is_killed(tmp_path):
    distributed = pytest.importorskip("distributed")
    flows, transits, topology, _ = capture("slow_nic")
    here = boards("slow_nic")
    with (
        running(tmp_path / "server") as server,
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1"
        ) as cluster,
        workers(1, cluster.scheduler_address) as executor,
    ):
        stored = through(server.url, flows)
        dying = Dying(server.url, tmp_path / "dead")
        watch = Watch(topology, executor=executor, kept=dying)
        there = list(play(watch, ticks(stored, transits)))
    assert dying.mark.exists()
    assert any(map(len, claims(here)))
    assert claims(there) == claims(here)
    assert [[status.id for status in board.jobs] for board in there] == [[s.id for s in board.jobs] for board in here]


def test_who_has_no_workers_is_waited_for_once_and_the_same_is_reported():
    distributed = pytest.importorskip("distributed")
    flows, transits, topology, _ = capture("slow_nic")
    here = boards("slow_nic")
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address="127.0.0.1:0", host="127.0.0.1", protocol="tcp://"
        ) as cluster,
        scheduled(cluster.scheduler_address, idle_s=0.5) as executor,
    ):
        there = list(play(Watch(topology, executor=executor), ticks(flows, transits)))
        assert not executor.health()["working"]
    assert claims(there) == claims(here)
