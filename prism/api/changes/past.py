"""Routes that diagnose a past time range again, and compare two jobs."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from collectors.clickhouse.store_error import StoreError
from prism.api.requests.moments import EXAMPLE, LAST, parse_time
from prism.api.requests.problem_details import not_found
from prism.api.requests.request_parameters import ReplayQuery, ServiceParameter, requested_board
from prism.api.requests.responses import JSON, RequestedBoard, answer, encode_json
from prism.api.schemas import job_schemas, service_schemas
from prism.api.schemas.openapi import item_responses
from prism.inventory.operator_hints import parse as parse_hints
from prism.model import JobDiagnosis
from prism.past.job_comparison import compared
from prism.past.rediagnosis import NothingError, TimeSpanRequest, TooMuchError, diagnosed
from prism.past.upload_files import FullError
from prism.views import board_views

router = APIRouter()


class Asked(BaseModel):
    """A time range, optionally with other hints. Times are nanoseconds or RFC 3339."""

    model_config = ConfigDict(extra="forbid")

    start: Annotated[int | str, Field(examples=[EXAMPLE])]
    end: Annotated[int | str, Field(examples=[EXAMPLE])]
    hints: dict[str, Any] | None = None


class Value(job_schemas.Model):
    """A figure that changed: both values, and b / a."""

    name: str
    group: str
    unit: str
    a: job_schemas.Number
    b: job_schemas.Number
    ratio: job_schemas.Number


class Both(job_schemas.Model):
    """A figure in both jobs."""

    a: job_schemas.Number
    b: job_schemas.Number


class RankChange(job_schemas.Model):
    """Change of the steps of a rank, ms per step."""

    endpoint: str
    change_ms: job_schemas.Number
    work_ms: Both
    wait_ms: Both
    communication_ms: Both


class Common(job_schemas.Model):
    """Properties that both jobs share."""

    endpoints: int
    only_a: int
    only_b: int
    same_layout: bool


class Comparison(job_schemas.Model):
    """Two jobs side by side; `ranks`: at most 20, largest change first."""

    a: job_schemas.JobSummary
    b: job_schemas.JobSummary
    rows: list[Value]
    ranks: list[RankChange]
    common: Common


@router.post(
    "/diagnoses",
    status_code=202,
    response_model=service_schemas.Replay,
    responses=item_responses("replay", 404, 409, 413, 503, status=202),
)
def diagnose(request: Request, service: ServiceParameter, body: Asked) -> Response:
    """Diagnose a past time range again. Add `?replay=ID` to any other request to read the result once it is `done`.

    A repeated request for the same range and hints returns the kept result.
    """
    if service.uploads is None or service.records is None:
        raise HTTPException(404, "this service keeps no records that could be diagnosed again; prism serve --data FOLDER does")
    try:
        start, end = (int(parse_time(value)) for value in (body.start, body.end))
        if not 0 <= start < end <= LAST:
            raise ValueError("end must be after start")
        text = json.dumps(body.hints, sort_keys=True) if body.hints else ""
        if text:
            parse_hints(text, "hints")
    except (ValueError, TypeError) as error:
        raise HTTPException(409, str(error)) from None
    board = service.boards.newest
    given: dict[str, Any] = {
        "topology": board.topology,
        "bookings": tuple(board.bookings.values()),
        "max_records": service.limits.diagnosed,
    }
    try:
        made = diagnosed(TimeSpanRequest(start, end, text), service.records, service.uploads, **given)
    except NothingError as error:
        raise HTTPException(404, str(error)) from None
    except TooMuchError as error:
        raise HTTPException(413, str(error)) from None
    except FullError as error:
        raise HTTPException(503, str(error), {"Retry-After": "60"}) from None
    except StoreError as error:
        raise HTTPException(503, str(error)) from None
    headers = {"Cache-Control": "no-store", "Location": request.url_for("replay", id=made.id).path}
    return Response(encode_json(made.to_json()), 202, headers, JSON)


@router.get("/compare", response_model=Comparison, responses=item_responses("compare", 404))
def compare(
    request: Request,
    a: Annotated[str, Query(max_length=200, description="Id of a job.", examples=["job-1"])],
    b: Annotated[str, Query(max_length=200, description="Id of another, or the same.", examples=["job-1"])],
    replay_a: ReplayQuery = None,
    replay_b: ReplayQuery = None,
) -> Response:
    """Compare two jobs, or two times of one job: steps, phases, bandwidth, waits, ranks.

    `replay_a` and `replay_b` are uploads or diagnoses; by default a job is read from the newest board.
    """
    first, second = requested_board(request, replay_a), requested_board(request, replay_b)
    (one_, own), (other, others) = _job(first, a), _job(second, b)

    def make() -> board_views.Json:
        return {"a": own, "b": others} | compared(one_, other)

    return answer(request, first, make, tagged=False)


def _job(shown: RequestedBoard, id_: str) -> tuple[JobDiagnosis, board_views.Json]:
    """Find a job and its summary. Raises HTTPException 404."""
    status = board_views.job_of(shown.board, id_)
    if status is None:
        raise not_found("job", id_, [job.id for job in shown.board.jobs], "/api/v1/jobs")
    return status.found, board_views.jobs(shown.board, [status])[0]
