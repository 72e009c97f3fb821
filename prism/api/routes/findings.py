"""Routes of findings: all, one, and the hosts to isolate."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from prism.api.requests.problem_details import not_found
from prism.api.requests.request_parameters import BoardParameter, CursorParameter, LimitQuery, TimeQuery, encode_cursor
from prism.api.requests.responses import answer, answer_list
from prism.api.schemas import finding_schemas, job_schemas
from prism.api.schemas.openapi import item_responses, list_responses
from prism.model import FindingKind, Severity
from prism.tracking.board import CaseState
from prism.views import board_views, finding_views

router = APIRouter()


@router.get("/findings", response_model=job_schemas.Listed[finding_schemas.Case], responses=list_responses("findings", 404))
def findings(
    request: Request,
    shown: BoardParameter,
    after: CursorParameter,
    job: Annotated[str | None, Query(max_length=200)] = None,
    kind: FindingKind | None = None,
    severity: Severity | None = None,
    state: CaseState | None = None,
    since_ns: TimeQuery = None,
    until_ns: TimeQuery = None,
    subject: Annotated[str | None, Query(max_length=200)] = None,
    order: Annotated[finding_views.Order, Query(description="What began last, or what closed last, comes first.")] = "begun",
    limit: LimitQuery = 100,
) -> Response:
    """List findings, latest start first; within a time range, those that started in it or were open in it.

    `order=closed`: latest end first. A cursor is valid for its order only.
    """
    worth = severity.value if severity else None
    asked = {"job": job, "kind": kind, "severity": worth, "state": state, "subject": subject}

    def make() -> tuple[list[board_views.Json], str | None]:
        found = finding_views.cases(shown.board, **asked, since_ns=since_ns, until_ns=until_ns, order=order)
        some, key = board_views.select_page(found, finding_views.ORDERS[order], after=after, limit=limit)
        return finding_views.case_list(shown.board, some), encode_cursor(key)

    return answer_list(request, shown, make)


@router.get("/findings/{id}", response_model=finding_schemas.CaseMore, responses=item_responses("finding", 404))
def finding(
    request: Request,
    shown: BoardParameter,
    id: Annotated[str, Path(max_length=64, description="The finding's id.", examples=["0a1b2c3d4e5f"])],  # noqa: A002
) -> Response:
    """Return a finding with its job, related findings and the next actions."""
    found = finding_views.finding(shown.board, id)
    if found is None:
        raise not_found("finding", id, [one.id for one in shown.board.cases], "/api/v1/findings")
    return answer(request, shown, lambda: found)


@router.get("/hosts", response_model=job_schemas.Listed[finding_schemas.Host], responses=list_responses("hosts", 404))
def hosts(request: Request, shown: BoardParameter) -> Response:
    """List the hosts to isolate, most urgent first."""
    return answer_list(request, shown, lambda: (finding_views.hosts(shown.board), None))
