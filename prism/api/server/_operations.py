"""Routes for operators of the service: /metrics, /healthz, /readyz, and /health in detail."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client.exposition import choose_encoder

from collectors.clickhouse.store_error import StoreError
from collectors.operations.metrics import Count, registry
from prism.api.requests.moments import add_time_texts
from prism.api.requests.problem_details import problem
from prism.api.requests.request_parameters import ServiceParameter, hub
from prism.api.requests.responses import JSON, encode_json
from prism.api.schemas import service_schemas
from prism.api.schemas.openapi import error_responses, item_responses
from prism.service.service_settings import Service
from prism.views import board_views

router = APIRouter()
root = APIRouter()


@router.get("/health", response_model=service_schemas.Health, responses=item_responses("health"))
def health(request: Request, service: ServiceParameter) -> Response:
    """Return the state of collectors, spool, store and analysis: counters by stage and reason, and details of each part."""
    counters = [
        {"name": count.name, "labels": dict(zip(count.labels, values, strict=True)), "value": number}
        for count in service.counts()
        for values, number in count.values.items()
    ]
    parts = {str(name): part for name, part in service.health().items()}
    board = {"revision": service.boards.newest.revision, "age_s": round(hub(request).age_s(), 3)}
    body = {"ok": _ok(parts), "mode": service.mode, "board": board, "parts": parts, "counters": counters}
    return Response(encode_json(body), media_type=JSON, headers={"Cache-Control": "no-store"})


@router.get("/store", response_model=service_schemas.Store, responses=item_responses("store", 404, 503))
def store(service: ServiceParameter) -> Response:
    """List the tables of the store: rows, octets on disk, times, retention; `wrong`: why one accepts no rows."""
    if service.store is None:
        return problem(404, "this service has no store; start it with --data FOLDER or --store URL")
    try:
        tables = list(service.store())
    except StoreError as error:
        return problem(503, str(error))
    shown = [asdict(table) | {"first_ns": str(table.first_ns), "last_ns": str(table.last_ns)} for table in tables]
    return Response(encode_json(add_time_texts({"tables": shown})), media_type=JSON, headers={"Cache-Control": "no-store"})


def _ok(parts: dict[str, Any]) -> bool:
    return all(part.get("ok", True) for part in parts.values() if isinstance(part, dict))


@root.get("/metrics", response_class=PlainTextResponse, responses=error_responses())
def metrics(request: Request, service: ServiceParameter) -> Response:
    """Return counters of all parts, jobs and exporters for Prometheus; with exemplars in OpenMetrics."""
    known = request.app.state.job_metrics
    encode, kind = choose_encoder(request.headers.get("accept", ""))
    found = registry(lambda: [*service.counts(), *_board_counts(service), *known.counts(service.boards.newest)])
    return Response(encode(found), media_type=kind)


def _board_counts(service: Service) -> list[Count]:
    """Count jobs and findings of the board."""
    board = service.boards.newest
    counts = board_views.counts(board)
    found: dict[tuple[str, ...], float] = {(severity,): n for severity, n in counts["findings"].items()}
    return [
        Count("prism_board_revision", "Revision of the newest board.", {(): board.revision}, level=True),
        Count("prism_jobs", "Training jobs that run.", {(): counts["jobs"]}, level=True),
        Count("prism_findings_open", "Open findings.", found, ("severity",), level=True),
    ]


@root.get("/healthz", response_model=service_schemas.Ok, responses=error_responses())
def healthz() -> dict[str, bool]:
    """Return 200 while the process answers."""
    return {"ok": True}


@root.get("/readyz", response_model=service_schemas.Ready, responses=error_responses(503))
def readyz(service: ServiceParameter) -> Response:
    """Return 200 if every part is ready, else 503."""
    bad = [name for name, part in service.health().items() if isinstance(part, dict) and not part.get("ok", True)]
    if bad:
        return problem(503, f"not ready: {', '.join(map(str, bad))}; GET /api/v1/health has the reason")
    compiling = service.health().get("compiling", {})
    going_on = compiling.get("state") == "running" and compiling.get("total")
    told = {"compiling": f"{compiling['done']} of {compiling['total']} loops"} if going_on else {}
    return Response(encode_json({"ok": True, **told}), media_type=JSON)
