"""Routes of incidents: the logs of a run joined with its flows. One incident, one page."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, File, Form, HTTPException, Path, Query, Request, Response, UploadFile

from collectors.clickhouse.store_error import StoreError
from prism.api.changes.remark_routes import case_of, uncached_list
from prism.api.changes.replays import MAX_LOG_FILES
from prism.api.requests.moments import add_time_texts
from prism.api.requests.problem_details import not_found
from prism.api.requests.request_parameters import BoardParameter, ServiceParameter
from prism.api.requests.responses import JSON, encode_json
from prism.api.schemas import job_schemas, service_schemas
from prism.api.schemas.openapi import item_responses, list_responses
from prism.past.rediagnosis import NothingError, TimeSpanRequest, TooMuchError, diagnosed
from prism.past.upload_files import FullError
from prism.views import board_views
from prism.views.finding_views import times_as_text

router = APIRouter()
S = 10**9
# around a finding: the healthy steps before it show which rank usually ends last
BEFORE_NS, STEPS, AFTER_NS = 120 * S, 40, 30 * S
IncidentPath = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="The incident's id.", examples=["0123456789abcdef"])]


class Payload(job_schemas.Model):
    """Time of an endpoint's last payload."""

    endpoint: str
    time_ns: job_schemas.Ns


class Check(job_schemas.Model):
    """A fact in logs and in flows; `agrees` is null if one of them lacks it."""

    what: str
    logs: str
    flows: str
    agrees: bool | None


class Seen(job_schemas.Model):
    """A finding in the flows."""

    kind: str
    ids: list[str]
    message: str


class Incident(job_schemas.Model):
    """A failed run as seen in its logs and its flows. `logs` is a document of `prism logs --json`.

    `last_payload`: endpoints in the order in which they fell silent. `board` shows the flows of the incident.
    """

    id: str
    finding: str | None
    board: str
    failed: bool
    job: str | None
    node: str | None
    endpoints: list[str]
    cause: str | None
    why: str | None
    confidence: job_schemas.Number
    witnesses_agree: bool | None
    witnesses: list[str]
    ranks_assumed: bool
    last_payload: list[Payload]
    unanswered: list[str]
    checks: list[Check]
    findings: list[Seen]
    logs: dict[str, Any]


class IncidentSummary(job_schemas.Model):
    """An incident in brief."""

    id: str
    finding: str | None
    failed: bool
    job: str | None
    node: str | None
    cause: str | None
    confidence: job_schemas.Number


@router.post(
    "/incidents",
    status_code=202,
    response_model=service_schemas.Replay,
    responses=item_responses("replay", 404, 409, 413, 503, status=202),
)
def join(
    request: Request,
    shown: BoardParameter,
    service: ServiceParameter,
    logs: Annotated[list[UploadFile], File(min_length=1, max_length=MAX_LOG_FILES, description="Training logs of the run.")],
    finding: Annotated[str, Form(min_length=1, max_length=64, description="The finding that they are about.")],
) -> Response:
    """Join the logs of a run with the flow records around a finding. When it is `done`, read `/incidents/ID`."""
    case = case_of(shown, finding)
    if service.uploads is None or service.records is None or shown.name != "live":
        raise HTTPException(404, "this service keeps no records to join logs with; prism serve --data FOLDER does")
    status = board_views.job_of(shown.board, case.finding.job)
    step = board_views.jobs(shown.board, [status])[0]["step_ms"]["median"] if status is not None else None
    before = max(BEFORE_NS, round((step or 0) * 1e6 * STEPS))
    end = max(case.finding.end_ns, case.finding.start_ns) + AFTER_NS
    given: dict[str, Any] = {
        "topology": shown.board.topology,
        "bookings": tuple(shown.board.bookings.values()),
        "max_records": service.limits.diagnosed,
        "logs": [(file.filename or "log", file.file) for file in logs],
        "finding": case.id,
    }
    try:
        made = diagnosed(
            TimeSpanRequest(max(case.finding.start_ns - before, 0), end), service.records, service.uploads, **given
        )
    except NothingError as error:
        raise HTTPException(404, str(error)) from None
    except (TooMuchError, FullError) as error:
        raise HTTPException(413, str(error)) from None
    except StoreError as error:
        raise HTTPException(503, str(error)) from None
    headers = {"Cache-Control": "no-store", "Location": request.url_for("replay", id=made.id).path}
    return Response(encode_json(made.to_json()), 202, headers, JSON)


@router.get("/incidents", response_model=job_schemas.Listed[IncidentSummary], responses=list_responses("incidents", 404))
def incidents(
    request: Request,
    service: ServiceParameter,
    finding: Annotated[str | None, Query(max_length=64, description="Only those of this finding.")] = None,
) -> Response:
    """List the stored incidents, newest first. They are deleted in the same way as uploads."""
    found = []
    for upload in reversed(service.uploads.all() if service.uploads else []):
        told = service.uploads.incident(upload.id) if service.uploads else None
        if told is not None and finding in (None, upload.finding):
            brief = {name: told.get(name) for name in ("failed", "job", "node", "cause", "confidence")}
            found.append({"id": upload.id, "finding": upload.finding or None, **brief})
    return uncached_list(request, found)


@router.get("/incidents/{id}", response_model=Incident, responses=item_responses("incident", 404))
def incident(service: ServiceParameter, id: IncidentPath) -> Response:  # noqa: A002
    """Return an incident: node, cause, facts from logs and flows, and contradictions."""
    told = service.uploads.incident(id) if service.uploads else None
    if told is None or service.uploads is None:
        known = [one.id for one in service.uploads.all() if one.incident] if service.uploads else []
        raise not_found("incident", id, known, "/api/v1/incidents")
    upload = service.uploads.get(id)
    own = {name: times_as_text(value, name) for name, value in told.items() if name != "schema"}
    more = {"id": id, "finding": (upload.finding if upload else "") or None, "board": f"?replay={id}"}
    return Response(encode_json(add_time_texts(more | own)), 200, {"Cache-Control": "no-store"}, JSON)
