"""Read and check the parameters of requests: board, time range, ranks, page."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, cast

from fastapi import Depends, Query, Request
from pydantic import BeforeValidator, Field

from prism.api.requests.board_events import Hub
from prism.api.requests.moments import EXAMPLE, LAST, parse_time
from prism.api.requests.problem_details import not_found
from prism.api.requests.responses import RequestedBoard
from prism.service.service_settings import Service
from prism.views.step_cells import CellRange

TimeQuery = Annotated[
    int | None,
    BeforeValidator(parse_time, json_schema_input_type=Annotated[int, Field(ge=0, le=LAST)] | datetime | None),
    Query(description="Nanoseconds since the epoch, or RFC 3339 with an offset.", examples=["1795214542677184076", EXAMPLE]),
]
RanksQuery = Annotated[str | None, Query(pattern=r"^\d{1,9}:\d{1,9}$", description="Ranks [a, b), as a:b.", examples=["0:64"])]
ReplayQuery = Annotated[
    str | None, Query(pattern=r"^[0-9a-f]{16}$", description="The board of this upload instead of the live one.")
]
CursorQuery = Annotated[
    str | None,
    Query(pattern=r"^-?[0-9]{1,20}\.", max_length=400, description="The `next` of the page before: where this page begins."),
]
LimitQuery = Annotated[int, Query(ge=1, le=1000, description="At most so many items.")]


def service(request: Request) -> Service:
    """Return the service behind an application."""
    return cast(Service, request.app.state.service)


def hub(request: Request) -> Hub:
    """Return the hub that follows the boards of an application."""
    return cast(Hub, request.app.state.hub)


def requested_board(request: Request, replay: ReplayQuery = None) -> RequestedBoard:
    """Return the board that a request reads: the newest, or that of an upload. Raises HTTPException 404."""
    behind = service(request)
    if replay is None:
        board = behind.boards.newest
        age_s = hub(request).age_s() if behind.mode == "live" else None
        return RequestedBoard(board, behind.records, behind.mode, behind.boards.token, age_s=age_s)
    found = behind.uploads.result(replay) if behind.uploads else None
    if found is None:
        raise not_found("finished replay", replay, _finished(behind), "/api/v1/replays")
    return RequestedBoard(found.board, found.records, "replay", behind.boards.token, replay)


def _finished(behind: Service) -> list[str]:
    return [one.id for one in behind.uploads.all() if one.state == "done"] if behind.uploads else []


BoardParameter = Annotated[RequestedBoard, Depends(requested_board)]
ServiceParameter = Annotated[Service, Depends(service)]


def requested_range(start_ns: TimeQuery = None, end_ns: TimeQuery = None, ranks: RanksQuery = None) -> CellRange:
    """Return the time range and ranks of a request; all by default."""
    first, last = parse_rank_range(ranks) or (0, None)
    return CellRange(start_ns or 0, LAST if end_ns is None else end_ns, first, last)


RangeParameter = Annotated[CellRange, Depends(requested_range)]


def parse_rank_range(ranks: str | None) -> tuple[int, int] | None:
    """Parse ranks [a, b) from a:b."""
    if ranks is None:
        return None
    first, last = map(int, ranks.split(":"))
    return first, last


def page_key(cursor: CursorQuery = None) -> tuple[int, str] | None:
    """Decode a cursor to the key after which a page starts."""
    if cursor is None:
        return None
    number, _, name = cursor.partition(".")
    return int(number), name


CursorParameter = Annotated[tuple[int, str] | None, Depends(page_key)]


def encode_cursor(key: tuple[int, str] | None) -> str | None:
    """Encode a key as a cursor."""
    return f"{key[0]}.{key[1]}" if key else None
