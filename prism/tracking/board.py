"""What is known at one moment: the jobs, the findings as they are followed from window to window, the windows themselves.

A board never changes; after every window there is a new one, with a higher `revision`. Pages, alerts and the command line read
boards and nothing else, so that a live run and a replay look alike.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from prism.inventory.bookings import Booking
from prism.inventory.job_matching import joined
from prism.model import Diagnosis, Finding, JobDiagnosis, Source
from prism.topology import Topology

JobState = Literal["running", "silent", "ended"]
CaseState = Literal["open", "closed"]
GapReason = Literal["restart", "paused"]
NO_SOURCE = Source((), 0, 0, {}, 0, 0)


@dataclass(frozen=True, eq=False)
class JobStatus:
    """A job as it is followed: its timeline reaches back as far as is kept.

    `silent`: it has said nothing for longer than it ever did while it trained; `ended`: it is gone.
    """

    found: JobDiagnosis
    state: JobState = "running"

    @property
    def id(self) -> str:
        """The job's id, the same in all windows."""
        return self.found.job.id


@dataclass(frozen=True)
class Case:
    """A finding as it is followed: opened once, updated, closed. All times are those of records, ns since the epoch.

    `opened_ns`, `updated_ns`, `closed_ns`: up to when records were known when it was first told, last told, and seen to be over
    (0 while it is open). `finding` is as last told. `usual`: what steps took before it, ms, by measure, as known when it opened
    (prism.views.usual_step_times); empty in a replay, of which all is known.
    """

    id: str
    finding: Finding
    state: CaseState
    opened_ns: int
    updated_ns: int
    closed_ns: int = 0
    usual: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Window:
    """A stretch of time that was analysed at once: how many records it had, how many came too late, how long it took, s."""

    start_ns: int
    end_ns: int
    flows: int
    late: int = 0
    took_s: float = 0.0


@dataclass(frozen=True)
class Gap:
    """A time in which Prism itself collected nothing, ns; `end_ns` is 0 while no record has come since.

    `restart`: its process did not run, as after a stop or a crash; `paused`: it was held up, as by SIGSTOP or a suspended host.
    """

    begin_ns: int
    end_ns: int
    reason: GapReason = "restart"


@dataclass(frozen=True, eq=False)
class Board:
    """What is known; `at_ns` is up to when records were analysed, 0 where there were none.

    `bookings`: what a scheduler says of jobs, by the job's id.
    """

    revision: int = 0
    at_ns: int = 0
    source: Source = NO_SOURCE
    jobs: tuple[JobStatus, ...] = ()
    cases: tuple[Case, ...] = ()  # the open ones and those closed not long ago, the newest first
    windows: tuple[Window, ...] = ()  # the newest first
    gaps: tuple[Gap, ...] = ()  # in collection, the newest first
    unexplained: tuple[str, ...] = ()
    topology: Topology | None = None
    bookings: Mapping[str, Booking] = field(default_factory=dict)


def case_id(finding: Finding) -> str:
    """A name for a new case: 12 hex digits of what it is, whom it blames and since when."""
    told = "\n".join((finding.job, finding.kind, finding.subject, *finding.ids, str(finding.start_ns)))
    return hashlib.blake2s(told.encode(), digest_size=6).hexdigest()


def told(diagnosis: Diagnosis, topology: Topology | None = None, bookings: Sequence[Booking] = ()) -> Board:
    """The board of a replay, which is one window: all that was found is open, as nobody knows what came after.

    `bookings` are what schedulers say of jobs.
    """
    source = diagnosis.source
    cases = [Case(case_id(f), f, "open", source.end_ns, source.end_ns) for f in diagnosis.findings]
    return Board(
        revision=1,
        at_ns=source.end_ns,
        source=source,
        jobs=tuple(JobStatus(found) for found in diagnosis.jobs),
        cases=tuple(_distinct(cases)),
        windows=(Window(source.start_ns, source.end_ns, source.flows),) if source.flows else (),
        unexplained=diagnosis.unexplained,
        topology=topology,
        bookings=joined((found.job for found in diagnosis.jobs), bookings, topology),
    )


def _distinct(cases: Iterable[Case]) -> list[Case]:
    """Two detectors may tell the same of the same: each case has an id of its own."""
    seen: dict[str, int] = {}
    out = []
    for case in cases:
        again = seen[case.id] = seen.get(case.id, -1) + 1
        out.append(replace(case, id=f"{case.id}-{again}") if again else case)
    return sorted(out, key=lambda case: -case.finding.start_ns)


class Boards:
    """The newest board, for readers in other threads."""

    def __init__(self, board: Board | None = None) -> None:
        self._board = board or Board()
        self._changed = threading.Condition()

    @property
    def newest(self) -> Board:
        """The newest board."""
        return self._board

    def publish(self, board: Board) -> None:
        """Replace it by one of a higher revision, and wake who waits."""
        with self._changed:
            self._board = board
            self._changed.notify_all()

    def after(self, revision: int, *, timeout_s: float) -> Board:
        """The newest board once it is newer than `revision`, or as it is when the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._board.revision > revision, timeout_s)
            return self._board
