"""Check whether two findings, of different windows or detectors, have the same cause."""

from __future__ import annotations

from prism.findings.advice import IMBALANCES
from prism.model import Finding, Severity
from prism.topology import Topology

OUTAGES = ("hang", "crash")


def is_claim(finding: Finding) -> bool:
    """Check whether a finding claims a cause (is not information)."""
    return finding.severity is not Severity.INFO


def is_same_cause(known: Finding, finding: Finding, topology: Topology | None) -> bool:
    """Check whether two findings blame the same part. A claim that is information in another window is still the same claim."""
    if not is_claim(known):
        return not is_claim(finding) and (known.kind, known.ids) == (finding.kind, finding.ids)
    same = (known.kind in OUTAGES) == (finding.kind in OUTAGES)
    if known.kind == finding.kind == "hang" and known.start_ns < finding.end_ns and finding.start_ns < known.end_ns:
        return True  # the silence is the same, whatever the cause
    behind = _crossed(known, topology) & set(finding.ids) or _crossed(finding, topology) & set(known.ids)
    return same and bool(behind or _blamed(known, topology) & _blamed(finding, topology))


def _crossed(finding: Finding, topology: Topology | None) -> set[str]:
    """Leaf switches at both ends of a slow link between two endpoints: the slow part may be a link of these."""
    if topology is None or finding.kind != "slow_link" or len(finding.ids) != 2:
        return set()
    leaves = {leaf for name in finding.ids if (leaf := topology.leaf(name)) is not None}
    return leaves if len(leaves) == 2 else set()


def _blamed(finding: Finding, topology: Topology | None) -> set[str]:
    if finding.kind in IMBALANCES:
        return {finding.kind}  # its ranks are not to blame
    if finding.kind in ("slow_step", "slow_group"):
        return {finding.kind, *finding.ids} if finding.kind == "slow_group" else {finding.kind}
    names = set(finding.ids)
    return names | {host for name in names if topology is not None and (host := topology.host(name)) is not None}
