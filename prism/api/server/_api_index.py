"""Index of the API: version, links to all collections, documentation; and the OpenAPI description at its usual place."""

from __future__ import annotations

from collections.abc import Collection

from fastapi import APIRouter, HTTPException, Request, Response
from starlette.routing import compile_path

from prism.api.requests.parameter_check import ANYWHERE
from prism.api.requests.request_parameters import ServiceParameter
from prism.api.requests.responses import JSON, encode_json
from prism.api.schemas import job_schemas
from prism.api.schemas.openapi import item_responses

BASE = "/api/v1"
LINKS = (
    "board",
    "jobs",
    "findings",
    "hosts",
    "windows",
    "gaps",
    "switches",
    "links",
    "rates",
    "exporters",
    "reports/lost",
    "reports/lost.html",
    "reports/ettr",
    "annotations",
    "incidents",
    "replays",
    "remarks",
    "labels",
    "notifications",
    "silences",
    "hooks",
    "actions",
    "health",
    "store",
    "events",
    "session",
)

FEEDBACK = ["remarks", "labels", "notifications", "silences", "hooks", "actions"]

router = APIRouter()
root = APIRouter(include_in_schema=False)


class Index(job_schemas.Model):
    """Index of the API. `links`: path of every collection by name; `metrics`: for Prometheus; `perfetto`: viewer for traces."""

    name: str
    version: str
    links: dict[str, str]
    openapi: str
    docs: str
    metrics: str
    perfetto: str | None


@router.get(BASE, response_model=Index, responses=item_responses("index"))
@root.get(f"{BASE}/", response_model=Index)
def index(request: Request, service: ServiceParameter) -> Response:
    """Return the version of the API and links to its collections; `store`, `rates` and remarks only if they are kept."""
    absent = [] if service.store is not None else ["store"]
    absent += [] if service.records is not None else ["rates"]
    absent += [] if service.uploads is not None else ["incidents"]
    absent += [] if service.feedback is not None else FEEDBACK
    return Response(
        encode_json(contents(request.app.version, without=absent, perfetto=service.perfetto or None)), media_type=JSON
    )


def contents(version: str, *, without: Collection[str] = (), perfetto: str | None = None) -> dict[str, object]:
    """Build the index without collections that this service does not keep."""
    links = {name: f"{BASE}/{name}" for name in LINKS if name not in without}
    return {
        "name": "Prism",
        "version": version,
        "links": links,
        "openapi": "/openapi.json",
        "docs": "/docs",
        "metrics": "/metrics",
        "perfetto": perfetto,
    }


@root.get("/openapi.json")
@root.get(f"{BASE}/openapi.json")
def description(request: Request) -> Response:
    """Return the OpenAPI description, at its usual place and below the API."""
    return Response(encode_json(request.app.openapi()), media_type=JSON)


@root.api_route(ANYWHERE, methods=["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def unknown(request: Request, path: str) -> Response:
    """Refuse every other request below /api. Raises HTTPException 405 with the allowed methods, or 404; both name the index."""
    found = methods(request)
    if found:
        detail = f"{request.method} is not possible at /api/{path}, only {', '.join(found)}"
        raise HTTPException(405, detail, {"Allow": ", ".join(found)})
    raise HTTPException(404, f"the API has no path /api/{path}; GET {BASE} lists all paths", {"Link": f'<{BASE}>; rel="index"'})


def methods(request: Request) -> list[str]:
    """List the methods that the described operations allow at the path of a request."""
    return sorted(
        {
            method
            for path, operations in request.app.openapi()["paths"].items()
            if compile_path(path)[0].match(request.url.path)
            for one in operations
            for method in ((one.upper(), "HEAD") if one == "get" else (one.upper(),))
        }
    )
