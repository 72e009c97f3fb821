"""Stream changes as text/event-stream: new boards with their changes, and progress of replays. Clients request the rest."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterable, Iterator
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Depends, Header, HTTPException, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from prism.api.requests.board_events import Hub
from prism.api.requests.moments import add_time_texts
from prism.api.requests.request_parameters import ServiceParameter, hub
from prism.api.schemas.openapi import error_responses
from prism.live.board_changes import changed
from prism.service.service_settings import Service
from prism.tracking.board import Board
from prism.views import board_views

router = APIRouter()
RETRY_MS = 2000
LATEST_S = 2.0


def _free_hub(request: Request, service: ServiceParameter) -> Hub:
    """Return the hub if it has room for one more stream. Raises HTTPException 503 before the answer starts."""
    found = hub(request)
    if found.closed:
        raise HTTPException(503, "the service is stopping; connect again after its start", {"Retry-After": "10"})
    if found.streams >= service.limits.streams:
        most = service.limits.streams
        raise HTTPException(503, f"{most} event streams are open, which is the limit; try again in 10 s", {"Retry-After": "10"})
    return found


@router.get("/events", response_class=EventSourceResponse, responses=error_responses(503))
async def events(
    service: ServiceParameter,
    hub: Annotated[Hub, Depends(_free_hub)],
    last_event_id: Annotated[str | None, Header(max_length=100, description="The id of the last event that was seen.")] = None,
) -> AsyncIterable[ServerSentEvent]:
    """Stream events: `board` for every new board, `replay` for progress of uploads (data: as `GET /replays/{id}`).

    The newest board is sent at once unless it was the last one seen. Data of `board`: revision, at_ns, at_time, counts,
    `missed` and `changed`. `missed`: number of boards between the last one seen and this one, null if unknown. `changed` since
    the last board sent on this stream: `jobs`, each with id and what (appeared, gone or the new state), `findings`, each with
    id, title and what (opened, updated, closed or gone), and `more` (number left out). It is null in a stream's first event:
    request all.
    """
    hub.streams += 1
    try:
        seen, told = last_event_id, dict[str, object]()
        before: Board | None = None
        while not hub.closed:
            changed = hub.changing()
            board = service.boards.newest
            if str(board.revision) != seen:
                yield _board_event(board, before, seen)
                seen, before = str(board.revision), board
            for event in _replay_events(service, told):
                yield event
            with suppress(TimeoutError):  # a lost wake-up only delays an event
                await asyncio.wait_for(changed.wait(), LATEST_S)
    finally:
        hub.streams -= 1


def _board_event(board: Board, before: Board | None, seen: str | None) -> ServerSentEvent:
    """Build the event of a new board for a stream that last sent `before` and whose client has revision `seen`."""
    last = int(seen) if seen and re.fullmatch("[0-9]{1,18}", seen) else None
    data = {
        "revision": board.revision,
        "at_ns": board_views.ns(board.at_ns),
        "counts": board_views.counts(board),
        "missed": None if last is None or last >= board.revision else board.revision - last - 1,
        "changed": None if before is None else changed(before, board),
    }
    return ServerSentEvent(event="board", id=str(board.revision), data=add_time_texts(data), retry=RETRY_MS)


def _replay_events(service: Service, told: dict[str, object]) -> Iterator[ServerSentEvent]:
    """Yield the progress of uploads that changed since this stream sent it (`told`)."""
    for one in service.uploads.all() if service.uploads else ():
        state = one.to_json()
        if told.get(one.id) != state:
            told[one.id] = state
            yield ServerSentEvent(event="replay", data=state)
