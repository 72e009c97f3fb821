"""Run `prism-collect listen`: make sockets, decoders and the sink from the options, and read the allow-list."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from collectors.exports.admission import Admission
from collectors.listening.datagram_queue import DatagramQueue
from collectors.listening.listener import Decoder, Listener
from collectors.listening.receiver_threads import Intake
from collectors.listening.udp_sockets import Endpoint, open_socket, parse_endpoint
from collectors.live import state_file
from collectors.live._state_keeping import StateSaver
from collectors.live.session import allow_list, run, signals, sink_to
from collectors.operations import logs
from collectors.operations.logs import log_event
from collectors.packets.plain_decoder import DecodeError


@dataclass(frozen=True)
class ListenOptions:
    """Options of `prism-collect listen`; `places` are kinds and addresses, `buffer` is in octets."""

    places: Sequence[tuple[str, str]]
    out: str
    rows: int
    seconds: float
    allow: Sequence[str] | None
    allow_file: str | None
    exporters: int
    rate: float | None
    buffer: int
    metrics: str | None
    templates: str | None = None  # file of NetFlow and IPFIX templates across restarts


def decoders(kinds: Collection[str], state: Any = None) -> dict[str, Decoder]:
    """Make a compiled decoder for each kind. NetFlow and IPFIX share one, because some exporters send both to either port.

    `state` has the templates from before a restart. Raises DecodeError if it is not valid.
    """
    from collectors.exports.netflow import netflow
    from collectors.exports.sflow import sflow

    made: dict[str, Decoder] = {}
    if set(kinds) - {"sflow"}:
        netflow.warm()
        both = netflow.NetflowDecoder(state=state)
        made = {kind: both for kind in kinds if kind != "sflow"}
    if "sflow" in kinds:
        sflow.warm()
        made["sflow"] = sflow.SflowDecoder()
    return made


def run_listener(wish: ListenOptions, reload: Callable[[], dict[str, Any]] = dict) -> None:
    """Listen until SIGTERM or SIGINT. `reload` reads the settings file.

    Raises OSError and ValueError at the start.
    """
    places = [parse_endpoint(kind, text) for kind, text in wish.places]
    if not places:
        raise ValueError("no port to listen on; give --sflow, --netflow or --ipfix with a port")
    logs.start()
    with signals() as asked, ExitStack() as undo:
        admission = Admission(allowed=allow_list(wish.allow, wish.allow_file), most=wish.exporters, rate=wish.rate)
        inbox, sink = DatagramQueue(), sink_to(wish.out, rows=wish.rows, seconds=wish.seconds)
        known = state_file.load(wish.templates) if wish.templates else None
        ready = _decoders(
            {place.kind for place in places}, known, wish.templates
        )  # before a socket is open, since compilation may take time
        keeper = _keeper(wish.templates, ready)
        sockets = list(opened_sockets(places, wish.buffer, undo, exposed=admission.allowed is None))
        listener = Listener(Intake(sockets, admission, inbox), inbox, ready, sink)

        def between() -> None:
            if asked.reload.is_set():
                asked.reload.clear()
                _reload(wish, reload, admission)
            if keeper:
                keeper.tick()

        if keeper:
            undo.callback(keeper.save)
        run(lambda: listener.run(asked.stop, between=between), listener.counts, metrics=wish.metrics)


def _decoders(kinds: Collection[str], state: Any, path: str | None) -> dict[str, Decoder]:
    """Make the decoders. Raises DecodeError with the file of their templates."""
    try:
        return decoders(kinds, state)
    except DecodeError as error:
        raise DecodeError(f"{path}: {error}; remove the file to start without templates") from None


def _keeper(path: str | None, ready: Mapping[str, Decoder]) -> StateSaver | None:
    both: Any = next((decoder for kind, decoder in ready.items() if kind != "sflow"), None)
    return StateSaver(path, lambda: both.state) if path and both else None


def opened_sockets(
    places: Sequence[Endpoint], buffer: int, undo: ExitStack, *, exposed: bool
) -> Iterator[tuple[str, socket.socket]]:
    """Open listening sockets, each with its kind; `undo` closes them. Raises OSError."""
    for place in places:
        sock, granted = open_socket(place, buffer=buffer)
        undo.callback(sock.close)
        port = sock.getsockname()[1]
        log_event("listening", kind=place.kind, address=place.host or "*", port=port, buffer=granted)
        if granted < buffer:
            hint = f"set sysctl net.core.rmem_max={buffer}, or grant CAP_NET_ADMIN"
            log_event(
                "receive buffer smaller than requested",
                level=logging.WARNING,
                port=port,
                asked=buffer,
                granted=granted,
                hint=hint,
            )
        if exposed and place.host in ("", "0.0.0.0", "::"):
            log_event("any host may send records", level=logging.WARNING, port=port, hint="list the exporters with --allow")
        yield place.kind, sock


def _reload(wish: ListenOptions, again: Callable[[], dict[str, Any]], admission: Admission) -> None:
    """Read the allow-list and the rate again. An error is logged, and nothing changes."""
    try:
        known = again()
        wish = replace(wish, **{name: known[name] for name in ("allow", "allow_file", "rate") if name in known})
        allowed = allow_list(wish.allow, wish.allow_file)
    except (OSError, ValueError) as error:
        log_event("settings not reloaded, the old ones stay", level=logging.ERROR, error=error)
        return
    admission.reload(allowed, rate=wish.rate)
    log_event("settings reloaded", networks="all" if allowed is None else len(allowed))
