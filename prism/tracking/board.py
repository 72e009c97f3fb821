"""Define the board: jobs, tracked findings (cases) and windows at one moment.

A board never changes. Each window publishes a new one with a higher `revision`. Pages, alerts and the command line read only
boards, so a live run and a replay look alike.
"""

from __future__ import annotations

import hashlib
import secrets
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
    """A tracked job; its timeline reaches back as far as it is kept.

    `silent`: no payload for longer than ever during training. `ended`: it is gone.
    """

    found: JobDiagnosis
    state: JobState = "running"

    @property
    def id(self) -> str:
        """Id of the job, the same in all windows."""
        return self.found.job.id


@dataclass(frozen=True)
class Case:
    """A tracked finding: opened once, updated, closed. All times are record times, ns since the epoch.

    `opened_ns`, `updated_ns`, `closed_ns`: time up to which records were known when it was first reported, last updated, and
    closed (0 while open). `finding` is the last version. `usual`: step time before it, ms, by measure, as known when it opened
    (prism.views.usual_step_times); empty in a replay, which knows all records.
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
    """A time interval that was analysed at once: number of records, late records, and duration of the analysis, s."""

    start_ns: int
    end_ns: int
    flows: int
    late: int = 0
    took_s: float = 0.0


@dataclass(frozen=True)
class Gap:
    """An interval in which Prism collected no records, ns; `end_ns` is 0 until the next record.

    `restart`: the process did not run, for example after a crash. `paused`: it was suspended, for example by SIGSTOP or with
    its host.
    """

    begin_ns: int
    end_ns: int
    reason: GapReason = "restart"


@dataclass(frozen=True, eq=False)
class Board:
    """The state at one moment; `at_ns`: records were analysed up to this time, 0 before the first.

    `bookings`: scheduler jobs by the id of the job.
    """

    revision: int = 0
    at_ns: int = 0
    source: Source = NO_SOURCE
    jobs: tuple[JobStatus, ...] = ()
    cases: tuple[Case, ...] = ()  # open cases and recently closed ones, newest first
    windows: tuple[Window, ...] = ()  # newest first
    gaps: tuple[Gap, ...] = ()  # in collection, newest first
    unexplained: tuple[str, ...] = ()
    topology: Topology | None = None
    bookings: Mapping[str, Booking] = field(default_factory=dict)


def case_id(finding: Finding) -> str:
    """Compute the id of a new case: 12 hex digits from its kind, subject and begin."""
    text = "\n".join((finding.job, finding.kind, finding.subject, *finding.ids, str(finding.start_ns)))
    return hashlib.blake2s(text.encode(), digest_size=6).hexdigest()


def board_of(diagnosis: Diagnosis, topology: Topology | None = None, bookings: Sequence[Booking] = ()) -> Board:
    """Build the board of a replay, which is a single window: all findings are open.

    Parameters
    ----------
    diagnosis : Diagnosis
        Result of the replay.
    topology : Topology, optional
        Placement of the endpoints.
    bookings : sequence of Booking
        Jobs that schedulers list.
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
    """Give each case its own id: two detectors may report the same finding."""
    seen: dict[str, int] = {}
    out = []
    for case in cases:
        again = seen[case.id] = seen.get(case.id, -1) + 1
        out.append(replace(case, id=f"{case.id}-{again}") if again else case)
    return sorted(out, key=lambda case: -case.finding.start_ns)


class Boards:
    """Hold the newest board for readers in other threads. `token` tells it from the boards of other services."""

    def __init__(self, board: Board | None = None) -> None:
        self.token = secrets.token_hex(4)  # revisions begin at 1 in each service
        self._board = board or Board()
        self._changed = threading.Condition()

    @property
    def newest(self) -> Board:
        """The newest board."""
        return self._board

    def publish(self, board: Board) -> None:
        """Replace the board by one with a higher revision, and wake waiting readers."""
        with self._changed:
            self._board = board
            self._changed.notify_all()

    def after(self, revision: int, *, timeout_s: float) -> Board:
        """Wait for a board newer than `revision`; return the newest one, also after the timeout."""
        with self._changed:
            self._changed.wait_for(lambda: self._board.revision > revision, timeout_s)
            return self._board
