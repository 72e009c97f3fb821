"""Routes of actions on findings: list, propose, approve and reject them, with their audit trail."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request, Response

from collectors.clickhouse.store_error import StoreError
from prism.alerts.alert_labels import labels
from prism.api.changes.remark_routes import case_of, client_name, feedback_of, uncached_json, uncached_list
from prism.api.requests.problem_details import not_found
from prism.api.requests.request_parameters import BoardParameter, ServiceParameter
from prism.api.schemas import feedback_schemas, job_schemas
from prism.api.schemas.openapi import item_responses, list_responses

router = APIRouter()


@router.get("/hooks", response_model=job_schemas.Listed[feedback_schemas.Hook], responses=list_responses("hooks", 404))
def hooks(request: Request, shown: BoardParameter, service: ServiceParameter) -> Response:
    """List the actions that can be proposed, each with the open findings it is offered for."""
    feedback = feedback_of(service)
    known = {
        case.id: {**feedback.settings.labels, **labels(case.finding, shown.board.topology)}
        for case in shown.board.cases
        if case.state == "open"
    }
    items = [
        {
            "name": hook.name,
            "title": hook.title or hook.name,
            "dry_run": hook.dry_run,
            "findings": [id_ for id_, own in known.items() if all(matcher.matches(own) for matcher in hook.match)],
        }
        for hook in feedback.desk.hooks.values()
    ]
    return uncached_list(request, items)


@router.get("/actions", response_model=job_schemas.Listed[feedback_schemas.Action], responses=list_responses("actions", 404))
def actions(request: Request, service: ServiceParameter) -> Response:
    """List actions with their proposer, their decision and the hook's answer, newest first."""
    return uncached_list(request, [one.to_json() for one in feedback_of(service).desk.all()])


@router.post(
    "/actions",
    status_code=201,
    response_model=feedback_schemas.Action,
    responses=item_responses("actions", 404, 409, 503, status=201),
)
def propose(request: Request, shown: BoardParameter, service: ServiceParameter, body: feedback_schemas.NewAction) -> Response:
    """Propose an action on a finding. Nothing is sent before approval, and then only a dry run by default."""
    feedback = feedback_of(service)
    if body.hook not in feedback.desk.hooks:
        raise not_found("hook", body.hook, list(feedback.desk.hooks), "/api/v1/hooks")
    case = case_of(shown, body.finding)
    try:
        made = feedback.desk.propose(body.hook, case, by=client_name(request, service), dry_run=body.dry_run)
    except ValueError as error:
        raise HTTPException(409, str(error)) from None
    except StoreError as error:
        raise HTTPException(503, f"the store did not take it, try again: {error}") from None
    return uncached_json(made.to_json(), 201)


@router.post("/actions/{id}", response_model=feedback_schemas.Action, responses=item_responses("actions", 404, 409, 503))
def decide(
    request: Request,
    service: ServiceParameter,
    id: Annotated[str, Path(pattern=r"^act_[0-9a-f]{16}$", examples=["act_0123456789abcdef"])],  # noqa: A002
    body: feedback_schemas.Decision,
) -> Response:
    """Approve an action, which posts it to its hook, or reject it."""
    desk = feedback_of(service).desk
    if desk.get(id) is None:
        raise not_found("action", id, [one.id for one in desk.all()], "/api/v1/actions")
    try:
        made = desk.decide(id, approved=body.approved, by=client_name(request, service))
    except ValueError as error:
        raise HTTPException(409, str(error)) from None
    except StoreError as error:
        raise HTTPException(503, f"the store did not take it, try again: {error}") from None
    return uncached_json(made.to_json())
