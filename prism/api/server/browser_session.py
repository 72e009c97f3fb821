"""Keep a token as a cookie for pages and event streams, so that no script holds it."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request, Response

from prism.api.requests.guard import COOKIE, secret
from prism.api.requests.request_parameters import ServiceAsked
from prism.api.schemas import service_schemas
from prism.api.schemas.openapi import errors, one

router = APIRouter()


@router.get("/session", response_model=service_schemas.Session, responses=one("session"))
def session(request: Request, service: ServiceAsked) -> dict[str, str | bool | None]:
    """Return whether tokens are needed here, and the scope of the token in this request."""
    tokens = service.tokens
    return {"needed": tokens is not None, "scope": tokens.scope(secret(request.headers)) if tokens else "admin"}


@router.post("/session", status_code=204, responses=errors())
def begin(request: Request, service: ServiceAsked) -> Response:
    """Store the bearer token of this request as a cookie."""
    given = secret(request.headers)
    if service.tokens is None or service.tokens.scope(given) is None:
        raise HTTPException(
            401,
            "the token is not known or has ended; prism token list shows the tokens",
            {"WWW-Authenticate": 'Bearer realm="prism"'},
        )
    answer = Response(status_code=204)
    secure = request.url.scheme == "https"
    answer.set_cookie(COOKIE, given, httponly=True, samesite="strict", secure=secure, path="/", max_age=30 * 24 * 3600)
    return answer


@router.delete("/session", status_code=204, responses=errors())
def end() -> Response:
    """Delete the cookie."""
    answer = Response(status_code=204)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer
