"""Why no job is seen: what each exporter and interface sends, and what it lacks for which analysis."""

from __future__ import annotations

import time

from fastapi import APIRouter, Request, Response

from prism.api import schemas
from prism.api.asked import ServiceAsked, ShownAsked
from prism.api.described import many
from prism.api.remarks import fresh
from prism.exporters.survey import Sent, survey
from prism.exporters.told import exporter

router = APIRouter()


class Missing(schemas.Model):
    """What is missing for which analysis, and what to configure, by vendor."""

    what: str
    analysis: str
    lines: dict[str, str]


class Interface(schemas.Model):
    """An interface as it counts itself."""

    interface: int
    speed_gbit_s: schemas.Number
    up: bool
    in_gbit_s: schemas.Number
    out_gbit_s: schemas.Number
    discards: int
    errors: int
    seen_ns: schemas.Ns


class Exporter(schemas.Model):
    """What an exporter sent lately. `sampling`: its sampling rate, 0 where not known; `timeout_s`: null where none is seen.

    `offset_s`: how long after its end a record arrives at least, null where that is not known; below 0 its clock is ahead.
    """

    name: str
    records: int
    records_per_s: float
    octets: int
    pairs: int
    sampling: int
    timeout_s: schemas.Number
    offset_s: schemas.Number
    lost: int
    last_ns: schemas.Ns
    lacks: list[Missing]
    interfaces: list[Interface]


@router.get("/exporters", response_model=schemas.Listed[Exporter], responses=many("exporters", 404))
def exporters(request: Request, shown: ShownAsked, service: ServiceAsked) -> Response:
    """What each exporter sends, and what it lacks: of the last minutes live, else of the newest window."""
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
    return fresh(request, [exporter(one, sent.get(one), ports.get(one, []), heard.get(one), now) for one in names])
