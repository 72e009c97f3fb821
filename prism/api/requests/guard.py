"""Check access, request rate and origin before any other code sees a request.

* Host: a page of another site that had its name point here (DNS rebinding) sends its own name, which is refused.
* Origin: browsers send the site of a page that requests a change; only our own pages may change something.
* Tokens: if any are configured, the whole API needs one: `Authorization: Bearer`, or the cookie that POST /api/v1/session sets
  for browsers. Reading needs scope `read`, anything else `admin`. Pages, /healthz and /readyz are open.
* Rate: a bucket of requests per client address. One upload at a time.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prism.api.requests.problem_details import problem
from prism.service.service_settings import LOOPBACK_NAMES, Limits, Service
from prism.service.tokens import digest

COOKIE = "prism_token"
READING = ("GET", "HEAD", "OPTIONS")
GUARDED = ("/api", "/metrics")
TOO_LONG = "the body is larger than the {0:,} octets that are allowed here"
PAUSED = "no octet of the body arrived for {:g} s; send it faster"
ALWAYS_ANSWERED = ("/healthz",)  # answered even under overload
PUBLIC_PATHS = ("/api/v1/session", "/api/v1/openapi.json", "/openapi.json")
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
}


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, service: Service, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._app, self._service = app, service
        self._buckets = Buckets(service.limits.per_second, service.limits.burst, service.limits.clients, clock)
        self._names = {*LOOPBACK_NAMES, *(name.lower() for name in service.names)}
        self._uploading, self._answering = False, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refused request; pass on all others."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        received = Body(receive, self._max_octets(scope), self._service.limits)

        headers = Headers(scope=scope)
        refused = self._refused(scope, headers)
        if refused is not None:
            status, why, more = refused
            await problem(status, why, more)(scope, receive, sent)
            return
        self._answering += 1
        try:
            await (self._upload if _is_upload(scope) else self._app)(scope, received, sent)
        finally:
            self._answering -= 1

    async def _upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Accept one upload at a time, so that the use of the disk is bounded."""
        if self._uploading:
            await problem(503, "another upload is being received; try again in 10 s", {"Retry-After": "10"})(
                scope, receive, send
            )
            return
        self._uploading = True
        try:
            await self._app(scope, receive, send)
        finally:
            self._uploading = False

    def _refused(self, scope: Scope, headers: Headers) -> tuple[int, str, dict[str, str]] | None:
        """Return status, reason and headers of a refusal; None if the request may pass."""
        if self._answering >= self._service.limits.requests and scope["path"] not in ALWAYS_ANSWERED:
            return (
                503,
                f"{self._answering} requests are being answered, which is the limit; try again in 1 s",
                {"Retry-After": "1"},
            )
        host = host_name(headers.get("host", ""))
        if (self._service.tokens is None or self._service.names) and host not in self._names:
            return 421, f"this service does not have the name {host[:100]!r}; start it with --name {host[:100]}", {}
        if too_long(headers, self._max_octets(scope)):
            return 413, TOO_LONG.format(self._max_octets(scope)), {"Connection": "close"}
        if scope["method"] not in READING and is_cross_site(headers):
            return 403, "a page of another site must not change anything here; use the API with a token", {}
        client = scope["client"][0] if scope.get("client") else ""
        wait = self._buckets.take(client)
        if wait:
            seconds = int(wait) + 1
            return (
                429,
                f"too many requests from {client or 'this address'}; try again in {seconds} s",
                {"Retry-After": str(seconds)},
            )
        return self._token_refusal(scope, headers)

    def _max_octets(self, scope: Scope) -> int:
        """Return the maximum octets of a body."""
        uploads = self._service.uploads
        return uploads.bounds.octets if uploads and _is_upload(scope) else self._service.limits.body

    def _token_refusal(self, scope: Scope, headers: Headers) -> tuple[int, str, dict[str, str]] | None:
        tokens, path = self._service.tokens, scope["path"]
        if tokens is None or path in PUBLIC_PATHS or not path.startswith(GUARDED):
            return None
        given = bearer_token(headers)
        owned = self._service.owner and hmac.compare_digest(digest(self._service.owner), digest(given))
        allowed = "read" if owned else tokens.scope(given)
        if allowed is None:
            return (
                401,
                f"{path} needs a valid token; send the header Authorization: Bearer TOKEN",
                {"WWW-Authenticate": 'Bearer realm="prism"'},
            )
        if allowed != "admin" and scope["method"] not in READING:
            return 403, f"this token may only read, {scope['method']} needs a token of scope admin", {}
        return None


class Body:
    """Receives a request body. Raises HTTPException if it is too long or too slow."""

    def __init__(self, receive: Receive, most: int, limits: Limits, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._receive, self._max_octets, self._limits, self._clock = receive, most, limits, clock
        self._began, self._read, self._more = clock(), 0, True

    async def __call__(self) -> Message:
        """Return the next message. After the whole body it waits until the client disconnects."""
        if not self._more:
            return await self._receive()
        left = self._began + self._limits.body_s - self._clock()
        try:
            message = await asyncio.wait_for(self._receive(), min(self._limits.pause_s, max(left, 0.0)))
        except TimeoutError:
            why = (
                f"the body took longer than {self._limits.body_s:g} s; send it faster or in parts"
                if left <= self._limits.pause_s
                else PAUSED
            )
            raise HTTPException(408, why.format(self._limits.pause_s), {"Connection": "close"}) from None
        self._more = bool(message.get("more_body", False))
        self._read += len(message.get("body", b""))
        if self._read > self._max_octets:
            raise HTTPException(413, TOO_LONG.format(self._max_octets), {"Connection": "close"})
        return message


def _is_upload(scope: Scope) -> bool:
    return bool(scope["method"] == "POST" and scope["path"] == "/api/v1/replays")


def too_long(headers: Headers, max_octets: int) -> bool:
    """Check whether the Content-Length exceeds `most` octets or is invalid."""
    said = headers.get("content-length", "0")
    return not (said.isascii() and said.isdigit()) or int(said[:19]) > max_octets


class Buckets:
    """Token buckets per client: `burst` requests at once, `per_second` on average; at most `most` clients are remembered."""

    def __init__(self, per_second: float, burst: int, most: int, clock: Callable[[], float]) -> None:
        self._rate, self._burst, self._max_octets, self._clock = per_second, float(burst), most, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> float:
        """Take a request from the bucket; return 0, or the seconds to wait."""
        now = self._clock()
        left, then = self._left.pop(client, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._rate)
        wait = 0.0 if left >= 1 else (1 - left) / self._rate
        self._left[client] = (left if wait else left - 1, now)
        if len(self._left) > self._max_octets:
            self._left.popitem(last=False)
        return wait


def host_name(host: str) -> str:
    """Return the name in a Host header, without port."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.rpartition(":")[0] if ":" in name else name


def is_cross_site(headers: Headers) -> bool:
    """Check whether a browser marks the request as coming from another site."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    ours = origin is None or origin.partition("://")[2].lower() == headers.get("host", "").lower()
    return not ours or site not in ("none", "same-origin")


def bearer_token(headers: Headers) -> str:
    """Return the token of a request; empty without one."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return given.strip()
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""
