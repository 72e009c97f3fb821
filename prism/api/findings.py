"""What is read of findings: all, one, and whom to isolate."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from prism import views, views_findings
from prism.api import schemas, schemas_findings
from prism.api.answers import answer, listed
from prism.api.asked import AfterAsked, LimitQuery, ShownAsked, TimeQuery, cursor_of
from prism.api.described import many, one
from prism.api.problems import absent
from prism.board import CaseState
from prism.model import FindingKind, Severity

router = APIRouter()


@router.get("/findings", response_model=schemas.Listed[schemas_findings.Case], responses=many("findings", 404))
def findings(
    request: Request,
    shown: ShownAsked,
    after: AfterAsked,
    job: Annotated[str | None, Query(max_length=200)] = None,
    kind: FindingKind | None = None,
    severity: Severity | None = None,
    state: CaseState | None = None,
    since_ns: TimeQuery = None,
    until_ns: TimeQuery = None,
    subject: Annotated[str | None, Query(max_length=200)] = None,
    order: Annotated[views_findings.Order, Query(description="What began last, or what closed last, comes first.")] = "begun",
    limit: LimitQuery = 100,
) -> Response:
    """Findings as they are followed, what began last first; of a time, those that were not over before and begun in it.

    `order=closed`: what closed last first. A cursor belongs to the order in which it was made.
    """
    worth = severity.value if severity else None
    asked = {"job": job, "kind": kind, "severity": worth, "state": state, "subject": subject}

    def make() -> tuple[list[views.Json], str | None]:
        found = views_findings.cases(shown.board, **asked, since_ns=since_ns, until_ns=until_ns, order=order)
        some, key = views.page(found, views_findings.ORDERS[order], after=after, limit=limit)
        return views_findings.told(shown.board, some), cursor_of(key)

    return listed(request, shown, make)


@router.get("/findings/{id}", response_model=schemas_findings.CaseMore, responses=one("finding", 404))
def finding(
    request: Request,
    shown: ShownAsked,
    id: Annotated[str, Path(max_length=64, description="The finding's id.", examples=["0a1b2c3d4e5f"])],  # noqa: A002
) -> Response:
    """A finding with its job, related ones, and what to do next."""
    found = views_findings.finding(shown.board, id)
    if found is None:
        raise absent("finding", id, [one.id for one in shown.board.cases], "/api/v1/findings")
    return answer(request, shown, lambda: found)


@router.get("/hosts", response_model=schemas.Listed[schemas_findings.Host], responses=many("hosts", 404))
def hosts(request: Request, shown: ShownAsked) -> Response:
    """Hosts to isolate first."""
    return listed(request, shown, lambda: (views_findings.hosts(shown.board), None))
