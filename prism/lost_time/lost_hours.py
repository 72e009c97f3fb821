"""Sum the GPU-hours lost in a time range by cause, host, switch and job, and mark repeated causes.

A claim (warning or critical) costs what its finding states; a claim that exceeds the range counts with its share inside. If
several hosts may be the cause, each counts with its probability.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

from prism.inventory.bookings import Booking
from prism.model import Severity
from prism.topology import Topology
from prism.tracking.board import Case
from prism.views.board_views import Json, finite

By = Literal["cause", "host", "switch", "job", "user"]
BYS: tuple[By, ...] = get_args(By)
AGAIN = 2  # number of findings that makes a repeat offender


def lost(
    cases: Iterable[Case],
    by: By,
    start_ns: int,
    end_ns: int,
    *,
    topology: Topology | None = None,
    bookings: Mapping[str, Booking] | None = None,
) -> list[Json]:
    """Build rows by name, sorted by lost GPU-hours, descending.

    Parameters
    ----------
    cases : iterable of Case
        Cases with findings.
    by : str
        Column to group by: cause, host, switch, job or user.
    start_ns, end_ns : int
        Time range, ns since the epoch.
    topology : Topology, optional
        Switches; without it no row by switch.
    bookings : mapping of str to Booking, optional
        Name and user of jobs.

    Returns
    -------
    list of dict
        GPU-hours, findings, jobs, first and last time of each name.
    """
    rows: dict[str, Json] = {}
    for case in cases:
        finding = case.finding
        inside = share(case, start_ns, end_ns)
        if finding.severity is Severity.INFO or inside <= 0:
            continue
        for name, part in _names(case, by, topology, bookings or {}).items():
            row = rows.setdefault(
                name, {"name": name, "gpu_hours": 0.0, "findings": [], "jobs": [], "first_ns": 0, "last_ns": 0}
            )
            row["gpu_hours"] += finding.lost_gpu_s * inside * part / 3600
            row["findings"].append(case.id)
            row["jobs"] = sorted({*row["jobs"], finding.job})
            row["first_ns"] = min(row["first_ns"] or finding.start_ns, finding.start_ns)
            row["last_ns"] = max(row["last_ns"], finding.end_ns)
    found = sorted(rows.values(), key=lambda row: (-row["gpu_hours"], row["name"]))
    return [_claim_of(row) for row in found]


def _claim_of(row: Json) -> Json:
    times = {name: str(row[name]) for name in ("first_ns", "last_ns")}
    more = {"gpu_hours": finite(row["gpu_hours"]), "number": len(row["findings"]), "again": len(row["findings"]) >= AGAIN}
    return {"name": row["name"], **more, "findings": row["findings"][:100], "jobs": row["jobs"][:100], **times}


def share(case: Case, start_ns: int, end_ns: int) -> float:
    """Compute the share of a finding's duration that is in [start_ns, end_ns)."""
    begin, end = case.finding.start_ns, max(case.finding.end_ns, case.finding.start_ns + 1)
    return max(min(end, end_ns) - max(begin, start_ns), 0) / (end - begin)


def _names(case: Case, by: By, topology: Topology | None, bookings: Mapping[str, Booking]) -> dict[str, float]:
    """Names that a case counts for, each with its share."""
    finding = case.finding
    if by == "cause":
        return {finding.kind.replace("_", " "): 1.0}
    if by == "job":
        booking = bookings.get(finding.job)
        return {f"{booking.title} ({finding.job})" if booking else finding.job: 1.0}
    if by == "user":
        return {bookings[finding.job].user or "unknown": 1.0} if finding.job in bookings else {"unknown": 1.0}
    switches = set(topology.switches()) if topology is not None else set()
    if by == "switch":
        return dict.fromkeys((name for name in (*finding.isolate.parts, *finding.ids) if name in switches), 1.0)
    alone = {names[0]: p for names, p in finding.isolate.alternatives if len(names) == 1 and p >= 0.05}
    hosts = alone or dict.fromkeys(finding.isolate.hosts, 1.0 / max(len(finding.isolate.hosts), 1))
    return {host: p for host, p in hosts.items() if host not in switches}


def total(rows: Sequence[Json]) -> float:
    """Sum the GPU-hours of all rows."""
    return float(sum(row["gpu_hours"] or 0.0 for row in rows))
