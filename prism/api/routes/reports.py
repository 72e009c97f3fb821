"""Routes of reports over a week or month: GPU-hours lost by cause, host, switch, job and user, as JSON, CSV, Parquet, HTML."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse

from collectors.clickhouse.store_error import StoreError
from prism.api.changes.remark_routes import uncached_list
from prism.api.requests.moments import LAST
from prism.api.requests.request_parameters import BoardParameter, ServiceParameter, TimeQuery
from prism.api.requests.responses import RequestedBoard
from prism.api.schemas import job_schemas
from prism.api.schemas.grafana_annotations import annotated
from prism.api.schemas.openapi import error_responses, list_responses
from prism.lost_time.effective_time import effective
from prism.lost_time.lost_hours import BYS, By, lost
from prism.lost_time.lost_time_mail import page
from prism.service.service_settings import Service
from prism.tracking.board import Case
from prism.views.board_views import Json

router = APIRouter()
DAY = 86_400 * 10**9
Days = Annotated[int, Query(ge=1, le=366, description="So many days up to the end.")]


class Lost(job_schemas.Model):
    """Loss of one name. `again`: it was blamed more than once. At most 100 of its findings are listed."""

    name: str
    gpu_hours: job_schemas.Number
    number: int
    again: bool
    findings: list[str]
    jobs: list[str]
    first_ns: job_schemas.Ns
    last_ns: job_schemas.Ns


@router.get("/reports/lost", response_model=job_schemas.Listed[Lost], responses=list_responses("lost", 404, 503))
def lost_hours(
    request: Request,
    shown: BoardParameter,
    service: ServiceParameter,
    by: By = "cause",
    days: Days = 7,
    end_ns: TimeQuery = None,
) -> Response:
    """List the GPU-hours that claims cost, largest first. Claims marked as false do not count."""
    cases, start, end = _cases(shown, service, days, end_ns)
    board = shown.board
    return uncached_list(request, lost(cases, by, start, end, topology=board.topology, bookings=board.bookings))


class Effective(job_schemas.Model):
    """Effective training time ratio of a job. `low`: a lower bound, for an unknown number of repeated steps.

    `lost_s`: by reason. `sliding`: the ratio in windows of a sixth of the known duration, evenly spaced.
    """

    job: str
    name: str | None
    user: str | None
    ranks: int
    ratio: job_schemas.Number
    low: job_schemas.Number
    lost_gpu_hours: job_schemas.Number
    lost_s: dict[str, job_schemas.Number]
    steps: int
    sliding: list[job_schemas.Number]
    start_ns: job_schemas.Ns
    end_ns: job_schemas.Ns


@router.get("/reports/ettr", response_model=job_schemas.Listed[Effective], responses=list_responses("ettr", 404, 503))
def ratios(
    request: Request, shown: BoardParameter, service: ServiceParameter, days: Days = 7, end_ns: TimeQuery = None
) -> Response:
    """Return the share of time in which each job trained (ETTR): without warm-up, hangs, restarts and repeated steps."""
    cases, start, end = _cases(shown, service, days, end_ns)
    return uncached_list(request, effective(shown.board, cases, start, end + 1))


class Annotation(job_schemas.Model):
    """A finding on a dashboard; times in ms since the epoch, `tags` joined by commas."""

    id: str
    time: int
    timeEnd: int  # noqa: N815  (as Grafana writes it)
    title: str
    text: str
    tags: str


JobsQuery = Annotated[
    str, Query(max_length=4000, description="Ids joined by commas; all jobs where empty or `.*`, which is Grafana's All.")
]


@router.get("/annotations", response_model=job_schemas.Listed[Annotation], responses=list_responses("annotations", 404, 503))
def on_dashboards(
    request: Request,
    shown: BoardParameter,
    service: ServiceParameter,
    since_ns: TimeQuery = None,
    until_ns: TimeQuery = None,
    jobs: JobsQuery = "",
) -> Response:
    """Return findings as dashboard annotations, in Grafana's columns: those open in a time range, oldest first."""
    since, until = since_ns or 0, LAST if until_ns is None else until_ns
    named = set() if jobs in ("", ".*") else set(jobs.split(","))
    url = service.feedback.settings.external_url if service.feedback else ""
    cases = known_cases(shown, service, since)
    given: dict[str, Any] = {"jobs": named, "topology": shown.board.topology, "external_url": url}
    return uncached_list(request, annotated(cases, since, until, **given))


@router.get("/reports/lost.html", response_class=HTMLResponse, responses=error_responses(404, 503))
def letter(shown: BoardParameter, service: ServiceParameter, days: Days = 7, end_ns: TimeQuery = None) -> Response:
    """Return the same reports as one HTML page for a mail."""
    cases, start, end = _cases(shown, service, days, end_ns)
    board = shown.board
    tables: dict[str, list[Json]] = {
        by: lost(cases, by, start, end, topology=board.topology, bookings=board.bookings) for by in BYS
    }
    url = service.feedback.settings.external_url if service.feedback else ""
    own = effective(board, cases, start, end + 1)
    return HTMLResponse(page(tables, start, end, url, ratios=own), headers={"Cache-Control": "no-store"})


def _cases(shown: RequestedBoard, service: Service, days: int, end_ns: int | None) -> tuple[Sequence[Case], int, int]:
    """List the cases of a time range that nobody marked as false."""
    live = shown.mode == "live" and shown.name == "live"
    end = end_ns if end_ns is not None else time.time_ns() if live and service.history is not None else shown.board.at_ns
    start = max(end - days * DAY, 0)
    marks = service.feedback.journal.standings() if service.feedback else {}
    wrong = {id_ for id_, one in marks.items() if one.verdict is not None and one.verdict.act == "false"}
    return [one for one in known_cases(shown, service, start) if one.id not in wrong], start, end


def known_cases(shown: RequestedBoard, service: Service, since_ns: int) -> Sequence[Case]:
    """List the cases that were open at or after a time, from the store and the board. Raises HTTPException 503."""
    live = shown.mode == "live" and shown.name == "live"
    try:
        kept = service.history(since_ns) if live and service.history is not None else ()
    except StoreError as error:
        raise HTTPException(503, str(error)) from None
    return list({one.id: one for one in (*kept, *shown.board.cases)}.values())
