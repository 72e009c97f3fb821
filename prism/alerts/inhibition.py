"""Find cases that another open case explains; their alerts are muted while the cause is open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from prism.diagnosis.assessment.root_causes import RANK
from prism.findings.titles import title
from prism.model import Finding, Severity
from prism.topology import Topology
from prism.tracking.board import Case

JOB_ENDS = ("crash", "hang")  # they stop a job, and so explain its other symptoms


def explained_cases(cases: Iterable[Case], topology: Topology | None = None) -> dict[str, str]:
    """Map the id of each explained open case to the reason, in words.

    Only warnings and criticals explain. In the same job, a crash or hang explains all other kinds. A cause that comes earlier
    in `root_causes.RANK` explains later kinds that name it or its host. A slow switch explains slow links at it, of any job.
    """
    going = sorted((case for case in cases if case.state == "open"), key=lambda case: case.id)
    claims: dict[str, list[Case]] = {}
    for case in going:
        if case.finding.severity is not Severity.INFO:
            claims.setdefault(case.finding.job, []).append(case)
    switches = [case for own in claims.values() for case in own if case.finding.kind == "slow_switch"]
    hosts = topology.host if topology is not None else _unknown
    named = {case.id: _named(case.finding, hosts) for case in going}
    found: dict[str, str] = {}
    for case in going:
        near = claims.get(case.finding.job, []) + (switches if case.finding.kind == "slow_link" else [])
        cause = next((other for other in near if other.id != case.id and _explains(other, case, named)), None)
        if cause is not None:
            found[case.id] = f"explained by {title(cause.finding, topology)} ({cause.id})"
    return found


def _explains(cause: Case, case: Case, named: Mapping[str, frozenset[str]]) -> bool:
    one, other = cause.finding, case.finding
    if one.kind == "slow_switch" and other.kind == "slow_link":
        return bool(set(one.ids) & set(other.ids))
    if one.job != other.job or _rank(one) >= _rank(other):
        return False
    return one.kind in JOB_ENDS or bool(named[cause.id] & (set(other.ids) | named[case.id]))


def _rank(finding: Finding) -> int:
    """Rank a finding by root cause. Crash and hang have the same rank, so that neither explains the other."""
    return 0 if finding.kind in JOB_ENDS else RANK.index(finding.kind)


def _named(finding: Finding, host: Callable[[str], str | None]) -> frozenset[str]:
    """List the ids that a finding names: its subject, the ends of its edges, and the hosts of blamed endpoints."""
    ends: Sequence[Sequence[str]] = finding.evidence.get("edges", ()) if finding.subject in ("link", "switch") else ()
    ids = set(finding.ids) | {end for edge in ends for end in edge}
    if finding.subject == "endpoint":
        ids |= {found for found in map(host, finding.ids) if found}
    return frozenset(ids)


def _unknown(_address: str) -> None:
    return None
