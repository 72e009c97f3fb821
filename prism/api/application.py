"""The application: routes, errors, guard and pages put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware

from prism.api import boards, events, findings, ops, pages, problems
from prism.api.hub import Hub
from prism.service import Service

BASE = "/api/v1"


def app(service: Service) -> FastAPI:
    """The application that shows a service."""
    hub = Hub(service.boards)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        async with hub.running():
            yield

    made = FastAPI(title="Prism", version="1", openapi_url=f"{BASE}/openapi.json", docs_url=None, redoc_url=None, lifespan=life)
    made.state.service, made.state.hub = service, hub
    made.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=3)
    for part in (boards, findings, events, ops):
        made.include_router(part.router, prefix=BASE)
    made.include_router(ops.root)
    problems.add_to(made)
    pages.add_to(made)
    return made
