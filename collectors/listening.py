"""`prism-collect listen`, from its options on: sockets, decoders and sink are made here, and the allow-list is read."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from collectors import logs, statefile
from collectors.admission import Admission
from collectors.inbox import Inbox
from collectors.intake import Intake
from collectors.keeping import Keeper
from collectors.listen import Decoder, Listener
from collectors.live import allow_list, run, signals, sink_to
from collectors.logs import say
from collectors.receiving import Endpoint, bound, endpoint


@dataclass(frozen=True)
class Wish:
    """The options of `prism-collect listen`; `places` are kinds and where to listen, `buffer` is in octets."""

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
    templates: str | None = None  # where NetFlow's and IPFIX's are kept over restarts


def decoders(kinds: Collection[str], state: Any = None) -> dict[str, Decoder]:
    """A decoder for each kind, compiled; NetFlow and IPFIX share one, since some exporters send both to either port.

    `state` is what it knew before a restart. Raises DecodeError where that is none.
    """
    from collectors import netflow, sflow

    made: dict[str, Decoder] = {}
    if set(kinds) - {"sflow"}:
        netflow.warm()
        both = netflow.NetflowDecoder(state=state)
        made = {kind: both for kind in kinds if kind != "sflow"}
    if "sflow" in kinds:
        sflow.warm()
        made["sflow"] = sflow.SflowDecoder()
    return made


def listen_until_told(wish: Wish, again: Callable[[], dict[str, Any]] = dict) -> None:
    """Listen as wished until SIGTERM or SIGINT. `again` reads the settings file.

    Raises OSError and ValueError at the start.
    """
    places = [endpoint(kind, text) for kind, text in wish.places]
    if not places:
        raise ValueError("nowhere to listen: say --sflow, --netflow or --ipfix, each with a port")
    logs.start()
    with signals() as asked, ExitStack() as undo:
        admission = Admission(allowed=allow_list(wish.allow, wish.allow_file), most=wish.exporters, rate=wish.rate)
        inbox, sink = Inbox(), sink_to(wish.out, rows=wish.rows, seconds=wish.seconds)
        known = statefile.load(wish.templates) if wish.templates else None
        ready = decoders({place.kind for place in places}, known)  # before a socket is open, since it may have to be compiled
        keeper = _keeper(wish.templates, ready)
        sockets = list(opened_sockets(places, wish.buffer, undo, exposed=admission.allowed is None))
        listener = Listener(Intake(sockets, admission, inbox), inbox, ready, sink)

        def between() -> None:
            if asked.reload.is_set():
                asked.reload.clear()
                _reload(wish, again, admission)
            if keeper:
                keeper.tick()

        if keeper:
            undo.callback(keeper.save)
        run(lambda: listener.run(asked.stop, between=between), listener.counts, metrics=wish.metrics)


def _keeper(path: str | None, ready: Mapping[str, Decoder]) -> Keeper | None:
    both: Any = next((decoder for kind, decoder in ready.items() if kind != "sflow"), None)
    return Keeper(path, lambda: both.state) if path and both else None


def opened_sockets(
    places: Sequence[Endpoint], buffer: int, undo: ExitStack, *, exposed: bool
) -> Iterator[tuple[str, socket.socket]]:
    """Sockets that listen, each with the kind of what comes there; `undo` closes them. Raises OSError."""
    for place in places:
        sock, granted = bound(place, buffer=buffer)
        undo.callback(sock.close)
        port = sock.getsockname()[1]
        say("listening", kind=place.kind, address=place.host or "*", port=port, buffer=granted)
        if granted < buffer:
            hint = f"sysctl net.core.rmem_max={buffer}, or CAP_NET_ADMIN"
            say("small receive buffer", level=logging.WARNING, port=port, asked=buffer, granted=granted, hint=hint)
        if exposed and place.host in ("", "0.0.0.0", "::"):
            say("anybody may send", level=logging.WARNING, port=port, hint="name the exporters with --allow")
        yield place.kind, sock


def _reload(wish: Wish, again: Callable[[], dict[str, Any]], admission: Admission) -> None:
    """Read the allow-list and the rate again; what is wrong with them is said, and nothing changes then."""
    try:
        known = again()
        wish = replace(wish, **{name: known[name] for name in ("allow", "allow_file", "rate") if name in known})
        allowed = allow_list(wish.allow, wish.allow_file)
    except (OSError, ValueError) as error:
        say("not reloaded", level=logging.ERROR, error=error)
        return
    admission.reload(allowed, rate=wish.rate)
    say("reloaded", networks="all" if allowed is None else len(allowed))
