"""Answer errors as application/problem+json (RFC 9457). The detail names the request, known values and the remedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from prism.api.requests.responses import encoded

PROBLEM = "application/problem+json"
MOST_NAMED = 10  # known names in a detail


def problem(status: int, detail: str, headers: dict[str, str] | None = None, **more: Any) -> Response:
    """Make the answer for an error. `more`: members in addition to those of the standard."""
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail, **more}
    return Response(encoded(body), status, headers, PROBLEM)


def absent(kind: str, asked: str, known: Sequence[str], path: str) -> HTTPException:
    """Make the 404 for an unknown id: the id, the known ones, and the `path` that lists them."""
    more = f" and {len(known) - MOST_NAMED:,} more" if len(known) > MOST_NAMED else ""
    there = f"known: {', '.join(known[:MOST_NAMED])}{more}" if known else f"there is no {kind} now"
    return HTTPException(404, f"no {kind} has the id {asked!r}; {there}; GET {path} lists them")


def add_to(app: FastAPI) -> None:
    """Make an application answer its errors in this form."""
    app.add_exception_handler(HTTPException, _told)
    app.add_exception_handler(RequestValidationError, _refused)
    app.add_exception_handler(Exception, _failed)


def _told(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem(error.status_code, error.detail, dict(error.headers or {}))


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = [{"where": ".".join(map(str, one["loc"])), "message": _plain(one)} for one in error.errors()]
    status = 422 if any(one["loc"][0] == "body" for one in error.errors()) else 400
    return problem(status, "; ".join(f"{one['where']}: {one['message']}" for one in errors), errors=errors)


def _plain(error: Mapping[str, Any]) -> str:
    """Describe an invalid parameter or field, and the remedy."""
    if error["type"] == "missing":
        return "is missing; send it" if error["loc"][0] == "body" else "is missing; give it a value"
    return str(error["msg"]).removeprefix("Value error, ")


def _failed(_: Request, __: Exception) -> Response:
    return problem(500, "internal error of the service; its log has the cause; please report it")
