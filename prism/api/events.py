"""News as text/event-stream: a new board, progress of a replay. Only that something changed is said; pages ask for the rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Depends, Header, HTTPException, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from prism import views
from prism.api.asked import ServiceAsked, hub
from prism.api.described import errors
from prism.api.hub import Hub
from prism.service import Service

router = APIRouter()
RETRY_MS = 2000
LATEST_S = 2.0


def _room(request: Request, service: ServiceAsked) -> Hub:
    """The hub, where there is room for one more stream: said before the answer begins."""
    found = hub(request)
    if found.closed:
        raise HTTPException(503, "the service is ending", {"Retry-After": "10"})
    if found.streams >= service.limits.streams:
        raise HTTPException(503, "too many event streams", {"Retry-After": "10"})
    return found


@router.get("/events", response_class=EventSourceResponse, responses=errors(503))
async def events(
    service: ServiceAsked,
    hub: Annotated[Hub, Depends(_room)],
    last_event_id: Annotated[str | None, Header(max_length=100, description="The id of the last event that was seen.")] = None,
) -> AsyncIterable[ServerSentEvent]:
    """`board` for every new board (data: revision, at_ns, counts), the newest at once unless it was the last one seen;
    `replay` for progress of uploads (data: as `GET /replays/{id}`).
    """
    hub.streams += 1
    try:
        seen, told = last_event_id, dict[str, object]()
        while not hub.closed:
            changed = hub.changing()
            for event in _news(service, seen, told):
                if event.event == "board":
                    seen = event.id
                yield event
            with suppress(TimeoutError):  # a wake that went astray makes news late, no more
                await asyncio.wait_for(changed.wait(), LATEST_S)
    finally:
        hub.streams -= 1


def _news(service: Service, seen: str | None, told: dict[str, object]) -> list[ServerSentEvent]:
    """What a stream that has seen board `seen`, and was `told` this of replays, does not know yet."""
    board, out = service.boards.newest, []
    if str(board.revision) != seen:
        data = {"revision": board.revision, "at_ns": views.ns(board.at_ns), "counts": views.counts(board)}
        out.append(ServerSentEvent(event="board", id=str(board.revision), data=data, retry=RETRY_MS))
    for one in service.uploads.all() if service.uploads else ():
        state = one.to_json()
        if told.get(one.id) != state:
            told[one.id] = state
            out.append(ServerSentEvent(event="replay", data=state))
    return out
