"""Whether two findings, of different windows or detectors, say the same."""

from __future__ import annotations

from prism.model import Finding, Severity
from prism.topology import Topology

OUTAGES = ("hang", "crash")


def loud(finding: Finding) -> bool:
    """Whether a finding claims that something is wrong and who is to blame."""
    return finding.severity is not Severity.INFO


def alike(known: Finding, finding: Finding, topology: Topology | None) -> bool:
    """Whether two findings blame the same. A claim that is told as info in a window is still that claim."""
    if not loud(known):
        return not loud(finding) and (known.kind, known.ids) == (finding.kind, finding.ids)
    same = (known.kind in OUTAGES) == (finding.kind in OUTAGES)
    if known.kind == finding.kind == "hang" and known.start_ns < finding.end_ns and finding.start_ns < known.end_ns:
        return True  # whoever is to blame: it is the same silence
    behind = _crossed(known, topology) & set(finding.ids) or _crossed(finding, topology) & set(known.ids)
    return same and bool(behind or _blamed(known, topology) & _blamed(finding, topology))


def _crossed(finding: Finding, topology: Topology | None) -> set[str]:
    """The leaf switches that what a slow link between two endpoints carries leaves and enters: it may be a link of those."""
    if topology is None or finding.kind != "slow_link" or len(finding.ids) != 2:
        return set()
    leaves = {leaf for name in finding.ids if (leaf := topology.leaf(name)) is not None}
    return leaves if len(leaves) == 2 else set()


def _blamed(finding: Finding, topology: Topology | None) -> set[str]:
    if finding.kind in ("slow_step", "slow_group"):
        return {finding.kind, *finding.ids} if finding.kind == "slow_group" else {finding.kind}
    names = set(finding.ids)
    return names | {host for name in names if topology is not None and (host := topology.host(name)) is not None}
