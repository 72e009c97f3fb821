"""Build the application from routes, errors, guard and pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, partial

from fastapi import Depends, FastAPI
from starlette.middleware.gzip import GZipMiddleware

from prism.api.changes import action_routes, alerts, past, remark_routes, replays
from prism.api.requests import parameter_check, problem_details
from prism.api.requests.board_events import Hub
from prism.api.requests.guard import Guard
from prism.api.requests.head_requests import Heads
from prism.api.routes import boards, events, exporters, findings, history, incidents, pictures, rates, reports, search_route
from prism.api.schemas.openapi import openapi_document
from prism.api.server import (
    _api_index as api_index,
)
from prism.api.server import (
    _browser_session as browser_session,
)
from prism.api.server import (
    _operations as operations,
)
from prism.api.server import (
    _static_pages as static_pages,
)
from prism.api.server._job_metrics import JobMetrics
from prism.service.service_settings import Service

BASE = api_index.BASE


def app(service: Service) -> FastAPI:
    """Build the application of a service."""
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
        openapi_url=None,  # `api_index` serves it; FastAPI's own route would accept unknown parameters
        docs_url=None,  # these pages load scripts from other hosts
        redoc_url=None,
        lifespan=life,
        dependencies=[Depends(parameter_check.check)],
    )
    made.state.service, made.state.hub = service, hub
    url = service.feedback.settings.external_url if service.feedback else ""
    made.state.job_metrics = JobMetrics(url, service.survey.sent if service.survey is not None else dict)
    told = cache(partial(openapi_document, made))
    made.openapi = told  # type: ignore[method-assign]
    made.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=3)
    made.add_middleware(Heads)
    made.add_middleware(Guard, service=service)
    told_of = (
        boards.router,
        findings.router,
        search_route.router,
        replays.router(),
        events.router,
        operations.router,
        browser_session.router,
    )
    parts = (
        *told_of,
        remark_routes.router,
        alerts.router,
        action_routes.router,
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
    made.include_router(operations.root)
    made.include_router(api_index.router)
    made.include_router(api_index.root)
    problem_details.add_to(made)
    static_pages.add_to(made)
    return made
