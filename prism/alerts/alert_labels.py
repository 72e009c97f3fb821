"""Make alerts from the cases of a board, with the labels that group, silence and distinguish them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from urllib.parse import quote

from prism.alerts.alert_texts import describe_case
from prism.alerts.notifications import Alert
from prism.model import Finding
from prism.topology import Topology
from prism.tracking.board import Board, Case

MAX_NAMES = 8  # names in a label at most
LABELS = ("alertname", "severity", "job", "subject", "ids", "host", "switch")  # labels of every alert, where they apply


def alerts(
    board: Board,
    *,
    severities: Iterable[str] = ("warning", "critical"),
    extra_labels: Mapping[str, str] | None = None,
    external_url: str = "",
) -> list[Alert]:
    """Make an alert for each case of the given severities, worst first, one per set of labels.

    Of cases with equal labels, an open case wins, then the case that ended last. The start is the earliest of all.
    """
    wanted = set(severities)
    found: dict[str, Alert] = {}
    for case in board.cases:
        if case.finding.severity.value in wanted:
            made = alert(case, board, extra_labels=extra_labels or {}, external_url=external_url)
            found[made.fingerprint] = _merged(found[made.fingerprint], made) if made.fingerprint in found else made
    return sorted(found.values(), key=lambda one: (one.labels["severity"] != "critical", one.started_ns, one.fingerprint))


def alert(case: Case, board: Board, *, extra_labels: Mapping[str, str], external_url: str = "") -> Alert:
    """Make the alert of a case. `extra_labels` do not replace our own."""
    finding = case.finding
    started = min(finding.start_ns, case.opened_ns) or finding.start_ns
    ended = 0 if case.state == "open" else max(case.closed_ns, started + 1)
    link = finding_page(external_url, case.id)
    status = next((one for one in board.jobs if one.id == finding.job), None)
    said = describe_case(case, status, board.topology, started_ns=started)
    return Alert(
        labels={**extra_labels, **labels(finding, board.topology)},
        annotations=said | {"dashboard": link} if link else said,
        started_ns=started,
        ended_ns=ended,
        link=link,
        case=case.id,
    )


def finding_page(external_url: str, case: str) -> str:
    """Build the address of a finding's page; empty without `external_url`."""
    return f"{external_url.rstrip('/')}/#/findings/{quote(case, safe='')}" if external_url else ""


def labels(finding: Finding, topology: Topology | None) -> dict[str, str]:
    """Build the labels that identify a finding, without empty ones (as Alertmanager does). Only `severity` may change later."""
    switches = _switches(finding, topology)
    hosts = () if finding.subject == "job" else _hosts(finding, topology)
    found = {
        "alertname": finding.kind.replace("_", " "),
        "severity": finding.severity.value,
        "job": finding.job,
        "subject": finding.subject,
        "ids": _listed(finding.ids),
        "host": _listed(hosts),
        "switch": _listed(switches),
    }
    return {name: value for name, value in found.items() if value}


def _hosts(finding: Finding, topology: Topology | None) -> Sequence[str]:
    if finding.subject == "host":
        return finding.ids
    found = [topology.host(one) for one in finding.ids if _is_address(one)] if topology is not None else []
    return tuple(dict.fromkeys(host for host in found if host))


def _switches(finding: Finding, topology: Topology | None) -> Sequence[str]:
    """List the blamed switches, or the switches of the blamed endpoints."""
    if finding.subject in ("switch", "link") and not any(map(_is_address, finding.ids)):
        return finding.ids
    found = [topology.leaf(one) for one in finding.ids if _is_address(one)] if topology is not None else []
    return tuple(dict.fromkeys(leaf for leaf in found if leaf)) if finding.subject != "job" else ()


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _listed(names: Sequence[str]) -> str:
    more = f",+{len(names) - MAX_NAMES}" if len(names) > MAX_NAMES else ""
    return ",".join(names[:MAX_NAMES]) + more


def _merged(one: Alert, other: Alert) -> Alert:
    """Merge two alerts with equal labels: the open one wins, else the later one. If both are open, keep the earlier start."""
    first, second = sorted((one, other), key=lambda a: (not a.firing, -a.ended_ns, a.started_ns, a.case))
    both = first.firing and second.firing
    return replace(first, started_ns=min(first.started_ns, second.started_ns)) if both else first
