"""List what changed between two boards: lines for the terminal, and JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from prism.findings.same_finding import is_claim
from prism.findings.titles import title
from prism.report.json_report import finding_json, step_ms
from prism.tracking.board import Board, Case, Gap
from prism.tracking.outages import described
from prism.tracking.record_windows import SECOND

What = Literal["opened", "updated", "closed", "job", "gap", "unexplained"]


class Change(NamedTuple):
    """A change. `case` is None if it concerns a job, a gap in collection, or unexplained traffic.

    `title` is the title of the case's finding (prism.findings.titles).
    """

    what: What
    at_ns: int
    text: str
    case: Case | None = None
    job: str = ""
    title: str = ""
    gap: Gap | None = None


def changes(before: Board, now: Board, *, grown: float = 1.25) -> Iterator[Change]:
    """Yield the changes from one board to the next. Only claims are listed; an open case is listed again if its cost grows
    by the factor `grown`.
    """
    for gap in reversed(now.gaps):
        if gap.end_ns and gap not in before.gaps:
            yield Change("gap", now.at_ns, described(gap), gap=gap)
    yield from _of_jobs(before, now)
    known = {case.id: case for case in before.cases}
    for case in sorted(now.cases, key=lambda case: case.opened_ns):
        if not is_claim(case.finding):
            continue
        old, named = known.get(case.id), title(case.finding, now.topology)
        if old is None or not is_claim(old.finding) or (old.state, case.state) == ("closed", "open"):
            yield Change("opened", now.at_ns, case.finding.message, case, case.finding.job, named)
        elif old.state != case.state:
            yield Change("closed", now.at_ns, f"over: {named}", case, case.finding.job, named)
            continue
        elif _differs(old, case, grown):
            yield Change("updated", now.at_ns, case.finding.message, case, case.finding.job, named)
        if old is None and case.state == "closed":
            yield Change("closed", now.at_ns, f"over: {named}", case, case.finding.job, named)
    for text in now.unexplained:
        if text not in before.unexplained:
            yield Change("unexplained", now.at_ns, text)


def changed(before: Board, now: Board, *, max_changes: int = 200) -> dict[str, Any]:
    """List jobs and findings of any severity that differ between two boards, at most `max_changes` of each.

    `jobs`: id and "appeared", "gone", or the new state. `findings`: id, title and "opened", "updated", "closed" or "gone".
    `more`: number of entries left out.
    """
    old_jobs, old_cases = {status.id: status for status in before.jobs}, {case.id: case for case in before.cases}
    jobs, findings = dict[str, str](), dict[str, str]()
    named = {case.id: title(case.finding, board.topology) for board in (before, now) for case in board.cases}
    for status in now.jobs:
        old = old_jobs.pop(status.id, None)
        if old is None or old.state != status.state:
            jobs[status.id] = "appeared" if old is None else str(status.state)
    for case in now.cases:
        known = old_cases.pop(case.id, None)
        if known is None or known.state != case.state:
            findings[case.id] = "opened" if case.state == "open" else "closed"
        elif known.updated_ns != case.updated_ns:
            findings[case.id] = "updated"
    jobs |= dict.fromkeys(old_jobs, "gone")
    findings |= dict.fromkeys(old_cases, "gone")
    return {
        "jobs": [{"id": name, "what": what} for name, what in list(jobs.items())[:max_changes]],
        "findings": [{"id": name, "what": what, "title": named[name]} for name, what in list(findings.items())[:max_changes]],
        "more": max(len(jobs) - max_changes, 0) + max(len(findings) - max_changes, 0),
    }


def line(change: Change) -> str:
    """Format a change as one line for users."""
    when = datetime.fromtimestamp(change.at_ns / SECOND, UTC).strftime("%H:%M:%S.%f")[:-5]
    case = change.case
    if case is None:
        return f"{when} {change.what:8} {change.text}"
    finding = case.finding
    if change.what == "closed":
        lasted = (finding.end_ns - finding.start_ns) / SECOND
        return f"{when} closed   {case.id} {change.text}, after {lasted:.1f} s and {finding.lost_gpu_s:.0f} GPU seconds lost"
    sure = f"{change.title}, {finding.slowdown:.2f}×, confidence {finding.confidence:.2f}"
    return f"{when} {change.what:8} {case.id} {finding.severity} {sure}: {change.text}"


def json_line(change: Change) -> str:
    """Format a change as one line of JSON; times are text."""
    document: dict[str, Any] = {"what": change.what, "at_ns": str(change.at_ns), "job": change.job, "text": change.text}
    if change.gap is not None:
        document |= {"begin_ns": str(change.gap.begin_ns), "end_ns": str(change.gap.end_ns), "reason": change.gap.reason}
    if change.case is not None:
        case = change.case
        document |= {"case": case.id, "state": case.state, "finding": finding_json(case.finding) | {"title": change.title}}
        document |= {name: str(getattr(case, name)) for name in ("opened_ns", "updated_ns", "closed_ns")}
    return json.dumps(document, allow_nan=False)


def _of_jobs(before: Board, now: Board) -> Iterator[Change]:
    known = {status.id: status for status in before.jobs}
    for status in now.jobs:
        old, job, layout = known.pop(status.id, None), status.found.job, status.found.parallelism.layout
        sizes = " × ".join(
            f"{kind.upper()}{size}" for kind in ("tp", "pp", "dp", "ep", "cp") if (size := getattr(layout, kind)) > 1
        )
        step = step_ms(status.found)["median"]
        text = f"job {job.title}: {len(job.endpoints)} endpoints, {sizes or 'no layout'}, steps of {step or 0:.0f} ms"
        if old is None:
            yield Change("job", now.at_ns, f"{text}, {status.state}", None, job.id)
        elif old.state != status.state:
            yield Change("job", now.at_ns, f"job {job.id} is {status.state}", None, job.id)
    for gone in known:
        yield Change("job", now.at_ns, f"job {gone} is no longer followed", None, gone)


def _differs(old: Case, case: Case, grown: float) -> bool:
    a, b = old.finding, case.finding
    return (a.kind, a.ids, a.severity) != (b.kind, b.ids, b.severity) or b.lost_gpu_s > grown * max(a.lost_gpu_s, 1.0)
