"""Compute the effective training time ratio (ETTR) of each job in a time range: the share of its time in which it trained.

Input are the stored steps of a job (prism.metrics.ettr). Time lost outside the range does not count.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from prism.inventory.bookings import Booking
from prism.metrics.ettr import Ettr, Lost, ettr
from prism.model import Timeline
from prism.tracking.board import Board, Case, JobStatus
from prism.views.board_views import Json, finite, ns

REASONS = ("warm-up", "hang", "crash", "restart", "repeated")
_Key = tuple[int | None, tuple[str, ...]]
_working = threading.Lock()
_known: WeakKeyDictionary[Timeline, tuple[_Key, Ettr]] = WeakKeyDictionary()  # timelines are immutable


def effective(board: Board, cases: Sequence[Case], start_ns: int, end_ns: int) -> list[Json]:
    """Build a row per job with two steps or more in [start_ns, end_ns), sorted by lost GPU-hours, descending.

    Parameters
    ----------
    board : Board
        The current jobs.
    cases : sequence of Case
        Hangs and crashes of the jobs.
    start_ns, end_ns : int
        Time range, ns since the epoch.

    Returns
    -------
    list of dict
        Ratio, lost seconds by reason, and lost GPU-hours of each job.
    """
    rows = []
    for status in board.jobs:
        row = _row(status, ratio_of(status, cases, board.at_ns), start_ns, end_ns, board.bookings)
        if row is not None:
            rows.append(row)
    return sorted(rows, key=lambda row: (-(row["lost_gpu_hours"] or 0.0), row["job"]))


def ratio_of(status: JobStatus, cases: Sequence[Case], at_ns: int) -> Ettr:
    """Compute the ratio of a job over all stored steps; for a silent job until `at_ns`."""
    own = [case for case in cases if case.finding.job == status.id and case.finding.kind in ("hang", "crash")]
    until = at_ns if status.state == "silent" and at_ns else None
    key = until, tuple(f"{case.id} {case.finding.end_ns}" for case in own)
    with _working:
        known = _known.get(status.found.timeline)
    if known is not None and known[0] == key:
        return known[1]
    made = ettr(status.found, [case.finding for case in own], until_ns=until)
    with _working:
        _known[status.found.timeline] = key, made
    return made


def _row(status: JobStatus, found: Ettr, start_ns: int, end_ns: int, bookings: Mapping[str, Booking]) -> Json | None:
    low, high = max(found.start_ns, start_ns), min(found.end_ns, end_ns)
    if found.ratio != found.ratio or high <= low:
        return None
    seconds = (high - low) / 1e9
    gone = {reason: _inside(found.lost, reason, low, high) for reason in REASONS}
    share = min(sum(gone.values()) / seconds, 1.0)
    unknown = found.ratio - found.low  # share that may have been repeated
    booking, ranks = bookings.get(status.id), len(status.found.job.endpoints)
    inside = (found.at_ns > low) & (found.at_ns <= high)
    return {
        "job": status.id,
        "name": (booking.title if booking else status.found.job.name) or None,
        "user": (booking.user if booking else "") or None,
        "ranks": ranks,
        "ratio": finite(1 - share),
        "low": finite(max(1 - share - unknown, 0.0)),
        "lost_gpu_hours": finite(share * seconds * ranks / 3600),
        "lost_s": {reason: finite(value) for reason, value in gone.items()},
        "steps": found.steps,
        "sliding": [finite(float(one)) for one in found.sliding[inside]],
        "start_ns": ns(low),
        "end_ns": ns(high),
    }


def _inside(lost: Sequence[Lost], reason: str, low: int, high: int) -> float:
    """Time lost to a reason in [low, high), s."""
    return sum(max(min(one.end_ns, high) - max(one.start_ns, low), 0) for one in lost if one.reason == reason) / 1e9
