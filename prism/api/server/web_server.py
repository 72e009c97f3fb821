"""Serve an application on a socket: uvicorn in its own thread."""

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

from collectors.exports.admission import parse_networks
from collectors.listening.udp_sockets import parse_endpoint
from prism.api.server._idle_connections import IDLE_S, Connection
from prism.api.server.application import app
from prism.past.uploads import Bounds, Uploads
from prism.service.service_settings import LOOPBACK_NAMES, Service
from prism.service.tokens import Tokens

BACKLOG = 1024
GRACE_S = 3  # seconds for open answers at the end


@contextmanager
def served(service: Service, host: str = "127.0.0.1", port: int = 0, *, proxies: Sequence[str] = ()) -> Iterator[int]:
    """Serve on host:port while the context lasts; yields the port (a free one for 0).

    `proxies`: CIDRs whose X-Forwarded-For and X-Forwarded-Proto are trusted. Raises ValueError if other hosts could connect
    without tokens, OSError if the port is in use.
    """
    check_access(service, host)
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


def check_access(service: Service, host: str) -> None:
    """Check that tokens protect the service from other hosts. Raises ValueError if not, or for invalid tokens; OSError."""
    known = service.tokens.all() if service.tokens else ()
    if known or is_loopback(host):
        return
    who = f"{host or '*'}: other hosts could connect"
    if service.tokens is None:
        raise ValueError(
            f"{who}: make a token (prism token create NAME --tokens FILE) and give --tokens FILE, or use 127.0.0.1"
        )
    path = service.tokens.path
    raise ValueError(f"{who}, and {path} has no token yet: prism token create NAME --tokens {path}")


def is_loopback(host: str) -> bool:
    """Check whether only this host can reach a listening address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in LOOPBACK_NAMES


def _listening(host: str, port: int) -> socket.socket:
    """Open a listening socket; on all addresses without a host. Raises OSError."""
    both = not host and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both or ":" in host else socket.AF_INET
    try:
        made = socket.create_server((host, port), family=family, backlog=BACKLOG, dualstack_ipv6=both)
    except OSError as error:
        raise OSError(error.errno, os.strerror(error.errno or 0), f"{host}:{port}") from None
    # connections inherit it; otherwise delayed acknowledgments add 40 ms to each answer but the first
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


@dataclass(frozen=True)
class ServerRequest:
    """Options of the web server.

    `at`: [ADDRESS:]PORT; `tokens`, `uploads`: file and folder, if any; `proxies`: as in `served`; `names`: host names of the
    service; `bounds`: limits of uploads.
    """

    at: str = "8080"
    tokens: str | Path | None = None
    uploads: str | Path | None = None
    proxies: Sequence[str] = ()
    names: Sequence[str] = ()
    bounds: Bounds = field(default_factory=Bounds)


@contextmanager
def serve(service: Service, wish: ServerRequest) -> Iterator[str]:
    """Serve with these options while the context lasts; yields the address. Raises ValueError, OSError."""
    where = parse_endpoint("pages", wish.at)
    proxies = [str(network) for network in parse_networks(wish.proxies)]
    tokens = Tokens(wish.tokens) if wish.tokens else None
    with ExitStack() as stack:
        uploads = stack.enter_context(Uploads(wish.uploads, wish.bounds)) if wish.uploads else None
        if uploads is not None:
            stack.enter_context(_request_buffers(uploads.folder))
        whole = replace(service, tokens=tokens, uploads=uploads, names=tuple(wish.names))
        port = stack.enter_context(served(whole, where.host, where.port, proxies=proxies))
        yield f"http://{replace(where, port=port)}"


@contextmanager
def _request_buffers(folder: Path) -> Iterator[None]:
    """Buffer request bodies in unnamed files on this disk, because /tmp may be small or in memory."""
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before
