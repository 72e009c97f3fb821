"""Who may ask, how often, and what browsers may do with the answers; before anything else sees a request.

* Host: a page of another site that had its name point here (DNS rebinding) sends its own name, which is refused.
* Origin: a browser says which site a request that changes something comes from; only ours may.
* Tokens: where there are any, all of the API wants one: `Authorization: Bearer`, or the cookie that POST /api/v1/session sets
  for browsers. Reading wants `read`, anything else `admin`. Pages and /healthz and /readyz hold nothing to protect.
* Rate: a bucket of requests per client address. One upload at a time.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prism.api.problems import problem
from prism.service import LOOPBACK_NAMES, Service

COOKIE = "prism_token"
READING = ("GET", "HEAD", "OPTIONS")
GUARDED = ("/api/", "/metrics")
TOO_LONG = "the body is too long"
OPEN = ("/api/v1/session", "/api/v1/openapi.json")
SENT = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
}  # plotly writes its styles into the page, so styles, and only they, may be inline


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, service: Service, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._app, self._service = app, service
        self._buckets = Buckets(service.limits.per_second, service.limits.burst, service.limits.clients, clock)
        self._names = {*LOOPBACK_NAMES, *(name.lower() for name in service.names)}
        self._uploading = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or let it pass."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SENT.items():
                    headers.setdefault(name, value)
            await send(message)

        read, most = 0, self._most(scope)

        async def received() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise HTTPException(413, TOO_LONG, {"Connection": "close"})
            return message

        headers = Headers(scope=scope)
        refused = self._refused(scope, headers)
        if refused is not None:
            status, why, more = refused
            await problem(status, why, more)(scope, receive, sent)
        elif _uploads(scope):
            await self._upload(scope, received, sent)
        else:
            await self._app(scope, received, sent)

    async def _upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One upload at a time, so that what is on disk is known."""
        if self._uploading:
            await problem(503, "another upload is being received", {"Retry-After": "10"})(scope, receive, send)
            return
        self._uploading = True
        try:
            await self._app(scope, receive, send)
        finally:
            self._uploading = False

    def _refused(self, scope: Scope, headers: Headers) -> tuple[int, str, dict[str, str]] | None:
        """Status, reason and headers of a refusal; None where the request may pass."""
        host = named(headers.get("host", ""))
        if (self._service.tokens is None or self._service.names) and host not in self._names:
            return 421, "this service is not called so; name it with --name", {}
        if too_long(headers, self._most(scope)):
            return 413, TOO_LONG, {"Connection": "close"}
        if scope["method"] not in READING and foreign(headers):
            return 403, "a page of another site may not do this", {}
        client = scope["client"][0] if scope.get("client") else ""
        wait = self._buckets.take(client)
        if wait:
            return 429, "too many requests", {"Retry-After": str(int(wait) + 1)}
        return self._unknown(scope, headers)

    def _most(self, scope: Scope) -> int:
        """How many octets of a body are read at most."""
        uploads = self._service.uploads
        return uploads.bounds.octets if uploads and _uploads(scope) else self._service.limits.body

    def _unknown(self, scope: Scope, headers: Headers) -> tuple[int, str, dict[str, str]] | None:
        tokens, path = self._service.tokens, scope["path"]
        if tokens is None or path in OPEN or not path.startswith(GUARDED):
            return None
        allowed = tokens.scope(secret(headers))
        if allowed is None:
            return 401, "a token is needed: Authorization: Bearer TOKEN", {"WWW-Authenticate": 'Bearer realm="prism"'}
        if allowed != "admin" and scope["method"] not in READING:
            return 403, "this token may only read", {}
        return None


def _uploads(scope: Scope) -> bool:
    return bool(scope["method"] == "POST" and scope["path"] == "/api/v1/replays")


def too_long(headers: Headers, most: int) -> bool:
    """Whether a body is said to be longer than `most` octets, or says its length in no sensible way."""
    said = headers.get("content-length", "0")
    return not (said.isascii() and said.isdigit()) or int(said[:19]) > most


class Buckets:
    """How often each client may ask: `burst` at once, `per_second` in the long run; at most `most` clients are remembered."""

    def __init__(self, per_second: float, burst: int, most: int, clock: Callable[[], float]) -> None:
        self._rate, self._burst, self._most, self._clock = per_second, float(burst), most, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> float:
        """0 where the client may ask now; else after how many seconds."""
        now = self._clock()
        left, then = self._left.pop(client, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._rate)
        wait = 0.0 if left >= 1 else (1 - left) / self._rate
        self._left[client] = (left if wait else left - 1, now)
        if len(self._left) > self._most:
            self._left.popitem(last=False)
        return wait


def named(host: str) -> str:
    """The name in a Host header, without port."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.rpartition(":")[0] if ":" in name else name


def foreign(headers: Headers) -> bool:
    """Whether a browser says that a page of another site asks."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    ours = origin is None or origin.partition("://")[2].lower() == headers.get("host", "").lower()
    return not ours or site not in ("none", "same-origin")


def secret(headers: Headers) -> str:
    """The token that a request carries; empty without one."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return given.strip()
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""
