"""Keep a token as a cookie for pages and event streams, so that no script holds it."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request, Response

from prism.api.requests.guard import COOKIE, bearer_token
from prism.api.requests.request_parameters import ServiceParameter
from prism.api.schemas import service_schemas
from prism.api.schemas.openapi import error_responses, item_responses

router = APIRouter()


@router.get("/session", response_model=service_schemas.Session, responses=item_responses("session"))
def session(request: Request, service: ServiceParameter) -> dict[str, str | bool | None]:
    """Return whether tokens are needed here, and the scope of the token in this request."""
    tokens = service.tokens
    return {"needed": tokens is not None, "scope": tokens.scope(bearer_token(request.headers)) if tokens else "admin"}


@router.post("/session", status_code=204, responses=error_responses())
def begin(request: Request, service: ServiceParameter) -> Response:
    """Store the bearer token of this request as a cookie."""
    given = bearer_token(request.headers)
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


@router.delete("/session", status_code=204, responses=error_responses())
def end() -> Response:
    """Delete the cookie."""
    answer = Response(status_code=204)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer
