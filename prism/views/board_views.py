"""What pages and programs are told of a board: plain dicts, as REST answers them and as the one-file report embeds them.

Times are text under names that end in `_ns`, since JavaScript's numbers cannot hold nanoseconds. A number that is not known is
None. Findings and what follows from them are in `finding_views`, what has one entry per rank and step in `timeline_views`, who
talks to whom in `traffic_views`.
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
SPARKS = 60  # durations in a sparkline
PHASED = 2000  # ranks whose phases are told at once
NOWHERE = Endpoint(None, None, None)

Item = TypeVar("Item")


def ns(time_ns: int) -> str:
    """A time as text."""
    return str(int(time_ns))


def board(shown: Board, mode: Mode = "replay", age_s: float | None = None) -> Json:
    """The board itself, in counts. `age_s`: since it was published, by the wall clock."""
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
    """How many jobs and how many of these are silent, how many of all have steps, the endpoints of those that have not ended.

    Findings: open by severity, and closed.
    """
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
    """Open findings by severity."""
    open_ = Counter(case.finding.severity for case in cases if case.state == "open")
    return {severity.value: open_[severity] for severity in reversed(Severity)}


def jobs(shown: Board, some: Iterable[JobStatus] | None = None) -> list[Json]:
    """A summary of every job, in order of start and id; of `some` of them where they are named."""
    by_job = _cases(shown)
    asked = sorted(shown.jobs, key=job_key) if some is None else some
    return [summary(job, by_job.get(job.id, ()), shown.bookings.get(job.id)) for job in asked]


def job_key(job: JobStatus) -> tuple[int, str]:
    """Jobs in order of start, then of id."""
    return job.found.job.start_ns, job.id


def _cases(shown: Board) -> Mapping[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in shown.cases:
        found.setdefault(case.finding.job, []).append(case)
    return found


def summary(status: JobStatus, cases: Iterable[Case], booking: Booking | None = None) -> Json:
    """A job in brief; `cases` are those of this job, `booking` what a scheduler says of it."""
    found, cases = status.found, list(cases)
    job, layout = found.job, found.parallelism.layout
    lost = sum(c.finding.lost_gpu_s for c in cases if c.finding.severity is not Severity.INFO)
    return {
        "id": job.id,
        "name": job.name or (booking.name if booking else "") or None,
        "scheduler": scheduled(booking) if booking else None,
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


def scheduled(booking: Booking) -> Json:
    """What a scheduler says of a job; `end_ns` is None while it goes on, `start_ns` where it is not known."""
    texts = {name: getattr(booking, name) or None for name in ("name", "user", "queue")}
    times = {name: ns(getattr(booking, name)) if getattr(booking, name) else None for name in ("start_ns", "end_ns")}
    return {"source": booking.source, "id": booking.id, **texts, **times, "hosts": len(booking.hosts)}


def _steps(found: JobDiagnosis) -> Json:
    """What the steps of a job come to."""
    known = sums(found)
    durations = known.distance_ms
    return {
        "steps": max(map(len, found.timeline.steps), default=0),
        "step_ms": {
            "median": finite(np.median(durations)) if len(durations) else None,
            "p95": finite(np.percentile(durations, 95)) if len(durations) else None,
        },
        "sparkline": [finite(ms) for ms in worst(durations, SPARKS)],
        "phases": {phase: round(share, 4) for phase, share in shares(known.spent.sum(axis=0)).items()},
    }


def worst(values: np.ndarray[Any, np.dtype[np.float64]], most: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """At most `most` values: the greatest of each run of as many as it takes, so that no peak is lost."""
    if len(values) <= most:
        return values
    return np.fmax.reduceat(values, np.arange(0, len(values), -(-len(values) // most)))


def job(shown: Board, id_: str, *, ranks: tuple[int, int] | None = None) -> Json | None:
    """A job with its groups, ranks (only those in [a, b) where asked) and events; None where there is none of that id."""
    status = job_of(shown, id_)
    if status is None:
        return None
    found, cases = status.found, _cases(shown).get(id_, [])
    most = len(found.job.endpoints)
    first, last = (min(rank, most) for rank in ranks or (0, most))
    return summary(status, cases, shown.bookings.get(id_)) | {
        "alternatives": [_alternative(one) for one in found.parallelism.alternatives],
        "groups": [_group(group) for group in found.parallelism.groups],
        "ranks": _ranks(found, shown.topology, first, last),
        "ranks_total": most,
        "events": [{"kind": e.kind, "start_ns": ns(e.start_ns), "end_ns": ns(e.end_ns)} for e in found.timeline.events],
        "pairs_total": len(found.parallelism.pairs),
        "cases": [case.id for case in cases],
    }


def job_of(shown: Board, id_: str) -> JobStatus | None:
    """The job of an id."""
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
    """Ranks [first, last): where they stand, in which group of each kind they are, how long their steps took.

    Their `rank_phases` are None where more than `PHASED` ranks are asked for.
    """
    member, known, stages = membership(found), sums(found), found.parallelism.stages
    unknown = 0 if found.parallelism.layout.pp == 1 else None
    whole = last - first <= PHASED
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


def membership(found: JobDiagnosis, kind: str | None = None) -> dict[str, dict[str, int]]:
    """Of each endpoint, by kind (or of one `kind`), which group of that kind it is in: groups of a kind are counted from 0."""
    seen: Counter[str] = Counter()
    out: dict[str, dict[str, int]] = {}
    for group in found.parallelism.groups:
        for endpoint in group.members if kind in (None, group.kind) else ():
            out.setdefault(endpoint, {}).setdefault(group.kind, seen[group.kind])
        seen[group.kind] += 1
    return out


def windows(shown: Board) -> list[Json]:
    """The windows that were analysed, the newest first."""
    return [_window(window) for window in shown.windows]


def gaps(shown: Board) -> list[Json]:
    """The times in which Prism itself collected nothing, the newest first; `end_ns` is None while no record has come since."""
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
    """The number to six digits, or None where it is not finite."""
    value = float(number)
    return float(f"{value:.6g}") if math.isfinite(value) else None


def page(
    items: Sequence[Item], key: Callable[[Item], tuple[int, str]], *, after: tuple[int, str] | None = None, limit: int | None
) -> tuple[list[Item], tuple[int, str] | None]:
    """Items (in order of `key`) behind the key `after`, at most `limit`; and the key after which to go on, None at the end.

    A page begins behind a key, not at a number: what comes and goes between two pages moves nothing else.
    """
    rest = [item for item in items if after is None or key(item) > after]
    shown = rest[:limit]
    return shown, key(shown[-1]) if len(shown) < len(rest) and shown else None
