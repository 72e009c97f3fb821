"""The application: routes, errors, guard and pages put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, partial

from fastapi import Depends, FastAPI
from starlette.middleware.gzip import GZipMiddleware

from prism.api import (
    actions,
    alerts,
    boards,
    events,
    exporters,
    findings,
    history,
    incidents,
    index,
    ops,
    pages,
    parameters,
    past,
    pictures,
    problems,
    rates,
    remarks,
    replays,
    reports,
    search,
    session,
)
from prism.api.described import described
from prism.api.guard import Guard
from prism.api.heads import Heads
from prism.api.hub import Hub
from prism.service import Service
from prism.telemetry.jobs import JobMetrics

BASE = index.BASE


def app(service: Service) -> FastAPI:
    """The application that shows a service."""
    hub = Hub(service.boards)
    if service.uploads is not None:
        service.uploads.told = hub.wake

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        async with hub.running():
            yield

    made = FastAPI(
        title="Prism",
        version="1",
        summary="Training jobs as their traffic shows them.",
        openapi_url=None,  # `index` has it: here it would take unknown parameters
        docs_url=None,  # these pages ask other hosts for their scripts
        redoc_url=None,
        lifespan=life,
        dependencies=[Depends(parameters.check)],
    )
    made.state.service, made.state.hub = service, hub
    url = service.feedback.settings.external_url if service.feedback else ""
    made.state.job_metrics = JobMetrics(url, service.survey.sent if service.survey is not None else dict)
    told = cache(partial(described, made))
    made.openapi = told  # type: ignore[method-assign]
    made.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=3)
    made.add_middleware(Heads)
    made.add_middleware(Guard, service=service)
    told_of = (boards.router, findings.router, search.router, replays.router(), events.router, ops.router, session.router)
    parts = (
        *told_of,
        remarks.router,
        alerts.router,
        actions.router,
        past.router,
        pictures.router,
        history.router,
        incidents.router,
        rates.router,
        exporters.router,
        reports.router,
    )
    for router in parts:
        made.include_router(router, prefix=BASE)
    made.include_router(ops.root)
    made.include_router(index.router)
    made.include_router(index.root)
    problems.add_to(made)
    pages.add_to(made)
    return made
