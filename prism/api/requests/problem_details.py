"""Answer errors as application/problem+json (RFC 9457). The detail names the request, known values and the remedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from prism.api.requests.responses import encode_json

PROBLEM = "application/problem+json"
MAX_NAMES = 10  # known names in a detail


def problem(status: int, detail: str, headers: dict[str, str] | None = None, **more: Any) -> Response:
    """Make the answer for an error. `more`: members in addition to those of the standard."""
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail, **more}
    return Response(encode_json(body), status, headers, PROBLEM)


def not_found(kind: str, requested_id: str, known_ids: Sequence[str], path: str) -> HTTPException:
    """Make the 404 for an unknown id: the id, the known ones, and the `path` that lists them."""
    more = f" and {len(known_ids) - MAX_NAMES:,} more" if len(known_ids) > MAX_NAMES else ""
    there = f"known: {', '.join(known_ids[:MAX_NAMES])}{more}" if known_ids else f"there is no {kind} now"
    return HTTPException(404, f"no {kind} has the id {requested_id!r}; {there}; GET {path} lists them")


def add_to(app: FastAPI) -> None:
    """Make an application answer its errors in this form."""
    app.add_exception_handler(HTTPException, _answer_http_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(Exception, _answer_failure)


def _answer_http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem(error.status_code, error.detail, dict(error.headers or {}))


def _answer_invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = [{"where": ".".join(map(str, one["loc"])), "message": _describe_error(one)} for one in error.errors()]
    status = 422 if any(one["loc"][0] == "body" for one in error.errors()) else 400
    return problem(status, "; ".join(f"{one['where']}: {one['message']}" for one in errors), errors=errors)


def _describe_error(error: Mapping[str, Any]) -> str:
    """Describe an invalid parameter or field, and the remedy."""
    if error["type"] == "missing":
        return "is missing; send it" if error["loc"][0] == "body" else "is missing; give it a value"
    return str(error["msg"]).removeprefix("Value error, ")


def _answer_failure(_: Request, __: Exception) -> Response:
    return problem(500, "internal error of the service; its log has the cause; please report it")
