"""Routes of remarks on findings: acknowledge, mark right or false, note; and marked findings as labelled data."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query, Request, Response

from collectors.clickhouse.store_error import StoreError
from prism.api.requests.guard import bearer_token
from prism.api.requests.moments import add_time_texts
from prism.api.requests.problem_details import not_found
from prism.api.requests.request_parameters import BoardParameter, ServiceParameter
from prism.api.requests.responses import JSON, RequestedBoard, choose_form, encode_json, encode_list
from prism.api.schemas import feedback_schemas, job_schemas
from prism.api.schemas.openapi import item_responses, list_responses
from prism.feedback.remarks import labelled_findings, to_json
from prism.service.service_settings import Feedback, Service
from prism.tracking.board import Case
from prism.views import finding_views
from prism.views.board_views import Json

router = APIRouter()
CaseId = Annotated[str, Path(max_length=64, description="The finding's id.", examples=["0a1b2c3d4e5f"])]


def feedback_of(service: Service) -> Feedback:
    """Return the store of remarks, silences and actions. Raises HTTPException 404 if the service has none."""
    if service.feedback is None:
        raise HTTPException(404, "this service keeps no remarks, silences and actions; prism serve does")
    return service.feedback


def client_name(request: Request, service: Service) -> str:
    """Name the client: the name of its token, or `local` without tokens."""
    if service.tokens is None:
        return "local"
    found = service.tokens.token(bearer_token(request.headers))
    return found.name if found is not None else "owner"


def case_of(shown: RequestedBoard, id_: str) -> Case:
    """Find a finding by id. Raises HTTPException 404."""
    found = next((case for case in shown.board.cases if case.id == id_), None)
    if found is None:
        raise not_found("finding", id_, [case.id for case in shown.board.cases], "/api/v1/findings")
    return found


def uncached_list(request: Request, items: list[Json]) -> Response:
    """Answer with an uncached list, in the client's preferred form. Use it for lists that change without a new board."""
    form = choose_form(request)
    headers = {"Cache-Control": "no-store", "Vary": "Accept"}
    return Response(encode_list(add_time_texts(items), None, form), media_type=form, headers=headers)


def uncached_json(body: Json, status: int = 200) -> Response:
    """Answer with one uncached item as JSON."""
    return Response(encode_json(add_time_texts(body)), status, {"Cache-Control": "no-store"}, JSON)


@router.get("/remarks", response_model=job_schemas.Listed[feedback_schemas.Remark], responses=list_responses("remarks", 404))
def remarks(
    request: Request,
    service: ServiceParameter,
    finding: Annotated[str | None, Query(max_length=64, description="Only on this finding.")] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Response:
    """List remarks on findings, newest first."""
    found = reversed(feedback_of(service).journal.all())
    items = [to_json(one) | {"finding": one.case} for one in found if finding in (None, one.case)]
    return uncached_list(request, items[:limit])


made = item_responses("remarks", 404, 503, status=201)


@router.post("/findings/{id}/remarks", status_code=201, response_model=feedback_schemas.Remark, responses=made)
def remark(
    request: Request,
    shown: BoardParameter,
    service: ServiceParameter,
    id: CaseId,  # noqa: A002
    body: feedback_schemas.NewRemark,
) -> Response:
    """Acknowledge a finding (or take that back), mark it as right or false, or add a note.

    The current state of the finding is kept with the remark for two years. An acknowledged finding is not notified again until
    it gets worse or ends.
    """
    journal, case = feedback_of(service).journal, case_of(shown, id)
    known = finding_views.finding(shown.board, case.id) or {}
    evidence = {name: known.get(name) for name in ("finding", "job", "state", "opened_ns")}
    try:
        found = journal.add(case.id, body.act, by=client_name(request, service), text=body.text, known=evidence)
    except StoreError as error:
        raise HTTPException(503, f"the store did not take it, try again: {error}") from None
    return uncached_json(to_json(found) | {"finding": case.id}, 201)


@router.get("/labels", response_model=job_schemas.Listed[feedback_schemas.Label], responses=list_responses("labels", 404))
def labels(request: Request, service: ServiceParameter) -> Response:
    """List the findings that people marked as right or false, with claim and evidence: labelled data for calibration."""
    return uncached_list(request, labelled_findings(feedback_of(service).journal.all()))
