import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from collectors.clickhouse import drivers
from collectors.columns.record import Flows, Transits
from collectors.exports.evidence import Delays
from collectors.exports.evidence_store import EvidenceBuffer
from collectors.writers.sinks import NullSink
from prism.app.analysis_thread import Analysis, WatchedSink, witnessing
from prism.findings.same_finding import is_claim
from prism.live.board_changes import changes
from prism.live.live_analysis import Watch
from prism.live.stalled_process import ProcessActivity
from prism.recordings.timed_playback import moved, play, ticks
from prism.storage import live_state
from prism.storage.live_state import State, job_from, job_json
from prism.synth.scenario.specification import Cluster, Job, Spec
from prism.synth.simulation import simulate
from prism.tracking.board import Gap
from prism.tracking.flow_sources import Memory
from prism.tracking.record_windows import SECOND
from prism.tracking.timeline_stitching import job_ends
from prism.views import board_views, finding_views, timeline_views
from tests.prism.played import capture


class Clock:
    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


def now_capture():
    """A capture as if it were made just now: stores give up what is old."""
    flows, transits, topology, _ = capture("slow_nic")
    return *moved(flows, transits, time.time_ns() - int(flows.end_ns.max())), topology


def played(analysis, clock, flows, transits, sink, *, until):
    for tick in ticks(flows, transits):
        if clock.now < tick.clock_ns <= until:
            clock.now = tick.clock_ns
            sink.write(tick.flows)
            analysis.turn()


def shown(board):
    """What pages show of findings and of the past, which a restart does not change."""
    jobs = [status.found for status in board.jobs]
    return {
        "findings": finding_views.case_list(board, sorted(board.cases, key=finding_views.case_key)),
        "windows": board_views.windows(board),
        "steps": [timeline_views.steps(found)["job"]["duration_ms"][:5] for found in jobs],
    }


def test_after_a_restart_nothing_is_told_twice(tmp_path):
    pytest.importorskip("chdb")
    flows, transits, topology = now_capture()
    half, end = int(flows.end_ns.max()) - 4 * SECOND, int(flows.end_ns.max()) + SECOND
    database = drivers.opened(str(tmp_path / "store"))
    try:
        told, names, known, clock = [], [], [], Clock(int(flows.start_ns.min()))
        for until in (half, end):
            watch = Watch(topology)
            past = Memory(flows.take(flows.end_ns < clock.now))
            analysis = Analysis(watch, State(database), past=past, clock=clock)
            analysis._resume(threading.Event())
            again = [change for change in changes(watch.known, watch.boards.newest) if change.case is not None]
            assert again == []
            known.append(shown(watch.boards.newest))
            assert known[-1] == known[max(len(known) - 2, 0)]  # findings with their evidence, windows, steps
            played(analysis, clock, flows, transits, WatchedSink(NullSink(), watch, clock=clock), until=until)
            told.append({(c.id, c.opened_ns) for c in watch.boards.newest.cases if is_claim(c.finding)})
            names.append({status.id for status in watch.boards.newest.jobs})
            known.append(shown(watch.boards.newest))
        assert len(names[0]) == 1
        assert names[0] == names[1]
        assert len(told[0]) == 1
        assert told[0] == told[1]
        assert analysis.failed == analysis.unsaved == 0
        (gap,) = watch.boards.newest.gaps
        assert half - 4 * SECOND < gap.begin_ns < gap.end_ns < half + 2 * SECOND
        assert len(watch.boards.newest.windows) > len(known[1]["windows"]) > 3
    finally:
        database.close()


class Asked(Memory):
    """Records that remember for what they were asked."""

    def __init__(self, flows):
        super().__init__(flows)
        self.for_what = []

    def between(self, start_ns, end_ns, *, endpoints=(), limit=None):
        self.for_what.append((start_ns, end_ns, tuple(endpoints)))
        return super().between(start_ns, end_ns, endpoints=endpoints, limit=limit)


class Saved:
    """A state that is loaded once."""

    def __init__(self, jobs, until):
        self.jobs, self.until = jobs, until

    def load(self):
        return live_state.Saved(self.jobs, (), self.until)


def test_after_a_restart_a_job_with_long_steps_is_judged_at_once():
    """Its window holds five minutes; new jobs are sought in two."""
    long = Job(dp=4, steps=40, forward_ms=4000, backward_ms=8000, transport="tcp", gradient_octets=20_000_000)
    made = simulate(Spec("long", Cluster(hosts=4, nic_gbit=4.0), (long,)), seed=3)
    flows, names = made.flows, tuple(made.truth["jobs"])
    until = int(flows.start_ns.min()) + 450 * SECOND
    before = Watch()
    for _ in play(before, (tick for tick in ticks(flows, Transits.empty(), every_s=10.0) if tick.clock_ns <= until)):
        pass
    (known,) = (job_from(job_json(one)) for one in before.jobs)
    assert 11 < known.step_ns / SECOND < 14
    past = Asked(flows.take(flows.start_ns < until))
    watch = Watch()
    analysis = Analysis(watch, Saved((known,), until), stored=past, clock=Clock(until))
    analysis._resume(threading.Event())
    assert past.for_what[0] == (until - 120 * SECOND, until, ())
    since, end, members = past.for_what[1]
    assert (end, set(members)) == (until - 120 * SECOND, set(known.job.endpoints))
    assert 20 * known.step_ns < until - since < 28 * known.step_ns
    board = watch.analyse_window(until)
    assert [len(job_ends(status.found.timeline)) >= 20 for status in board.jobs] == [True] * len(names)


