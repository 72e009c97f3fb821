"""Errors as application/problem+json (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from prism.api.answers import encoded

PROBLEM = "application/problem+json"


def problem(status: int, detail: str, headers: dict[str, str] | None = None, **more: Any) -> Response:
    """An error; `more` are members besides those of the standard."""
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail, **more}
    return Response(encoded(body), status, headers, PROBLEM)


def add_to(app: FastAPI) -> None:
    """Let an application tell its errors so."""
    app.add_exception_handler(HTTPException, _told)
    app.add_exception_handler(RequestValidationError, _refused)
    app.add_exception_handler(Exception, _failed)


def _told(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem(error.status_code, error.detail, dict(error.headers or {}))


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = [{"where": ".".join(map(str, one["loc"])), "message": one["msg"]} for one in error.errors()]
    return problem(422, "; ".join(f"{one['where']}: {one['message']}" for one in errors), errors=errors)


def _failed(_: Request, __: Exception) -> Response:
    return problem(500, "the service failed at this; its log says more")
