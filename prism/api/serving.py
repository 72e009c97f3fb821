"""An application on a socket: uvicorn in a thread of its own, which ends when it is told."""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import uvicorn

from prism.api.application import app
from prism.service import LOOPBACK_NAMES, Service

GRACE_S = 3  # for answers that are under way at the end


@contextmanager
def served(service: Service, host: str = "127.0.0.1", port: int = 0, *, proxies: Sequence[str] = ()) -> Iterator[int]:
    """A service on host:port while the context lasts; the port, which is any free one for 0.

    `proxies`: CIDRs of those whose X-Forwarded-For and X-Forwarded-Proto are believed. Raises ValueError where others than this
    host could ask and there are no tokens, OSError where the port is taken.
    """
    check(service, host)
    made = app(service)
    config = uvicorn.Config(
        made,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=30,
        limit_concurrency=1000,
        lifespan="on",
        ws="none",
    )
    listening = _listening(host, port)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="prism-api")
    try:
        thread.start()
        while not server.started and thread.is_alive():
            thread.join(0.005)
        yield listening.getsockname()[1]
    finally:
        made.state.hub.close()
        server.should_exit = True
        thread.join()
        listening.close()


def check(service: Service, host: str) -> None:
    """Raises ValueError where the service would be open to others without tokens."""
    if not loopback(host) and not (service.tokens and service.tokens.all()):
        raise ValueError(
            f"{host}: others than this host could ask; create a token first (prism token create), or listen on 127.0.0.1"
        )


def loopback(host: str) -> bool:
    """Whether an address to listen on is one that only this host reaches."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in LOOPBACK_NAMES


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises OSError."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        made = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise OSError(error.errno, error.strerror, f"{host}:{port}") from None
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(1024)
    except OSError as error:
        made.close()
        raise OSError(error.errno, error.strerror, f"{host}:{port}") from None
    return made
