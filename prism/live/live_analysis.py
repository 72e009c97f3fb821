"""Analyse records live in sliding windows, and make boards of the results. Each job has its own window of some tens of steps.

`add` may be called from another thread and returns at once. `look` analyses one window and may take long. Every job has its own
window of some tens of its steps; it begins with a step and ends at the watermark.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from itertools import chain

from collectors.columns.record import Flows, Transits
from prism.exporters import exporter_silence
from prism.exporters.exporter_silence import ExporterReception as Reception
from prism.inventory.bookings import Booking
from prism.inventory.operator_hints import Hints
from prism.jobs import recognize
from prism.live._live_bookings import named, with_seen
from prism.live._window_schedule import can_wait, window_is_due
from prism.model import Diagnosis, Finding, Job, Source
from prism.topology import Topology
from prism.tracking import case_tracking, job_tracking, outages
from prism.tracking.board import Board, Boards, Gap, JobStatus, Window
from prism.tracking.case_tracking import NO_STEPS, JobProgress, TrackedFinding
from prism.tracking.collection_gaps import CollectionGap
from prism.tracking.flow_sources import Memory, Records
from prism.tracking.job_liveness import aged, collection_silence
from prism.tracking.job_tracking import KNOWN_S, Followed, RecordRange, active_jobs, unknown
from prism.tracking.record_windows import NO_FLOWS, SECOND, Delays, RecordWindow, trimmed
from prism.tracking.step_numbers import known as numbered
from prism.tracking.substeps import supported
from prism.tracking.timeline_stitching import job_ends
from prism.views.usual_step_times import with_usual
from prism.workers.distributed_analysis import WindowWork, diagnose_windows

LATE = "arrived after its window"


class Watch:
    """Track the jobs in the records that it receives, and publish a board after each window.

    `steps` of a job, and so many `windows` and `closed` cases, are kept. Jobs are searched in `search_s`, every `every` windows
    or if there is other payload; `most_s` limits windows. `executor` analyses jobs; it reads records from `kept`, if given.
    """

    def __init__(
        self,
        topology: Topology | None = None,
        *,
        boards: Boards | None = None,
        steps: int = 4096,
        search_s: float = 120.0,
        most_s: float = 1800.0,
        every: int = 16,
        windows: int = 600,
        closed: int = 200,
        executor: Executor | None = None,
        kept: Records | None = None,
        hints: Hints | None = None,
        bookings: Callable[[], Sequence[Booking]] = tuple,
    ) -> None:
        self.topology, self.hints, self.boards, self.steps = topology, hints, boards or Boards(), steps
        self.recent, self.delays = RecordWindow(), Delays()
        self.jobs, self.tracked = tuple[Followed, ...](), tuple[TrackedFinding, ...]()
        self._search, self._most = int(search_s * SECOND), int(most_s * SECOND)
        self._every, self._closed, self._executor, self._kept, self._listed = every, closed, executor, kept, bookings
        self.bookings = dict[str, Booking]()  # by the id of the job
        self._windows, self._inbox = deque[Window](maxlen=windows), deque[tuple[Flows | Transits, int]]()
        self._taking = threading.Lock()
        self._looked = self._until = self._late = self._late_in_all = self._records = self._first = self._search_from = 0
        self._unexplained, self._notes = tuple[str, ...](), dict[str, Sequence[str]]()
        self.known, self.unheard = Board(), False  # state before a restart; whether records have stopped arriving
        self.quiet: dict[str, exporter_silence.SilentExporter] = {}  # exporters that stopped sending while others continue
        self._heard, self._told_of = dict[str, Reception](), dict[str, Reception]()
        self._by, self._blind_ns = dict[str, frozenset[str]](), dict[str, int]()  # by job
        self.gaps: tuple[Gap, ...] = ()  # gaps in collection, the newest first
        self._gap, self._whole_ns = CollectionGap(), 0  # windows do not extend over gaps before the newest
        self._anew = dict[str, int]()  # earliest begin of jobs' windows, ns

    def add(self, records: Flows | Transits, arrived_ns: int) -> None:
        """Add records that arrived, in any order. Thread-safe."""
        self._inbox.append((records, arrived_ns))

    def set_reception(self, heard: Mapping[str, Reception]) -> None:
        """Set what collectors know of all exporters. Thread-safe."""
        self.heard = self._heard = dict(heard)

    def resume(
        self,
        jobs: Sequence[Followed],
        tracked: Sequence[TrackedFinding],
        until_ns: int,
        flows: Flows = NO_FLOWS,
        *,
        collection_stopped: bool = False,
        windows: Iterable[Window] = (),
        known: Sequence[Gap] = (),
    ) -> None:
        """Continue after a restart: a watch had analysed records until `until_ns`; `flows` are the newest records before that.

        With `collection_stopped`, no records have been collected since. Known cases are published at once. Windows include that
        time, but silence in it does not count as a hang. `windows` and `known` gaps are the earlier ones, newest first.
        """
        newest = int(flows.end_ns.max(initial=0))
        self.tracked, self._until = tuple(tracked), until_ns
        self.jobs, self.bookings = named(jobs, {}, self._listed(), self.topology, until_ns)
        self._windows.extend(windows)
        self.gaps = outages.with_end(tuple(known), flows)
        self._whole_ns = max((gap.end_ns for gap in self.gaps), default=0)
        self.known = Board(at_ns=until_ns, cases=tuple(t.case for t in tracked if t.told), gaps=self.gaps)
        if collection_stopped:
            self.gaps = outages.with_gap(self.gaps, max(newest, until_ns), "restart")
        if jobs or tracked or self.gaps:
            self.boards.publish(self._board(until_ns))
        if len(flows):
            self.recent.add(flows, newest)
            self._first = int(flows.start_ns.min())
            if collection_stopped:
                self.analyse_window(min(until_ns, newest), again=True)
                self._until, self._gap = until_ns, CollectionGap(newest)

    def missed(self, gap: Gap) -> None:
        """Add a finished interval in which no records were collected."""
        self._whole_ns = max((one.end_ns for one in self.gaps), default=0)
        self.gaps, self._gap = (gap, *self.gaps)[: outages.MOST], CollectionGap(gap.begin_ns, gap.end_ns)

    def replace(self, since_ns: int, flows: Flows, now_ns: int) -> None:
        """Replace all records that start at or after a time by what a store holds now. Do not combine with `add`."""
        newest, known = self.recent.newest_ns, self.recent.replace(since_ns)
        new = flows.end_ns > newest
        taken = self.recent.add(flows, now_ns)
        self.delays.add(flows.end_ns[new], now_ns)
        self._records += max(len(taken) - known, 0)
        if len(taken) and not self._first:
            self._first = int(taken.start_ns.min())

    @property
    def until_ns(self) -> int:
        """Records have been analysed up to this time, ns; 0 before the first window."""
        return self._until

    @property
    def first_ns(self) -> int:
        """Start of the first record, ns; 0 before there are any."""
        return self._first

    def past(self, jobs: Sequence[Followed], until_ns: int) -> Iterator[RecordRange]:
        """Yield the records that `resume` needs to continue without loss; see `job_tracking.past`."""
        return job_tracking.past(jobs, until_ns, self._search, self._most)

    def due(self, clock_ns: int) -> bool:
        """Check whether a window should end now; see `window_is_due`."""
        until = self._until or self._first
        return bool(self._first) and window_is_due(self.jobs, self.tracked, until, self.watermark(clock_ns))

    def watermark(self, clock_ns: int) -> int:
        """Time up to which nearly all records have arrived, ns."""
        return clock_ns - self.delays.lag_ns

    def take(self) -> None:
        """Move queued records into the buffer."""
        with self._taking:
            while self._inbox:
                records, arrived = self._inbox.popleft()
                if isinstance(records, Transits):
                    self.recent.add_transits(records)
                    continue
                taken = self.recent.add(records, arrived)
                self.delays.add(taken.end_ns, arrived)
                late = int((taken.end_ns < self._until).sum())
                self._late, self._late_in_all = self._late + late, self._late_in_all + late
                self._records += len(records)
                self._gap, self.gaps = self._gap.over(taken), outages.with_end(self.gaps, taken)
                if len(taken):
                    self._first = min(self._first or int(taken.start_ns.min()), int(taken.start_ns.min()))

    def analyse_window(self, now_ns: int, *, last: bool = False, again: bool = False) -> Board:
        """Analyse the window that ends at `now_ns`, and publish the board; `last` if no window follows.

        If a window is analysed `again`, reported cases stay as they were.
        """
        began = time.perf_counter()
        self.take()
        self._gap = self._gap.with_window(now_ns)
        self.jobs, self.bookings = named(self.jobs, self.bookings, self._listed(), self.topology, now_ns)
        held = self._hold(now_ns)
        if self._first:
            self._search_jobs(now_ns, held)
        messages = [*collection_silence(self.recent.heard_ns, self.jobs, self._gap.excluding_gap(self.recent.heard_ns, now_ns))]
        self.unheard = bool(messages)
        messages += [*map(str, self.quiet.values()), *exporter_silence.loss_notes(self._told_of, self._heard)]
        self._told_of = self._heard
        jobs, progress, findings = [], dict[str, JobProgress](), list[Finding]()
        notes = dict[str, Sequence[str]]()  # by job
        if not (last or again):
            held = {*held, *can_wait(self.jobs, self.tracked, now_ns, self._search, self._most)}
        glances = [None if one.id in held or one.state == "ended" else self._glance(one, now_ns) for one in self.jobs]
        for one, glance, diagnosis in zip(self.jobs, glances, diagnose_windows(self._executor, glances), strict=True):
            if one.id in held:
                jobs.append(one)
                notes[one.id] = self._notes.get(one.id, ())
                continue
            seen = self._seen(one, glance, diagnosis, last) if glance else self._aged(one, now_ns)
            jobs.append(seen)
            if seen.unclear:
                continue
            known_ns = seen.met_ns + int(KNOWN_S * SECOND)
            if glance is not None and diagnosis is not None and seen.trusted:
                notes[one.id] = diagnosis.unexplained
                lost = {name: self._heard[name] for name in self._by[one.id] if name in self._heard}
                ends = job_ends(diagnosis.jobs[0].timeline) if diagnosis.jobs else NO_STEPS
                known = self._gap.outside_gap(supported(diagnosis.findings, ends, known_ns), one.step_ns)
                blind_ns = self._blind_ns.get(one.id, 0)
                findings += () if seen.doubted_ns else exporter_silence.doubt_outages(known, lost, blind_ns=blind_ns)
            if seen.trusted:
                ends = job_ends(seen.found.timeline) if seen.found else NO_STEPS
                final, began_ns = last and not one.trusted, glance.since_ns if glance else now_ns
                goes_on = seen.state == "running"
                progress[seen.id] = JobProgress(seen.step_ns, seen.talked_ns, goes_on, ends, final, began_ns, known_ns)
        self.jobs, renewed = tuple(jobs), {one.id for one in jobs if one.anew_ns == now_ns}
        tracked = case_tracking.reset_baselines(tuple(self._gap.extended(self.tracked, now_ns)), renewed)
        tracked = case_tracking.follow(tracked, findings, progress, now_ns, topology=self.topology)
        tracked = with_usual(tracked, job_tracking.analysed(self.jobs))
        tracked = case_tracking.with_unconfirmed(self.tracked, tracked) if again else tracked
        self.tracked = case_tracking.bounded(tracked, closed=self._closed)
        self._notes = notes
        self._unexplained = tuple(dict.fromkeys([*messages, *chain.from_iterable(notes.values())]))
        since, self._until = self._until, now_ns
        if now_ns > since:
            window = Window(since or self._first, now_ns, len(self.recent), self._late, time.perf_counter() - began)
            self._windows.appendleft(window)
        self._late = 0
        oldest = min((self._keep_since(one, now_ns) for one in active_jobs(self.jobs)), default=now_ns - self._search)
        self.recent.forget(oldest)
        self.boards.publish(self._board(now_ns))
        return self.boards.newest

    def _hold(self, now_ns: int) -> Collection[str]:
        """Return the jobs that cannot be judged now because an exporter is silent; their windows begin after the silence."""
        going_on = (one for one in self.jobs if one.trusted and one.state != "ended")
        since = min((self._keep_since(one, now_ns) for one in going_on), default=now_ns)
        self.quiet = exporter_silence.silent_now(self.recent, self.jobs, self._heard, self.quiet, self._by, since, now_ns)
        held = dict.fromkeys((job for one in self.quiet.values() for job in one.jobs), now_ns)
        self._anew = {one.id: self._anew[one.id] for one in self.jobs if one.id in self._anew} | held
        return set(held)

    def _search_jobs(self, now_ns: int, held: Collection[str]) -> None:
        """Search for jobs if needed; jobs that are `held` stay as they are."""
        lately = self.recent.between(self._until or self._first, now_ns)
        settled = all(one.trusted and not one.other and not one.missed and not one.doubted_ns for one in active_jobs(self.jobs))
        self._looked += 1
        if settled and self.jobs and self._looked % self._every and unknown(lately, active_jobs(self.jobs)) < 0.02:
            return
        begins = (self._since(one, now_ns, self.recent.since_ns) for one in self.jobs if one.state == "running")
        longest = now_ns - min(begins, default=now_ns)
        reach = self._search if not settled or not self.jobs else max(longest, 10 * SECOND)
        if len(flows := (within := self.recent.between(now_ns - reach, now_ns)).take(within.end_ns <= now_ns)):
            seen = recognize(flows, self.topology, unproven=True, hints=self.hints)
            self.jobs = with_seen(self.jobs, seen, held, self.bookings, now_ns, self._anew)

    def _since(self, one: Followed, now_ns: int, held_ns: int = 0) -> int:
        """Earliest begin of a job's records; its window begins there if records are held since `held_ns`."""
        earliest = one.since(now_ns, self._search, self._most, held_ns)
        return max(earliest, self._first, self._whole_ns, self._anew.get(one.id, 0), self._gap.since(one, now_ns))

    def _keep_since(self, one: Followed, now_ns: int) -> int:
        """Time from which records are kept for a job, including time before it was found, until it has been tracked for as
        long.
        """
        young = one.doubted_ns or now_ns - one.met_ns < self._search
        return min(self._since(one, now_ns), now_ns - self._search if young else now_ns)

    def _glance(self, one: Followed, now_ns: int) -> WindowWork | None:
        """Describe the analysis of a job's window; None if it has no payload, or no record has arrived since a gap."""
        if self._gap.still:
            return None
        since = self._since(one, now_ns, self.recent.since_ns)
        whole = self.recent.between(since, now_ns)
        flows = trimmed(whole.take(job_tracking.around(whole, one.job)))
        flows = self._gap.exclude_gaps(one, flows.take(flows.end_ns <= now_ns))
        job = job_tracking.locate_job(one.job, flows)
        if job is None:
            return None
        self._by[one.id] = exporter_silence.job_exporters(flows, one)
        until = self._until_when(one, job, whole, now_ns)
        return WindowWork(
            self._kept or Memory(flows),
            since,
            now_ns,
            tuple(flows.endpoints) if self._kept else (),
            job,
            (since, until),
            self._source(len(flows)),
            self.topology,
            self.recent.transits(since, now_ns),
            numbered(one.found.timeline, since) if one.found is not None and one.trusted else None,
            self.hints,
        )

    def _until_when(self, one: Followed, job: Job, whole: Flows, now_ns: int) -> int:
        """Compute the time up to which the job's window is complete; see `exporter_silence.told_until`."""
        by = self._by[one.id]
        sent = max((self._heard[name].at_ns for name in by if name in self._heard), default=0) - self.delays.lag_ns
        near = any(o.id != one.id and o.trusted and o.state != "ended" and by & self._by.get(o.id, by) for o in self.jobs)
        heard = min(now_ns, self.recent.heard_ns)
        seen = exporter_silence.seen_until(whole, by, one, job.end_ns, now_ns, heard_ns=heard, sent_ns=sent, near=near)
        until, self._blind_ns[one.id] = seen
        return until

    def _seen(self, one: Followed, glance: WindowWork, diagnosis: Diagnosis | None, last: bool) -> Followed:
        """Update a job with the diagnosis of its window."""
        one = replace(one, looked_ns=glance.now_ns)
        if diagnosis is None or not diagnosis.jobs:
            one = replace(one, lately=(), talked_ns=max(one.talked_ns, glance.job.end_ns))
            return self._aged(job_tracking.doubted(one, glance.now_ns), glance.now_ns)
        self._gap = self._gap.with_steps(one, diagnosis.jobs[0], glance.since_ns)
        one = job_tracking.after(one, diagnosis.jobs[0], glance.now_ns, kept=self.steps, last=last)
        return self._aged(self._gap.without_gaps(one, self.gaps), glance.now_ns)

    def _aged(self, one: Followed, now_ns: int) -> Followed:
        """Update a job's state after time has passed, without time in collection gaps."""
        return one if one.state == "ended" else aged(one, self._gap.excluding_gap(one.talked_ns, now_ns))

    def _source(self, flows: int) -> Source:
        every = (*self.recent.skipped.items(), (LATE, self._late_in_all))
        return Source((), 0, flows, {name: count for name, count in every if count}, self._first, self._until)

    def _board(self, now_ns: int) -> Board:
        return Board(
            revision=self.boards.newest.revision + 1,
            at_ns=now_ns,
            source=self._source(self._records),
            jobs=tuple(JobStatus(one.found, one.state) for one in self.jobs if one.found is not None and one.trusted),
            cases=tuple(sorted((t.case for t in self.tracked if t.told), key=lambda case: (-case.opened_ns, case.id))),
            windows=tuple(self._windows),
            gaps=self.gaps,
            unexplained=(*self._unexplained, *self.recent.left_out()),
            topology=self.topology,
            bookings=self.bookings,
        )
