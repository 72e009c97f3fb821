"""Analyse records live in sliding windows, and make boards of the results. Each job has its own window of some tens of steps.

`add` is fast and may be called from another thread; `look` analyses one window, which starts with a step.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace

from collectors.columns.record import Flows, Transits
from prism.exporters.exporter_silence import Heard, SilentExporter, job_exporters, loss_notes, seen_until, silent_now, weaken
from prism.findings.same_finding import loud
from prism.inventory.bookings import Booking
from prism.inventory.operator_hints import Hints
from prism.jobs import recognize
from prism.live.live_bookings import met, named
from prism.model import Diagnosis, Finding, Job, Source
from prism.topology import Topology
from prism.tracking import job_tracking, outages
from prism.tracking.board import Board, Boards, Gap, JobStatus, Window
from prism.tracking.case_tracking import NO_STEPS, Trail, Watched, anew, bounded, follow, told_before, waits
from prism.tracking.collection_gaps import Deaf
from prism.tracking.flow_sources import Memory, Records
from prism.tracking.job_liveness import aged, steps_on, uneasy, unheard
from prism.tracking.job_tracking import KNOWN_S, Followed, Wanted, going, unknown
from prism.tracking.record_windows import NO_FLOWS, SECOND, Delays, Shelf, hop_ns, rest_ns, trimmed
from prism.tracking.step_numbers import known as numbered
from prism.tracking.substeps import upheld
from prism.tracking.timeline_stitching import job_ends
from prism.views.usual_step_times import with_usual
from prism.workers.distributed_analysis import Glance, all_glanced

LATE = "arrived after its window"


class Watch:
    """Follows the jobs in the records it is given.

    `steps`: how many of a job are kept. `search_s`: how far back new jobs are sought; `every` so many windows, or when there is
    payload of nobody that is followed; and their steps, `most_s` at most. So many `windows` and `closed` cases are kept.
    Jobs are looked at by the `executor` where there is one, who finds their records in what is `kept`; without, they are given.
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
        self.shelf, self.delays = Shelf(), Delays()
        self.jobs: tuple[Followed, ...] = ()
        self.trails: tuple[Trail, ...] = ()
        self._search, self._most = int(search_s * SECOND), int(most_s * SECOND)
        self._every, self._closed = every, closed
        self._executor, self._kept, self._listed = executor, kept, bookings
        self.bookings = dict[str, Booking]()  # by the id of the job
        self._windows: deque[Window] = deque(maxlen=windows)
        self._inbox: deque[tuple[Flows | Transits, int]] = deque()
        self._taking = threading.Lock()
        self._looked = self._until = self._late = self._late_in_all = self._records = 0
        self._first = self._search_from = 0
        self._unexplained: tuple[str, ...] = ()
        self.known, self.unheard = Board(), False  # what had been told before it went on; whether records have stopped coming
        self.quiet: dict[str, SilentExporter] = {}  # exporters that have fallen silent while others have not
        self._heard, self._told_of = dict[str, Heard](), dict[str, Heard]()
        self._by, self._blind_ns = dict[str, frozenset[str]](), dict[str, int]()  # of jobs
        self.gaps: tuple[Gap, ...] = ()  # in which nobody took records, the newest first
        self._deaf, self._whole_ns = Deaf(), 0  # windows do not reach back over older gaps than the newest
        self._anew = dict[str, int]()  # when windows of jobs begin at the earliest, ns

    def add(self, records: Flows | Transits, arrived_ns: int) -> None:
        """Records that arrived, in any order. From any thread."""
        self._inbox.append((records, arrived_ns))

    def hear(self, heard: Mapping[str, Heard]) -> None:
        """What collectors know of exporters now, all of it. From any thread."""
        self.heard = self._heard = dict(heard)

    def resume(
        self,
        jobs: Sequence[Followed],
        trails: Sequence[Trail],
        until_ns: int,
        flows: Flows = NO_FLOWS,
        *,
        deaf: bool = False,
        windows: Iterable[Window] = (),
        known: Sequence[Gap] = (),
    ) -> None:
        """Go on where a watch left off that had analysed records until `until_ns`; `flows` are the newest before that.

        `deaf`: nobody took records since. What was known is told at once; windows hold that time, but no job has stood still in
        it because nobody listened. `windows` and `known` gaps are those from before, the newest first.
        """
        newest = int(flows.end_ns.max(initial=0))
        self.trails, self._until = tuple(trails), until_ns
        self.jobs, self.bookings = named(jobs, {}, self._listed(), self.topology, until_ns)
        self._windows.extend(windows)
        self.gaps = outages.over(tuple(known), flows)
        self._whole_ns = max((gap.end_ns for gap in self.gaps), default=0)
        self.known = Board(at_ns=until_ns, cases=tuple(t.case for t in trails if t.told), gaps=self.gaps)
        if deaf:
            self.gaps = outages.begun(self.gaps, max(newest, until_ns), "restart")
        if jobs or trails or self.gaps:
            self.boards.publish(self._board(until_ns))
        if len(flows):
            self.shelf.add(flows, newest)
            self._first = int(flows.start_ns.min())
            if deaf:
                self.look(min(until_ns, newest), again=True)
                self._until, self._deaf = until_ns, Deaf(newest)

    def missed(self, gap: Gap) -> None:
        """Nobody took records in this time, which is over."""
        self._whole_ns = max((one.end_ns for one in self.gaps), default=0)
        self.gaps, self._deaf = (gap, *self.gaps)[: outages.MOST], Deaf(gap.begin_ns, gap.end_ns)

    def replace(self, since_ns: int, flows: Flows, now_ns: int) -> None:
        """Take all records that start from a time on, some of which are known: what a store holds now. Not beside `add`."""
        newest, known = self.shelf.newest_ns, self.shelf.replace(since_ns)
        new = flows.end_ns > newest
        taken = self.shelf.add(flows, now_ns)
        self.delays.add(flows.end_ns[new], now_ns)
        self._records += max(len(taken) - known, 0)
        if len(taken) and not self._first:
            self._first = int(taken.start_ns.min())

    @property
    def until_ns(self) -> int:
        """Up to when records have been analysed, 0 before the first window."""
        return self._until

    @property
    def first_ns(self) -> int:
        """When the first of the records started, 0 before there are any."""
        return self._first

    def past(self, jobs: Sequence[Followed], until_ns: int) -> Iterator[Wanted]:
        """The records with which `resume` goes on as if it had seen them: see `job_tracking.past`."""
        return job_tracking.past(jobs, until_ns, self._search, self._most)

    def due(self, clock_ns: int) -> bool:
        """Whether a window should end now: enough time has passed since the one before, or a step is over that it did not see.

        Less time is enough where somebody is suspected.
        """
        if not self._first:
            return False
        mark, until = self.watermark(clock_ns), self._until or self._first
        running = [one for one in self.jobs if one.trusted and one.state == "running"]
        steps = [one.step_ns for one in running]
        if mark >= until + hop_ns(steps):
            return True
        known = {t.case.finding.job for t in self.trails if t.told and t.case.state == "open" and loud(t.case.finding)}
        urgent = any(waits(t) for t in self.trails) or any(uneasy(one, mark) for one in running if one.id not in known)
        if urgent:
            return mark >= until + hop_ns(steps, urgent=True)
        return mark >= until + rest_ns(steps) and any(steps_on(one, until, mark) for one in running)

    def watermark(self, clock_ns: int) -> int:
        """Up to when nearly all records are there, ns."""
        return clock_ns - self.delays.lag_ns

    def take(self) -> None:
        """Put what came in on the shelf."""
        with self._taking:
            while self._inbox:
                records, arrived = self._inbox.popleft()
                if isinstance(records, Transits):
                    self.shelf.add_transits(records)
                    continue
                taken = self.shelf.add(records, arrived)
                self.delays.add(taken.end_ns, arrived)
                late = int((taken.end_ns < self._until).sum())
                self._late, self._late_in_all = self._late + late, self._late_in_all + late
                self._records += len(records)
                self._deaf, self.gaps = self._deaf.over(taken), outages.over(self.gaps, taken)
                if len(taken):
                    self._first = min(self._first or int(taken.start_ns.min()), int(taken.start_ns.min()))

    def look(self, now_ns: int, *, last: bool = False, again: bool = False) -> Board:
        """Analyse the window that ends at `now_ns` and publish what is known then; `last` if nothing will come after it.

        What was told stays as it was told where a window is analysed `again`.
        """
        began = time.perf_counter()
        self.take()
        self._deaf = self._deaf.looked(now_ns)
        self.jobs, self.bookings = named(self.jobs, self.bookings, self._listed(), self.topology, now_ns)
        held = self._hold(now_ns)
        if self._first:
            self._know(now_ns, held)
        words = [*unheard(self.shelf.heard_ns, self.jobs, self._deaf.spared(self.shelf.heard_ns, now_ns))]
        self.unheard = bool(words)
        words += [*map(str, self.quiet.values()), *loss_notes(self._told_of, self._heard)]
        self._told_of = self._heard
        jobs, looked_at, findings = [], dict[str, Watched](), list[Finding]()
        held = {*held, *(one.id for one in self.jobs if not last and one.can_wait(now_ns, self._search, self._most))}
        glances = [None if one.id in held or one.state == "ended" else self._glance(one, now_ns) for one in self.jobs]
        for one, glance, told in zip(self.jobs, glances, all_glanced(self._executor, glances), strict=True):
            if one.id in held:
                jobs.append(one)
                continue
            seen = self._seen(one, glance, told, last) if glance else self._aged(one, now_ns)
            jobs.append(seen)
            if seen.unclear:
                continue
            known_ns = seen.met_ns + int(KNOWN_S * SECOND)
            if glance is not None and told is not None and seen.trusted:
                words += told.unexplained
                lost = {name: self._heard[name] for name in self._by[one.id] if name in self._heard}
                ends = job_ends(told.jobs[0].timeline) if told.jobs else NO_STEPS
                known = self._deaf.beyond(upheld(told.findings, ends, known_ns), one.step_ns)
                findings += () if seen.doubted_ns else weaken(known, lost, blind_ns=self._blind_ns.get(one.id, 0))
            if seen.trusted:
                ends = job_ends(seen.found.timeline) if seen.found else NO_STEPS
                final, began_ns = last and not one.trusted, glance.since_ns if glance else now_ns
                goes = seen.state == "running"
                looked_at[seen.id] = Watched(seen.step_ns, seen.talked_ns, goes, ends, final, began_ns, known_ns)
        self.jobs, renewed = tuple(jobs), {one.id for one in jobs if one.anew_ns == now_ns}
        trails = anew(tuple(self._deaf.excused(self.trails, now_ns)), renewed)
        trails = follow(trails, findings, looked_at, now_ns, topology=self.topology)
        trails = with_usual(trails, job_tracking.analysed(self.jobs))
        self.trails = bounded(told_before(self.trails, trails) if again else trails, closed=self._closed)
        self._unexplained = tuple(dict.fromkeys(words))
        since, self._until = self._until, now_ns
        if now_ns > since:
            took = time.perf_counter() - began
            self._windows.appendleft(Window(since or self._first, now_ns, len(self.shelf), self._late, took))
        self._late = 0
        self.shelf.forget(min((self._wanted(one, now_ns) for one in going(self.jobs)), default=now_ns - self._search))
        self.boards.publish(self._board(now_ns))
        return self.boards.newest

    def _hold(self, now_ns: int) -> Collection[str]:
        """The jobs that cannot be judged now, because an exporter has fallen silent: their windows begin anew after that."""
        going_on = (one for one in self.jobs if one.trusted and one.state != "ended")
        since = min((self._wanted(one, now_ns) for one in going_on), default=now_ns)
        self.quiet = silent_now(self.shelf, self.jobs, self._heard, self.quiet, self._by, since, now_ns)
        held = dict.fromkeys((job for one in self.quiet.values() for job in one.jobs), now_ns)
        self._anew = {one.id: self._anew[one.id] for one in self.jobs if one.id in self._anew} | held
        return set(held)

    def _know(self, now_ns: int, held: Collection[str]) -> None:
        """See who trains, when there is reason to; those that are `held` stay as they are."""
        lately = self.shelf.between(self._until or self._first, now_ns)
        settled = all(one.trusted and not one.other and not one.missed and not one.doubted_ns for one in going(self.jobs))
        self._looked += 1
        if settled and self.jobs and self._looked % self._every and unknown(lately, going(self.jobs)) < 0.02:
            return
        begins = (self._since(one, now_ns, self.shelf.since_ns) for one in self.jobs if one.state == "running")
        longest = now_ns - min(begins, default=now_ns)
        reach = self._search if not settled or not self.jobs else max(longest, 10 * SECOND)
        if len(flows := (within := self.shelf.between(now_ns - reach, now_ns)).take(within.end_ns <= now_ns)):
            seen = recognize(flows, self.topology, unproven=True, hints=self.hints)
            self.jobs = met(self.jobs, seen, held, self.bookings, now_ns, self._anew)

    def _since(self, one: Followed, now_ns: int, held_ns: int = 0) -> int:
        """Since when records of a job are asked for; its window begins there if they are held since `held_ns`."""
        asked = one.since(now_ns, self._search, self._most, held_ns)
        return max(asked, self._first, self._whole_ns, self._anew.get(one.id, 0), self._deaf.since(one, now_ns))

    def _wanted(self, one: Followed, now_ns: int) -> int:
        """Since when records are kept for a job: those from before it was met too, until it has been followed for as long."""
        young = one.doubted_ns or now_ns - one.met_ns < self._search
        return min(self._since(one, now_ns), now_ns - self._search if young else now_ns)

    def _glance(self, one: Followed, now_ns: int) -> Glance | None:
        """What is to be looked at of a job; None where it moves nothing, or nothing has come since nobody listened."""
        if self._deaf.still:
            return None
        since = self._since(one, now_ns, self.shelf.since_ns)
        whole = self.shelf.between(since, now_ns)
        flows = trimmed(whole.take(job_tracking.around(whole, one.job)))
        flows = self._deaf.whole(one, flows.take(flows.end_ns <= now_ns))
        job = job_tracking.sighted(one.job, flows)
        if job is None:
            return None
        self._by[one.id] = job_exporters(flows, one)
        until = self._until_when(one, job, whole, now_ns)
        return Glance(
            self._kept or Memory(flows),
            since,
            now_ns,
            tuple(flows.endpoints) if self._kept else (),
            job,
            (since, until),
            self._source(len(flows)),
            self.topology,
            self.shelf.transits(since, now_ns),
            numbered(one.found.timeline, since) if one.found is not None and one.trusted else None,
            self.hints,
        )

    def _until_when(self, one: Followed, job: Job, whole: Flows, now_ns: int) -> int:
        """See `exporter_silence.told_until`."""
        by = self._by[one.id]
        sent = max((self._heard[name].at_ns for name in by if name in self._heard), default=0) - self.delays.lag_ns
        near = any(o.id != one.id and o.trusted and o.state != "ended" and by & self._by.get(o.id, by) for o in self.jobs)
        heard = min(now_ns, self.shelf.heard_ns)
        until, self._blind_ns[one.id] = seen_until(whole, by, one, job.end_ns, now_ns, heard_ns=heard, sent_ns=sent, near=near)
        return until

    def _seen(self, one: Followed, glance: Glance, told: Diagnosis | None, last: bool) -> Followed:
        """A job after its window, which told so much of it."""
        one = replace(one, looked_ns=glance.now_ns)
        if told is None or not told.jobs:
            one = replace(one, lately=(), talked_ns=max(one.talked_ns, glance.job.end_ns))
            return self._aged(job_tracking.doubted(one, glance.now_ns), glance.now_ns)
        self._deaf = self._deaf.learned(one, told.jobs[0], glance.since_ns)
        one = job_tracking.after(one, told.jobs[0], glance.now_ns, kept=self.steps, last=last)
        return self._aged(self._deaf.cleared(one, self.gaps), glance.now_ns)

    def _aged(self, one: Followed, now_ns: int) -> Followed:
        """A job when time has passed, without the time in which nobody listened."""
        return one if one.state == "ended" else aged(one, self._deaf.spared(one.talked_ns, now_ns))

    def _source(self, flows: int) -> Source:
        every = (*self.shelf.skipped.items(), (LATE, self._late_in_all))
        return Source((), 0, flows, {name: count for name, count in every if count}, self._first, self._until)

    def _board(self, now_ns: int) -> Board:
        return Board(
            revision=self.boards.newest.revision + 1,
            at_ns=now_ns,
            source=self._source(self._records),
            jobs=tuple(JobStatus(one.found, one.state) for one in self.jobs if one.found is not None and one.trusted),
            cases=tuple(sorted((t.case for t in self.trails if t.told), key=lambda case: (-case.opened_ns, case.id))),
            windows=tuple(self._windows),
            gaps=self.gaps,
            unexplained=(*self._unexplained, *self.shelf.left_out()),
            topology=self.topology,
            bookings=self.bookings,
        )
