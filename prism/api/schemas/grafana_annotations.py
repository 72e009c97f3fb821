"""Export findings as annotations of dashboards, in Grafana's columns: time, timeEnd (ms), title, text, tags.

https://grafana.com/docs/plugins/yesoreyeram-infinity-datasource/latest/annotations/
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from prism.alerts.alert_labels import finding_page
from prism.findings.titles import title
from prism.model import Severity
from prism.topology import Topology
from prism.tracking.board import Case
from prism.views.board_views import Json


def annotated(
    cases: Iterable[Case],
    since_ns: int,
    until_ns: int,
    *,
    jobs: Collection[str] = (),
    severities: Collection[Severity] = (Severity.WARNING, Severity.CRITICAL),
    topology: Topology | None = None,
    external_url: str = "",
) -> list[Json]:
    """Return the findings that were active in [since_ns, until_ns), oldest first; of all jobs if none is named.

    An annotation ends when its finding was last seen.
    """
    shown = [
        case
        for case in cases
        if case.finding.severity in severities
        and (not jobs or case.finding.job in jobs)
        and case.finding.start_ns < until_ns
        and max(case.finding.end_ns, case.finding.start_ns) >= since_ns
    ]
    return [_annotation(case, topology, external_url) for case in sorted(shown, key=lambda one: (one.finding.start_ns, one.id))]


def _annotation(case: Case, topology: Topology | None, external_url: str) -> Json:
    finding = case.finding
    page = finding_page(external_url, case.id)
    return {
        "id": case.id,
        "time": finding.start_ns // 1_000_000,
        "timeEnd": max(finding.end_ns, finding.start_ns) // 1_000_000,
        "title": title(finding, topology),
        "text": f"{finding.message} {page}".strip(),
        "tags": ",".join((finding.severity.value, finding.kind, finding.job)),
    }
