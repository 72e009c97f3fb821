"""Convert a board to plain dicts for REST and for the one-file report.

Times are text under names that end in `_ns`, because JavaScript's numbers cannot hold nanoseconds. Unknown numbers are None.
Findings are in `finding_views`, data per rank and step in `timeline_views`, traffic between endpoints in `traffic_views`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from prism.inventory.bookings import Booking
from prism.model import Alternative, Group, JobDiagnosis, Layout, Severity, shares
from prism.topology import Endpoint, Topology
from prism.tracking.board import Board, Case, JobStatus, Window
from prism.views.step_sums import sums

Json = dict[str, Any]
Mode = Literal["live", "replay"]
KINDS = ("dp", "pp", "tp", "ep", "cp")
MAX_SPARKLINE = 60  # durations in a sparkline
MAX_PHASE_RANKS = 2000  # ranks in one answer up to which phases are included
NOWHERE = Endpoint(None, None, None)

Item = TypeVar("Item")


def ns(time_ns: int) -> str:
    """Format a time as text."""
    return str(int(time_ns))


def board(shown: Board, mode: Mode = "replay", age_s: float | None = None) -> Json:
    """Summarise the board in counts. `age_s`: time since it was published, wall clock."""
    source = shown.source
    return {
        "revision": shown.revision,
        "at_ns": ns(shown.at_ns),
        "age_s": None if age_s is None else round(age_s, 3),
        "mode": mode,
        "source": {
            "files": list(source.files),
            "packets": int(source.packets),
            "flows": int(source.flows),
            "skipped": {reason: int(n) for reason, n in source.skipped.items()},
            "warnings": list(source.warnings),
            "start_ns": ns(source.start_ns),
            "end_ns": ns(source.end_ns),
        },
        "unexplained": list(shown.unexplained),
        "counts": counts(shown),
        "gaps": gaps(shown),
    }


def counts(shown: Board) -> Json:
    """Count jobs, silent jobs, jobs with steps, endpoints of running jobs, open findings by severity, and closed findings."""
    live = [job for job in shown.jobs if job.state != "ended"]
    return {
        "jobs": len(live),
        "silent": sum(job.state == "silent" for job in live),
        "analysed": sum(any(map(len, job.found.timeline.steps)) for job in shown.jobs),
        "endpoints": len({address for job in live for address in job.found.job.endpoints}),
        "findings": severities(shown.cases),
        "closed": sum(case.state == "closed" for case in shown.cases),
    }


def severities(cases: Iterable[Case]) -> dict[str, int]:
    """Count open findings by severity."""
    open_ = Counter(case.finding.severity for case in cases if case.state == "open")
    return {severity.value: open_[severity] for severity in reversed(Severity)}


def jobs(shown: Board, selected: Iterable[JobStatus] | None = None) -> list[Json]:
    """Summarise every job, or `selected` jobs, in order of start and id."""
    by_job = _cases(shown)
    asked = sorted(shown.jobs, key=job_key) if selected is None else selected
    return [job_summary(job, by_job.get(job.id, ()), shown.bookings.get(job.id)) for job in asked]


def job_key(job: JobStatus) -> tuple[int, str]:
    """Return the sort key of a job: start, then id."""
    return job.found.job.start_ns, job.id


def _cases(shown: Board) -> Mapping[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in shown.cases:
        found.setdefault(case.finding.job, []).append(case)
    return found


def job_summary(status: JobStatus, cases: Iterable[Case], booking: Booking | None = None) -> Json:
    """Summarise a job; `cases`: those of this job; `booking`: its scheduler entry."""
    found, cases = status.found, list(cases)
    job, layout = found.job, found.parallelism.layout
    lost = sum(c.finding.lost_gpu_s for c in cases if c.finding.severity is not Severity.INFO)
    return {
        "id": job.id,
        "name": job.name or (booking.name if booking else "") or None,
        "scheduler": booking_json(booking) if booking else None,
        "state": status.state,
        "endpoints": len(job.endpoints),
        "hosts": len(job.hosts),
        "layout": _sizes(layout),
        "confidence": finite(layout.confidence),
        "start_ns": ns(job.start_ns),
        "end_ns": ns(job.end_ns),
        **_steps(found),
        "lost_gpu_seconds": finite(lost),
        "findings": severities(cases),
    }


def booking_json(booking: Booking) -> Json:
    """Convert the scheduler entry of a job; `end_ns` is None while it runs, `start_ns` if unknown."""
    texts = {name: getattr(booking, name) or None for name in ("name", "user", "queue")}
    times = {name: ns(getattr(booking, name)) if getattr(booking, name) else None for name in ("start_ns", "end_ns")}
    return {"source": booking.source, "id": booking.id, **texts, **times, "hosts": len(booking.hosts)}


def _steps(found: JobDiagnosis) -> Json:
    """Summarise the steps of a job."""
    known = sums(found)
    durations = known.distance_ms
    return {
        "steps": max(map(len, found.timeline.steps), default=0),
        "step_ms": {
            "median": finite(np.median(durations)) if len(durations) else None,
            "p95": finite(np.percentile(durations, 95)) if len(durations) else None,
        },
        "sparkline": [finite(ms) for ms in binned_maxima(durations, MAX_SPARKLINE)],
        "phases": {phase: round(share, 4) for phase, share in shares(known.spent.sum(axis=0)).items()},
    }


def binned_maxima(values: np.ndarray[Any, np.dtype[np.float64]], limit: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Reduce to at most `limit` values, the maximum of each run, so that no peak is lost."""
    if len(values) <= limit:
        return values
    return np.fmax.reduceat(values, np.arange(0, len(values), -(-len(values) // limit)))


def job(shown: Board, id_: str, *, ranks: tuple[int, int] | None = None) -> Json | None:
    """Convert a job with its groups, ranks (optionally only [a, b)) and events; None for an unknown id."""
    status = job_of(shown, id_)
    if status is None:
        return None
    found, cases = status.found, _cases(shown).get(id_, [])
    most = len(found.job.endpoints)
    first, last = (min(rank, most) for rank in ranks or (0, most))
    return job_summary(status, cases, shown.bookings.get(id_)) | {
        "alternatives": [_alternative(one) for one in found.parallelism.alternatives],
        "groups": [_group(group) for group in found.parallelism.groups],
        "ranks": _ranks(found, shown.topology, first, last),
        "ranks_total": most,
        "events": [{"kind": e.kind, "start_ns": ns(e.start_ns), "end_ns": ns(e.end_ns)} for e in found.timeline.events],
        "pairs_total": len(found.parallelism.pairs),
        "cases": [case.id for case in cases],
    }


def job_of(shown: Board, id_: str) -> JobStatus | None:
    """Find a job by id."""
    return next((job for job in shown.jobs if job.id == id_), None)


def _alternative(one: Alternative) -> Json:
    return {"layout": _sizes(one.layout), "confidence": finite(one.layout.confidence), "why": one.why}


def _sizes(layout: Layout) -> Json:
    return {kind: int(getattr(layout, kind)) for kind in KINDS}


def _group(group: Group) -> Json:
    return {
        "kind": group.kind,
        "members": list(group.members),
        "evidence": group.evidence,
        "confidence": finite(group.confidence),
    }


def _ranks(found: JobDiagnosis, topology: Topology | None, first: int, last: int) -> list[Json]:
    """Convert ranks [first, last): place, group of each kind, step durations.

    `rank_phases` are None for more than `MAX_PHASE_RANKS` ranks.
    """
    member, known, stages = membership(found), sums(found), found.parallelism.stages
    unknown = 0 if found.parallelism.layout.pp == 1 else None
    whole = last - first <= MAX_PHASE_RANKS
    out = []
    for rank in range(first, last):
        endpoint = found.job.endpoints[rank]
        place = (topology.endpoints.get(endpoint) if topology else None) or NOWHERE
        spent = {phase: round(share, 4) for phase, share in shares(known.spent[rank]).items()} if whole else None
        out.append(
            {
                "rank": rank,
                "endpoint": endpoint,
                "host": place.host,
                "rail": place.rail,
                "leaf": place.leaf,
                "rack": place.rack,
                "port": place.port,
                "stage": stages.get(endpoint, unknown),
                "groups": member.get(endpoint, {}),
                "steps": len(found.timeline.steps[rank]),
                "median_ms": finite(known.median_ms[rank]),
                "phases": spent,
            }
        )
    return out


def membership(diagnosed: JobDiagnosis, kind: str | None = None) -> dict[str, dict[str, int]]:
    """Map kind (all or one) and endpoint to the index of its group; groups of a kind are counted from 0."""
    seen: Counter[str] = Counter()
    out: dict[str, dict[str, int]] = {}
    for group in diagnosed.parallelism.groups:
        for endpoint in group.members if kind in (None, group.kind) else ():
            out.setdefault(endpoint, {}).setdefault(group.kind, seen[group.kind])
        seen[group.kind] += 1
    return out


def windows(shown: Board) -> list[Json]:
    """List the analysed windows, newest first."""
    return [_window(window) for window in shown.windows]


def gaps(shown: Board) -> list[Json]:
    """List times in which Prism itself collected nothing, newest first; `end_ns` is None before the next record."""
    return [
        {"begin_ns": ns(gap.begin_ns), "end_ns": ns(gap.end_ns) if gap.end_ns else None, "reason": gap.reason}
        for gap in shown.gaps
    ]


def _window(window: Window) -> Json:
    return {
        "start_ns": ns(window.start_ns),
        "end_ns": ns(window.end_ns),
        "flows": int(window.flows),
        "late": int(window.late),
        "took_s": finite(window.took_s),
    }


def finite(number: float) -> float | None:
    """Round a number to six digits; None if it is not finite."""
    value = float(number)
    return float(f"{value:.6g}") if math.isfinite(value) else None


def select_page(
    items: Sequence[Item], key: Callable[[Item], tuple[int, str]], *, after: tuple[int, str] | None = None, limit: int | None
) -> tuple[list[Item], tuple[int, str] | None]:
    """Select at most `limit` items (sorted by `key`) after the key `after`.

    Returns them with the key of the last one, None at the end. Pages start after a key, not at an index, so that insertions and
    deletions do not shift later pages.
    """
    rest = [item for item in items if after is None or key(item) > after]
    shown = rest[:limit]
    return shown, key(shown[-1]) if len(shown) < len(rest) and shown else None