@pytest.mark.parametrize(("left", "asked"), [([300, 200, 0], 3), ([300] * 99, 4)])
def test_after_a_restart_windows_wait_for_what_lay_in_the_spool_but_not_for_long(left, asked):
    made = simulate(Spec("short", Cluster(hosts=4), (Job(dp=4, steps=8),)), seed=3)
    past, answers = Asked(made.flows), iter(left)
    until = int(made.flows.end_ns.max())

    def spooled():
        assert not past.for_what  # they are in what is read then
        return next(answers)

    analysis = Analysis(Watch(), Saved((), until), past=past, spooled=spooled, patience_s=0.2, clock=Clock(until))
    analysis._resume(threading.Event())
    assert len(left) - len(list(answers)) == asked
    assert past.for_what


def test_records_that_others_store_are_analysed_once_each():
    flows, _, topology, _ = capture("two_jobs")
    clock = Clock(int(flows.start_ns.min()))
    memory = Memory(flows.take(np.arange(0)))
    analysis = Analysis(Watch(topology), stored=memory, clock=clock)
    while clock.now < int(flows.end_ns.max()):
        clock.now += SECOND
        memory.flows = flows.take(flows.end_ns <= clock.now)
        analysis.turn()
    board = analysis.watch.boards.newest
    assert abs(board.source.flows - len(flows)) <= 0.02 * len(flows)
    assert len(board.jobs) == 2
    assert not [case for case in board.cases if is_claim(case.finding)]


def test_while_the_process_is_held_up_nothing_is_analysed_and_what_was_lost_is_a_gap():
    first, activity = 1000 * SECOND, ProcessActivity()
    clock, watch, seen = Clock(first), Watch(), {}
    analysis = Analysis(watch, activity=activity, clock=clock)
    stopped, going = first + 8 * SECOND, first + 14 * SECOND
    for now in range(first, first + 20 * SECOND, SECOND // 10):
        clock.now = now
        if stopped <= now < going:
            continue
        if now == going:
            assert not analysis.turn()  # the analysis goes on before what listens does
        activity.mark_running(now)
        columns = {"start_ns": [now - 10], "end_ns": [now - 5], "src": [0], "dst": [1], "octets": [9]}
        watch.add(Flows.build(columns, endpoints=("10.0.0.1", "10.0.0.2")), now)
        analysis.turn()
        seen[now] = watch.boards.newest.revision
    before = seen[stopped - SECOND // 10]
    assert before > 3
    assert {seen[now] for now in seen if going <= now < going + SECOND} == {before}
    assert seen[max(seen)] > before + 1
    assert watch.boards.newest.gaps == (Gap(stopped - SECOND // 10 - 5, going - 5, "paused"),)


def test_a_window_that_fails_is_counted_and_the_next_one_comes():
    flows, _, topology, _ = capture("two_jobs")
    watch, stop = Watch(topology), threading.Event()
    analysis = Analysis(watch, clock=Clock(int(flows.end_ns.max()) + 60 * SECOND))
    watch.analyse_window = lambda _now: 1 / 0
    watch.add(flows, int(flows.end_ns.max()))
    thread = threading.Thread(target=analysis.run, args=(stop,))
    thread.start()
    while analysis.failed < 1:
        time.sleep(0.01)
    assert thread.is_alive()
    stop.set()
    thread.join()
    counts = {count.name: count for count in analysis.counts()}
    assert counts["prism_analysis_failed"].values[()] >= 1
    assert analysis.health()["failed"] >= 1
    assert not analysis.health()["ok"]  # though there never was a window, whose lag could be told


def test_both_have_the_records():
    flows, _, _, _ = capture("two_jobs")
    sink, watch = NullSink(), Watch()
    both = WatchedSink(sink, watch)
    both.write(replace(flows))
    both.tick(0)
    watch.take()
    assert sink.records == len(watch.recent) == len(flows)
    assert list(both.counts())
    both.close()


def test_delays_that_exporters_tell_of_are_on_the_shelf():
    told, watch = EvidenceBuffer(), Watch(None)
    hand_on = witnessing(told.drain, watch, clock=lambda: 10 * SECOND)
    for time_ns, name in ((SECOND, "leaf0"), (2 * SECOND, "leaf1")):
        told.add([Delays.build({"time_ns": [time_ns], "exporter": [0], "delay_ns": [7000]}, exporters=(name,))])
        hand_on()
        hand_on()
    watch.take()
    found = watch.recent.transits(0, 10 * SECOND)
    assert [found.exporters[code] for code in found.sender] == ["leaf0", "leaf1"]
    assert found.delay_ns.tolist() == [7000, 7000]


class Counted(Memory):
    """Records that count how often they are read."""

    def __init__(self, flows):
        super().__init__(flows)
        self.reads = 0

    def between(self, *args, **given):
        self.reads += 1
        return super().between(*args, **given)


def test_a_store_without_records_is_read_seldom_and_one_with_records_every_second():
    flows, *_ = capture("slow_nic")
    begin, empty = int(flows.start_ns.min()), flows.take(np.zeros(0, np.intp))
    for records, least, most in ((empty, 3, 5), (flows, 15, 21)):
        stored, clock = Counted(records), Clock(begin)
        analysis = Analysis(Watch(), stored=stored, clock=clock)
        for _ in range(400):
            clock.now += SECOND // 20
            analysis.turn()
        assert least <= stored.reads <= most
