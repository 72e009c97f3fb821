"""Routes of notifications with their deliveries, and of silences with the alerts they match."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query, Request, Response

from collectors.clickhouse.store_error import StoreError
from prism.alerts.alert_labels import LABELS, alerts, labels
from prism.alerts.matchers import Matcher, Silence, check_labels, parse_matcher
from prism.alerts.notifications import Alert, Notification
from prism.alerts.receivers.slack import headline
from prism.api.changes.remark_routes import case_of, client_name, feedback_of, uncached_json, uncached_list
from prism.api.requests.request_parameters import BoardParameter, ServiceParameter
from prism.api.schemas import feedback_schemas, job_schemas
from prism.api.schemas.openapi import error_responses, item_responses, list_responses
from prism.notify import silence_file
from prism.service.service_settings import Feedback
from prism.views.board_views import Json

router = APIRouter()
MAX_FINDINGS = 100  # findings listed per silence


@router.get(
    "/notifications",
    response_model=job_schemas.Listed[feedback_schemas.Notification],
    responses=list_responses("notifications", 404, 503),
)
def notifications(request: Request, service: ServiceParameter, limit: Annotated[int, Query(ge=1, le=1000)] = 200) -> Response:
    """List the notifications of the last 30 days, newest first, with the state of each delivery."""
    try:
        found = feedback_of(service).notifications(limit)
    except StoreError as error:
        raise HTTPException(503, str(error)) from None
    return uncached_list(request, [notification_json(one) for one in found])


def notification_json(notification: Notification) -> Json:
    """Convert a notification to plain values."""
    return {
        "id": notification.id,
        "receiver": notification.receiver,
        "state": notification.state,
        "summary": headline(notification),
        "reason": notification.reason,
        "findings": [alert.case for alert in notification.alerts],
        "tries": notification.tries,
        "made_ns": str(notification.made_ns),
        "next_ns": str(notification.next_ns) if notification.state == "waiting" else None,
        "done_ns": str(notification.done_ns) if notification.done_ns else None,
        "error": notification.error,
    }


@router.get("/silences", response_model=job_schemas.Listed[feedback_schemas.Silence], responses=list_responses("silences", 404))
def silences(request: Request, shown: BoardParameter, service: ServiceParameter) -> Response:
    """List silences, latest end first, with the findings that each matches now."""
    feedback, now = feedback_of(service), time.time_ns()
    going = alerts(shown.board, extra_labels=feedback.settings.labels)
    found = sorted(_read(feedback), key=lambda one: (-one.end_ns, one.id))
    return uncached_list(request, [silence_json(one, going, now) for one in found])


def silence_json(one: Silence, going: Sequence[Alert], now_ns: int) -> Json:
    """Convert a silence to plain values, with the open alerts (`going`) that it matches."""
    state = "ended" if one.end_ns <= now_ns else "future" if one.start_ns > now_ns else "active"
    fits = [alert for alert in going if alert.firing and all(matcher.matches(alert.labels) for matcher in one.matchers)]
    matches = [{"finding": alert.case, "summary": alert.annotations.get("summary", "")} for alert in fits[:MAX_FINDINGS]]
    times = {"start_ns": str(one.start_ns), "end_ns": str(one.end_ns)}
    return {
        "id": one.id,
        "state": state,
        "matchers": list(map(str, one.matchers)),
        **times,
        "by": one.by,
        "why": one.why,
        "matches": matches,
    }


@router.post(
    "/silences",
    status_code=201,
    response_model=feedback_schemas.Silence,
    responses=item_responses("silences", 404, 409, 503, status=201),
)
def silence(request: Request, shown: BoardParameter, service: ServiceParameter, body: feedback_schemas.NewSilence) -> Response:
    """Silence alerts from now on. A running service applies it at once; findings stay on the pages."""
    feedback, now = feedback_of(service), time.time_ns()
    matchers = [_matcher(text) for text in body.matchers]
    if body.finding is not None:
        own = labels(case_of(shown, body.finding).finding, shown.board.topology)
        matchers += [Matcher(name, "=", own[name]) for name in ("alertname", "job", "ids") if own.get(name)]
    try:
        check_labels(matchers, (*LABELS, *feedback.settings.labels))
        made = silence_file.add(
            feedback.folder,
            matchers,
            now,
            now + body.minutes * 60 * 10**9,
            by=client_name(request, service),
            why=body.why,
            now_ns=now,
        )
    except ValueError as error:
        raise HTTPException(409, str(error)) from None
    except OSError as error:
        raise HTTPException(503, f"the silence could not be written: {error.strerror}") from None
    return uncached_json(silence_json(made, alerts(shown.board, extra_labels=feedback.settings.labels), now), 201)


@router.delete("/silences/{id}", status_code=204, responses=error_responses(404, 503))
def unsilence(
    service: ServiceParameter,
    id: Annotated[str, Path(pattern=r"^[0-9a-f]{8}$", examples=["0a1b2c3d"])],  # noqa: A002
) -> Response:
    """End a silence now."""
    try:
        silence_file.remove(feedback_of(service).folder, id, time.time_ns())
    except ValueError as error:
        raise HTTPException(404, f"{error}; GET /api/v1/silences lists them") from None
    except OSError as error:
        raise HTTPException(503, f"the silence could not be ended: {error.strerror}") from None
    return Response(status_code=204)


def _matcher(text: str) -> Matcher:
    try:
        return parse_matcher(text)
    except ValueError as error:
        raise HTTPException(409, f"matchers: {error}") from None


def _read(feedback: Feedback) -> list[Silence]:
    try:
        return silence_file.read(feedback.folder)
    except (OSError, ValueError) as error:
        raise HTTPException(503, str(error)) from None
