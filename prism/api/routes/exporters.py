"""Route of exporters: traffic per exporter and interface, and the data each analysis lacks (why no job is visible)."""

from __future__ import annotations

import time

from fastapi import APIRouter, Request, Response

from prism.api.changes.remark_routes import uncached_list
from prism.api.requests.request_parameters import BoardParameter, ServiceParameter
from prism.api.schemas import job_schemas
from prism.api.schemas.openapi import list_responses
from prism.exporters.export_survey import Sent, survey
from prism.exporters.exporter_report import exporter

router = APIRouter()


class Missing(job_schemas.Model):
    """Missing data, the analysis that needs it, and the configuration by vendor."""

    what: str
    analysis: str
    lines: dict[str, str]


class Interface(job_schemas.Model):
    """An interface with its own counters."""

    interface: int
    speed_gbit_s: job_schemas.Number
    up: bool
    in_gbit_s: job_schemas.Number
    out_gbit_s: job_schemas.Number
    discards: int
    errors: int
    seen_ns: job_schemas.Ns


class Exporter(job_schemas.Model):
    """Recent traffic of an exporter. `sampling`: its sampling rate, 0 if unknown; `timeout_s`: null if none was seen.

    `offset_s`: minimum delay between the end of a record and its arrival, null if unknown; below 0 the exporter's clock is
    ahead.
    """

    name: str
    records: int
    records_per_s: float
    octets: int
    pairs: int
    sampling: int
    timeout_s: job_schemas.Number
    offset_s: job_schemas.Number
    lost: int
    last_ns: job_schemas.Ns
    lacks: list[Missing]
    interfaces: list[Interface]


@router.get("/exporters", response_model=job_schemas.Listed[Exporter], responses=list_responses("exporters", 404))
def exporters(request: Request, shown: BoardParameter, service: ServiceParameter) -> Response:
    """List the exporters with their traffic and missing data: of the last minutes live, else of the newest window."""
    live = service.survey is not None and shown.name == "live"
    sent: dict[str, Sent] = {}
    if live and service.survey is not None:
        sent = service.survey.sent()
    elif shown.records is not None and shown.board.windows:
        newest = shown.board.windows[0]
        sent = survey(shown.records.between(newest.start_ns, newest.end_ns + 1, limit=service.limits.looked_at))
    ports = service.survey.ports() if live and service.survey is not None else {}
    heard = service.heard() if live else {}
    now = time.time_ns() if live else 0
    names = sorted({*sent, *ports, *heard})
    return uncached_list(request, [exporter(one, sent.get(one), ports.get(one, []), heard.get(one), now) for one in names])
