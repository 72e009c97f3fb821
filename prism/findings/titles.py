"""Write the title of a finding: the fault and its location, equal on the terminal, in alerts, in JSON, in traces, on pages."""

from __future__ import annotations

from collections.abc import Sequence

from prism.findings.advice import first_names
from prism.model import Finding
from prism.topology import Topology


def title(finding: Finding, topology: Topology | None = None) -> str:
    """Write fault and location in one line: "Slow NIC 10.10.3.1 (server3)", "Slow steps of job 3f2a".

    An endpoint is named with its host if the topology contains it. Of more than four names the first four are listed.
    """
    what = _what(finding)
    if "stage" in finding.evidence and finding.job:
        return f"{what}: stage {finding.evidence['stage']} of job {finding.job}"
    if finding.subject == "job" or not finding.ids:
        return f"{what} of job {finding.job}" if finding.job else what
    what += {"hang": " at", "crash": " of", "stage_imbalance": " at"}.get(finding.kind, "")
    if finding.subject == "link":  # either of two connected ranks may be the slow one
        return f"{what} {_ends(finding.ids, ' – ' if finding.kind == 'slow_link' else ' or ', topology)}"
    return f"{what} {_placed(finding.ids, topology)}"


def _what(finding: Finding) -> str:
    """Kind of fault; plural for several ranks or NICs."""
    many = "s" if finding.subject == "endpoint" and len(finding.ids) > 1 else ""
    if finding.kind == "slow_link" and finding.subject == "endpoint":
        return f"Slow NIC{many}"
    if finding.kind == "slow_rank":
        return "Slow host" if finding.subject == "host" else f"Slow rank{many}"
    return "Slow steps" if finding.kind == "slow_step" else finding.kind.replace("_", " ").capitalize()


def _placed(ids: Sequence[str], topology: Topology | None) -> str:
    """Names, and their common host."""
    hosts = {topology.host(name) for name in ids} if topology is not None else {None}
    host = hosts.pop() if len(hosts) == 1 else None
    return f"{first_names(ids)} ({host})" if host else first_names(ids)


def _ends(ids: Sequence[str], joint: str, topology: Topology | None) -> str:
    """Ends of a link, each with its host."""
    return joint.join(_placed([end], topology) for end in ids[:2])
