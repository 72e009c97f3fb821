"""Post to user-supplied addresses safely: one connection, one answer, limits of time and size.

A name is resolved once, each of its addresses is checked, and the connection goes to one of them; Host and TLS use the name.
Redirects are not followed; proxies from the environment are ignored.
"""

from __future__ import annotations

import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any

import httpcore

from prism.alerts.alert_settings import Limits
from prism.alerts.receivers.delivery_results import Delivery, interpret_status
from prism.alerts.receivers.webhook_bodies import Post
from prism.notify.address_check import Network, refusal

MAX_SHOWN = 200  # characters of an answer in an error


class RefusedError(Exception):
    """A refused address."""


def deliver(
    post: Post,
    *,
    allow: Sequence[Network] = (),
    limits: Limits | None = None,
    ca_file: str = "",
    hidden: Iterable[str] = (),
) -> Delivery:
    """Post a request and return the result; `hidden` texts do not appear in the reason. Network errors are never raised."""
    limits = limits or Limits()
    ends = time.monotonic() + limits.timeout_s
    try:
        found = _post_request(post, allow, limits, ca_file, ends)
    except RefusedError as error:
        found = Delivery(False, f"refused to connect: {error}")
    except (httpcore.TimeoutException, TimeoutError):
        found = Delivery(False, f"no answer within {limits.timeout_s:g} s", may_retry=True)
    except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
        found = Delivery(False, _error_text(error), may_retry=True)
    except (httpcore.UnsupportedProtocol, UnicodeError, ValueError) as error:
        found = Delivery(False, _error_text(error))
    return Delivery(found.ok, _without(found.why, hidden), found.may_retry, found.after_s, found.gone)


def _post_request(post: Post, allow: Sequence[Network], limits: Limits, ca_file: str, ends: float) -> Delivery:
    context = ssl.create_default_context(cafile=ca_file or None) if post.url.startswith("https:") else None
    each = dict.fromkeys(("connect", "read", "write", "pool"), limits.timeout_s)
    backend = _Checked(allow, ends)
    with (
        httpcore.ConnectionPool(ssl_context=context, network_backend=backend, max_connections=1, retries=0) as pool,
        pool.stream("POST", post.url, headers=post.headers, content=post.body, extensions={"timeout": each}) as answer,
    ):
        retry = next((value.decode("latin-1") for name, value in answer.headers if name.lower() == b"retry-after"), "")
        found = interpret_status(answer.status, retry_after=retry, now_s=time.time())
        if found.ok:
            return found
        said = _read_start(answer, limits.answer_octets)
    return Delivery(False, f"{found.why}: {said}" if said else found.why, found.may_retry, found.after_s, found.gone)


def _read_start(answer: httpcore.Response, most: int) -> str:
    """Read the first characters of an answer, as far as they arrive."""
    octets = b""
    try:
        for piece in answer.iter_stream():
            octets += piece[: most - len(octets)]
            if len(octets) >= most:
                break
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, OSError):
        pass  # the status is known already
    text = " ".join(octets.decode("utf-8", "replace").split())
    return "".join(c if c.isprintable() else "\ufffd" for c in text)[:MAX_SHOWN]


class _Checked(httpcore.NetworkBackend):
    """Connects to checked addresses only, until a deadline (monotonic clock)."""

    def __init__(self, allow: Sequence[Network], ends: float) -> None:
        self._allow, self._ends = allow, ends
        self._real = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to an address of a host. Raises RefusedError, OSError, and errors of httpcore."""
        addresses = _resolved(host, port, self._ends)
        for address in addresses:
            if why := refusal(address, self._allow):
                raise RefusedError(f"{host}: {why}" if address != host else why)
        for i, address in enumerate(addresses):
            left = _remaining_s(self._ends, timeout)
            try:
                stream = self._real.connect_tcp(address, port, left / (len(addresses) - i), local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if i + 1 == len(addresses):
                    raise
            else:
                return _Timed(stream, self._ends)
        raise OSError(f"{host}: no address")


class _Timed(httpcore.NetworkStream):
    """A stream with an absolute deadline, for slow peers."""

    def __init__(self, stream: httpcore.NetworkStream, ends: float) -> None:
        self._stream, self._ends = stream, ends

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read; see httpcore."""
        return self._stream.read(max_bytes, _remaining_s(self._ends, timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write; see httpcore."""
        self._stream.write(buffer, _remaining_s(self._ends, timeout))

    def close(self) -> None:
        """Close; see httpcore."""
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Start TLS; see httpcore."""
        return _Timed(self._stream.start_tls(ssl_context, server_hostname, _remaining_s(self._ends, timeout)), self._ends)

    def get_extra_info(self, info: str) -> Any:
        """Return details of the connection; see httpcore."""
        return self._stream.get_extra_info(info)


def _remaining_s(ends: float, timeout: float | None) -> float:
    left = ends - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left if timeout is None else min(left, timeout)


def _resolved(host: str, port: int, ends: float) -> list[str]:
    """Resolve a name to distinct addresses, in a thread, because the resolver has no time limit. Raises OSError."""
    answers: queue.SimpleQueue[list[str] | OSError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answers.put(list(dict.fromkeys(str(item[4][0]) for item in found)))
        except (OSError, UnicodeError) as error:
            answers.put(OSError(f"{host}: {error.strerror if isinstance(error, OSError) else 'not a name'}"))

    threading.Thread(target=ask, name="resolve", daemon=True).start()
    try:
        found = answers.get(timeout=_remaining_s(ends, None))
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(found, OSError):
        raise found
    return found


def _error_text(error: Exception) -> str:
    text = " ".join(str(error).split())
    return "".join(c if c.isprintable() else "\ufffd" for c in text)[:MAX_SHOWN] or type(error).__name__


def _without(text: str, hidden: Iterable[str]) -> str:
    for secret in hidden:
        text = text.replace(secret, "***")
    return text
