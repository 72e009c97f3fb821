"""An application on a socket: uvicorn in a thread of its own, which ends when it is told."""

from __future__ import annotations

import ipaddress
import os
import socket
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import uvicorn

from collectors.exports.admission import networks
from collectors.listening.udp_sockets import endpoint
from prism.api.server.application import app
from prism.api.server.idle_connections import IDLE_S, Connection
from prism.past.uploads import Bounds, Uploads
from prism.service.service_settings import LOOPBACK_NAMES, Service
from prism.service.tokens import Tokens

BACKLOG = 1024
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
        timeout_keep_alive=int(IDLE_S),
        http=Connection,
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
    """Raises ValueError where the service would be open to others without tokens, or tokens cannot be understood; OSError."""
    known = service.tokens.all() if service.tokens else ()
    if known or loopback(host):
        return
    who = f"{host or '*'}: others than this host could ask"
    if service.tokens is None:
        raise ValueError(
            f"{who}: make a token (prism token create NAME --tokens FILE) and say --tokens FILE, or name 127.0.0.1"
        )
    path = service.tokens.path
    raise ValueError(f"{who}, and {path} has no token yet: prism token create NAME --tokens {path}")


def loopback(host: str) -> bool:
    """Whether an address to listen on is one that only this host reaches."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in LOOPBACK_NAMES


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens; on all addresses where none is named. Raises OSError."""
    both = not host and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both or ":" in host else socket.AF_INET
    try:
        made = socket.create_server((host, port), family=family, backlog=BACKLOG, dualstack_ipv6=both)
    except OSError as error:
        raise OSError(error.errno, os.strerror(error.errno or 0), f"{host}:{port}") from None
    # connections inherit it; without it each answer but the first waits 40 ms for an acknowledgment that is delayed
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


@dataclass(frozen=True)
class Wish:
    """How a service is shown: `at`, [ADDRESS:]PORT; files and folders of `tokens` and `uploads`, where there are any; `proxies`
    as in `served`; the `names` it is called by; the `bounds` of uploads.
    """

    at: str = "8080"
    tokens: str | Path | None = None
    uploads: str | Path | None = None
    proxies: Sequence[str] = ()
    names: Sequence[str] = ()
    bounds: Bounds = field(default_factory=Bounds)


@contextmanager
def shown(service: Service, wish: Wish) -> Iterator[str]:
    """A service with what is wished besides, while the context lasts; its address. Raises ValueError, OSError."""
    where = endpoint("pages", wish.at)
    proxies = [str(network) for network in networks(wish.proxies)]
    tokens = Tokens(wish.tokens) if wish.tokens else None
    with ExitStack() as stack:
        uploads = stack.enter_context(Uploads(wish.uploads, wish.bounds)) if wish.uploads else None
        if uploads is not None:
            stack.enter_context(_arriving(uploads.folder))
        whole = replace(service, tokens=tokens, uploads=uploads, names=tuple(wish.names))
        port = stack.enter_context(served(whole, where.host, where.port, proxies=proxies))
        yield f"http://{replace(where, port=port)}"


@contextmanager
def _arriving(folder: Path) -> Iterator[None]:
    """Have what a request brings wait on this disk, under no name, until it is read: /tmp may be memory, and small."""
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before
