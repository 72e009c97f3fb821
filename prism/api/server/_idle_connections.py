"""Close idle connections, so that they cannot exhaust the server.

uvicorn waits for the head of a request without a limit. Here a connection has `HEAD_S` seconds to send it, and `IDLE_S` seconds
after an answer to send another. At most `MAX_WAITING` connections wait; the one that waited longest is closed first.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 5.0  # seconds for the head of a request, which a client sends with its first packets
IDLE_S = 30.0  # seconds between requests, as long as browsers keep connections for the next click
MAX_WAITING = 256  # waiting connections: a quarter of the files that a process may open by default

Waiting = OrderedDict["Connection", asyncio.TimerHandle]


class Connection(H11Protocol):
    """One connection of a client."""

    def connection_made(self, transport: Any) -> None:
        """Handle a new connection."""
        super().connection_made(transport)
        self._wait(HEAD_S)

    def data_received(self, data: bytes) -> None:
        """Handle received octets: the head of a request, a part of it, or of a body."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Handle the end of an answer."""
        super().on_response_complete()
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            self._wait(IDLE_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the end of the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self, seconds: float) -> None:
        self._stop_waiting()
        waiting = self._waiting()
        waiting[self] = self.loop.call_later(seconds, self._close)
        if len(waiting) > MAX_WAITING:
            next(iter(waiting))._close()

    def _stop_waiting(self) -> None:
        timer = self._waiting().pop(self, None)
        if timer is not None:
            timer.cancel()

    def _close(self) -> None:
        self._stop_waiting()
        self.transport.abort()

    def _waiting(self) -> Waiting:
        """Return the waiting connections of this server, longest wait first."""
        found: Waiting = vars(self.server_state).setdefault("waiting", OrderedDict())
        return found
