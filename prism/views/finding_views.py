"""Convert findings, their next actions, and the hosts to isolate; see `board_views`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from prism.findings import advice
from prism.model import Finding, Severity
from prism.report import json_report
from prism.topology import Topology
from prism.tracking.board import Board, Case
from prism.views.board_views import Json, finite, job_of, job_summary, ns

RANKS = {severity: i for i, severity in enumerate(Severity)}
Order = Literal["begun", "closed"]
MIN_PROBABILITY = 0.01  # suspects below this probability are not listed among the hosts to isolate


def case_list(shown: Board, some: Sequence[Case]) -> list[Json]:
    """Convert cases with their findings as in the report, times as text, and the blamed `ranks` of their jobs."""
    by_job: dict[str, list[Case]] = {}
    for one in some:
        by_job.setdefault(one.finding.job, []).append(one)
    ranks = {id_: _ranks(shown, id_, own) for id_, own in by_job.items()}
    return [_case(one, shown.topology) | {"ranks": _blamed(one.finding, ranks[one.finding.job])} for one in some]


def _ranks(shown: Board, job: str, own: Iterable[Case]) -> Mapping[str, list[int]]:
    """Map endpoints and hosts to ranks of a job, for those that its cases name."""
    status = job_of(shown, job)
    names = {name for one in own for name in one.finding.ids}
    places = shown.topology.endpoints if shown.topology else {}
    found: dict[str, list[int]] = {}
    for rank, endpoint in enumerate(status.found.job.endpoints if status else ()):
        place = places.get(endpoint)
        for name in {endpoint, place.host if place else None} & names:
            found.setdefault(str(name), []).append(rank)
    return found


def _blamed(finding: Finding, ranks: Mapping[str, list[int]]) -> list[int]:
    """List the ranks that belong to a finding's subject; none for a link or a switch."""
    known = finding.ids if finding.subject in ("endpoint", "host", "group") else ()
    return sorted({rank for name in known for rank in ranks.get(name, ())})


def _case(followed: Case, topology: Topology | None) -> Json:
    return {
        "id": followed.id,
        "state": followed.state,
        "opened_ns": ns(followed.opened_ns),
        "updated_ns": ns(followed.updated_ns),
        "closed_ns": ns(followed.closed_ns) if followed.closed_ns else None,
        "finding": times_as_text(json_report.finding_json(followed.finding, topology)),
    }


def times_as_text(value: Any, key: str = "") -> Any:
    """Convert whole numbers under names that end in `_ns` to text."""
    if isinstance(value, dict):
        return {name: times_as_text(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [times_as_text(item, key) for item in value]
    return str(value) if key.endswith("_ns") and isinstance(value, int) and not isinstance(value, bool) else value


def case_key(followed: Case) -> tuple[int, str]:
    """Return the sort key of a case: latest start first, then id."""
    return -followed.finding.start_ns, followed.id


def closed_key(followed: Case) -> tuple[int, str]:
    """Return the sort key of a case: latest end first, open cases last, then id."""
    return -followed.closed_ns, followed.id


ORDERS = {"begun": case_key, "closed": closed_key}


def cases(
    shown: Board,
    *,
    job: str | None = None,
    kind: str | None = None,
    severity: str | None = None,
    state: str | None = None,
    since_ns: int | None = None,
    until_ns: int | None = None,
    subject: str | None = None,
    order: Order = "begun",
) -> list[Case]:
    """Select cases, in an order of `ORDERS`.

    `since_ns`: not over before; `until_ns`: started before; `subject`: one of its ids.
    """

    def fits(one: Case) -> bool:
        found = one.finding
        return (
            job in (None, found.job)
            and kind in (None, found.kind)
            and severity in (None, found.severity.value)
            and state in (None, one.state)
            and (since_ns is None or max(found.end_ns, one.updated_ns) >= since_ns)
            and (until_ns is None or found.start_ns < until_ns)
            and (subject is None or subject in found.ids)
        )

    return sorted(filter(fits, shown.cases), key=ORDERS[order])


def finding(shown: Board, id_: str) -> Json | None:
    """Convert a case with its job, the other cases of that job, and the next actions; None for an unknown id."""
    found = next((one for one in shown.cases if one.id == id_), None)
    if found is None:
        return None
    status = job_of(shown, found.finding.job)
    own = [one for one in shown.cases if one.finding.job == found.finding.job]
    return case_list(shown, [found])[0] | {
        "job": job_summary(status, own, shown.bookings.get(status.id)) if status else None,
        "related": [one.id for one in sorted(own, key=case_key) if one.id != id_],
        "advice": advice.steps(found.finding),
    }


def hosts(shown: Board) -> list[Json]:
    """List hosts (endpoints without a topology) that open claims suspect, worst first.

    `probability` is the maximum over findings for the host alone. If only a set of hosts is known to contain the culprit, each
    host gets the probability of the set.
    """
    found: dict[str, list[tuple[Case, float]]] = {}
    switches = set(shown.topology.switches()) if shown.topology else set()
    for one in shown.cases:
        if one.state == "open" and one.finding.severity is not Severity.INFO:
            for host, probability in _suspects(one.finding, switches).items():
                found.setdefault(host, []).append((one, probability))
    items = [_host(host, claims) for host, claims in found.items()]
    return sorted(items, key=lambda item: (-RANKS[Severity(item["severity"])], -item["probability"], item["host"]))


def _host(host: str, claims: Iterable[tuple[Case, float]]) -> Json:
    claims = list(claims)
    return {
        "host": host,
        "findings": [one.id for one, _ in claims],
        "probability": finite(max(probability for _, probability in claims)),
        "severity": max((one.finding.severity for one, _ in claims), key=RANKS.__getitem__).value,
        "jobs": sorted({one.finding.job for one, _ in claims}),
        "lost_gpu_seconds": finite(sum(one.finding.lost_gpu_s * probability for one, probability in claims)),
    }


def _suspects(found: Finding, switches: set[str]) -> Mapping[str, float]:
    """Return the probability of each host for a finding; switches are no hosts."""
    alone = {names[0]: share for names, share in found.isolate.alternatives if len(names) == 1 and share >= MIN_PROBABILITY}
    together = dict.fromkeys(found.isolate.hosts, found.isolate.confidence)
    return {host: share for host, share in (together | alone).items() if host not in switches | set(found.isolate.parts)}
