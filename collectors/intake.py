"""The thread that empties the sockets: kernel to inbox, past the allow-list and the rate limits."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections.abc import Sequence

import numpy as np

from collectors.admission import Admission, Admitted
from collectors.datagrams import Datagrams
from collectors.inbox import Inbox, Parcel
from collectors.receiving import Received, Receiver, drops

_ROUNDS = 8  # system calls for one socket before the others have their turn
_FAREWELL = 1.0  # seconds: the longest that what is still in the kernel is read after the end was asked for


class Intake(threading.Thread):
    """Receives on sockets, each with the kind of what comes there, until `stop`; then reads what the kernel still holds."""

    def __init__(self, sockets: Sequence[tuple[str, socket.socket]], admission: Admission, inbox: Inbox) -> None:
        super().__init__(name="intake", daemon=True)
        self.sockets, self.admission, self.inbox = list(sockets), admission, inbox
        self.error: OSError | None = None
        self._receiver, self._stopping = Receiver(), False
        self._wake = os.eventfd(0)
        self._counting = threading.Lock()
        self._lost = [0] * len(self.sockets)
        self._last = [drops(sock) for _, sock in self.sockets]

    def run(self) -> None:
        """Receive; the thread's body."""
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        for _, sock in self.sockets:
            poll.register(sock, select.POLLIN)
        by_number = {sock.fileno(): (kind, sock) for kind, sock in self.sockets}
        try:
            while not self._stopping:
                for number, _ in poll.poll():
                    if number != self._wake:
                        self._empty(*by_number[number], rounds=_ROUNDS)
            until = time.monotonic() + _FAREWELL
            for kind, sock in self.sockets:
                while time.monotonic() < until and self._empty(kind, sock, rounds=1):
                    pass
        except OSError as error:
            self.error = error
        finally:
            self.inbox.close()

    def stop(self) -> None:
        """Ask the thread to end."""
        self._stopping = True
        os.eventfd_write(self._wake, 1)

    def close(self) -> None:
        """After the thread's end: close the sockets."""
        self.lost()
        for _, sock in self.sockets:
            sock.close()
        os.close(self._wake)

    def lost(self) -> dict[str, int]:
        """Datagrams the kernel dropped for want of room, by kind."""
        found: dict[str, int] = {}
        with self._counting:
            for i, (kind, sock) in enumerate(self.sockets):
                if sock.fileno() >= 0:
                    now = drops(sock)
                    self._lost[i] += (now - self._last[i]) % (1 << 32)
                    self._last[i] = now
                found[kind] = found.get(kind, 0) + self._lost[i]
        return found

    def _empty(self, kind: str, sock: socket.socket, *, rounds: int) -> bool:
        """Read a socket; whether more may be there."""
        for _ in range(rounds):
            received = self._receiver.receive(sock)
            if received is None:
                return False
            self._sort(kind, received)
            if len(received.senders) < self._receiver.slots:
                return False
        return True

    def _sort(self, kind: str, received: Received) -> None:
        def precious(row: int) -> bool:
            return kind != "sflow" and announces(received.head(row, 24))

        admitted = self.admission.admit(received.senders, int(received.time_ns[-1]), precious=precious)
        for weight in np.unique(admitted.weight).tolist():
            self.inbox.put(Parcel(kind, weight, _copied(received, admitted, np.flatnonzero(admitted.weight == weight))))


def announces(head: bytes) -> bool:
    """Whether a datagram leads with templates: NetFlow v9 (RFC 3954 section 5.2) or IPFIX (RFC 7011 section 3.3.2)."""
    version = int.from_bytes(head[:2], "big")
    begin = {9: 20, 10: 16}.get(version, 24)
    first = head[begin : begin + 2]
    return len(first) == 2 and int.from_bytes(first, "big") in ((0, 1) if version == 9 else (2, 3))


def _copied(received: Received, admitted: Admitted, which: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Datagrams:
    rows = admitted.rows[which]
    length = received.length[rows]
    return Datagrams(
        data=received.payloads(rows.tolist()),
        offset=np.cumsum(length) - length,
        length=length,
        sender=admitted.sender[which],
        received_ns=received.time_ns[rows],
        senders=admitted.senders,
    )
