"""Write the texts of an alert: the fault, its cost, the first action, and the confidence."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from prism.findings import advice
from prism.findings.advice import NAMED, first_names, likely
from prism.findings.titles import title
from prism.model import Finding, JobDiagnosis
from prism.topology import Topology
from prism.tracking.board import Case, JobStatus

MIN_PROBABILITY = 0.05  # alternatives below this probability are left out


def describe_case(case: Case, job: JobStatus | None, topology: Topology | None, *, started_ns: int) -> dict[str, str]:
    """Write the sentences of an alert by name. `summary` is one short line; `description` has all facts, one per line.

    Order for an engineer on call: current state and cost, first action, where to look, reason, job.
    """
    finding, found = case.finding, job.found if job else None
    said = {
        "summary": summary(finding, topology),
        "action": advice.first(finding),
        "look": " ".join(advice.CHECKS.get(finding.kind, ())),
        "reason": _sentence(finding.message),
        "cost": describe_cost(finding, len(found.job.endpoints) if found else 0),
        "since": describe_duration(case, started_ns),
        "confidence": likely(finding.confidence) if finding.confidence else "",
        "suspects": describe_suspects(finding),
        "about_job": describe_job(found) if found else "",
    }
    if case.state == "closed":
        said["action"] = said["look"] = said["suspects"] = ""
    other = f"Other suspects: {said['suspects']}." if said["suspects"] else ""
    state = " ".join(text for text in (said["since"], said["cost"]) if text)
    lines = (state, said["action"], other, said["look"], f"Why: {said['reason']}", said["about_job"])
    said |= {"description": "\n".join(line for line in lines if line), "finding": case.id}
    return {name: text for name, text in said.items() if text}


def summary(finding: Finding, topology: Topology | None = None) -> str:
    """Write the finding's title and its effect on the job in one line."""
    named = title(finding, topology)
    who = "" if finding.subject == "job" else f"job {finding.job} "  # a title about the whole job names it
    if finding.kind == "crash":
        return f"{named}: {who}stopped"
    if finding.kind == "hang":
        return f"{named}: {who}makes no progress"
    if _slower(finding):
        return f"{named}: {who}{'is ' if who else ''}{finding.slowdown:.2f}× slower"
    return f"{named}: {who}is affected" if who else named


def describe_suspects(finding: Finding) -> str:
    """List alternative suspects with their probabilities; empty without a likely alternative."""
    first = set(finding.isolate.hosts or finding.isolate.parts)
    rest = [
        (ids, p)
        for ids, p in finding.isolate.alternatives
        if p >= MIN_PROBABILITY and len(ids) <= NAMED and not set(ids) <= first
    ]
    return ", ".join(f"{first_names(ids)} {p:.0%}" for ids, p in rest[:NAMED])


def describe_cost(finding: Finding, ranks: int = 0) -> str:
    """Write the cost so far, and the GPUs that are lost while the case is open; empty if neither is known."""
    lost = finding.lost_gpu_s
    if finding.kind in ("crash", "hang"):
        idle = f"The {ranks} GPU{'s' if ranks != 1 else ''} of the job may stay idle until this is fixed." if ranks else ""
    else:
        share = 1 - 1 / finding.slowdown if _slower(finding) else 0.0
        idle = f"This equals {share * ranks:.1f} of its {ranks} GPUs idle." if share * ranks >= 0.05 else ""
    amount = f"{lost / 3600:,.1f} GPU-hours" if lost >= 3600 else f"{lost:,.0f} GPU-seconds"
    return " ".join(text for text in (f"Lost so far: {amount}." if lost >= 0.5 else "", idle) if text)


def describe_duration(case: Case, started_ns: int) -> str:
    """Write when the case started and when it was last seen; for a closed case, its duration."""
    begin = format_time(started_ns)
    if case.state == "open":
        seen = case.finding.end_ns
        return f"Since {begin}, last seen {format_time(seen)}." if seen > started_ns else f"Since {begin}."
    return f"Resolved: lasted {format_duration(case.closed_ns - started_ns)}, from {begin} to {format_time(case.closed_ns)}."


def describe_job(job: JobDiagnosis) -> str:
    """Describe a job in one line: its size and its layout."""
    ranks, hosts, layout = len(job.job.endpoints), len(job.job.hosts), job.parallelism.layout
    where = f" on {hosts} host{'s' if hosts != 1 else ''}" if hosts else ""
    sizes = [f"{kind.upper()} {getattr(layout, kind)}" for kind in ("dp", "pp", "tp", "ep", "cp") if getattr(layout, kind) > 1]
    return f"Job {job.job.title}: {ranks} ranks{where}" + (f", {' × '.join(sizes)}." if sizes else ".")


def format_time(time_ns: int) -> str:
    """Format a time for people, to the second; as a number if it is outside the calendar."""
    try:
        return f"{datetime.fromtimestamp(time_ns // 10**9, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{time_ns} ns"


def format_duration(length_ns: int) -> str:
    """Format a duration for people."""
    seconds = max(round(length_ns / 1e9), 0)
    if seconds < 120:
        return f"{seconds} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def _slower(finding: Finding) -> bool:
    return math.isfinite(finding.slowdown) and finding.slowdown >= 1.01


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text[:1].upper() + text[1:] + ("" if not text or text[-1] in ".!?" else ".")
