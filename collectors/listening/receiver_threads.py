"""Read the sockets in threads: from the kernel to the queue, through allow-list and rate limits."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections.abc import Sequence

import numpy as np

from collectors.columns.record import Ints
from collectors.exports.admission import Admission, AdmissionCounts, Admitted
from collectors.exports.datagrams import Datagrams
from collectors.listening._kernel_throttle import Throttle
from collectors.listening.datagram_queue import DatagramBatch, DatagramQueue
from collectors.listening.receive_buffers import Received
from collectors.listening.udp_sockets import Receiver, dropped_datagrams, is_pressed

MIN_UNCOPIED = 1024  # datagrams: fewer are copied
FILLED_SHARE, PRESSED_SHARE = (
    0.25,
    0.75,
)  # used share of the kernel's buffer: these threads are too slow; datagrams will soon be lost
_POLL_S = 0.005  # seconds between checks of the kernel's room and of the decoder
_DRAIN_S = 1.0  # maximum seconds for reading the rest after a stop


class Intake:
    """Receives on sockets, each with its kind, one thread each, until `stop`; then reads the rest.

    Datagrams wait up to `linger` seconds for more. Many are passed on in their block, few are copied.
    """

    def __init__(
        self, sockets: Sequence[tuple[str, socket.socket]], admission: Admission, inbox: DatagramQueue, *, linger: float = 0.025
    ) -> None:
        self.sockets, self.admission, self.inbox, self.linger = list(sockets), admission, inbox, linger
        self.error: OSError | None = None
        self._threads = [threading.Thread(target=self._run, args=pair, daemon=True) for pair in self.sockets]
        self._running, self._stopping, self._wake = len(self._threads), False, os.eventfd(0)
        self._admitting, self._counting = threading.Lock(), threading.Lock()
        self._lost = [0] * len(self.sockets)
        self._last = [dropped_datagrams(sock) for _, sock in self.sockets]

    def start(self) -> None:
        """Start to receive."""
        for thread in self._threads:
            thread.start()

    def is_alive(self) -> bool:
        """Check whether all sockets are being read."""
        return all(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """Ask the threads to end."""
        self._stopping = True
        os.eventfd_write(self._wake, 1)

    def join(self) -> None:
        """Wait for the threads' end."""
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def _run(self, kind: str, sock: socket.socket) -> None:
        try:
            self._receive(kind, Receiver(sock), Throttle(sock))
        except OSError as error:
            self.error = error
        finally:
            with self._admitting:
                self._running -= 1
                if not self._running:
                    self.inbox.close()

    def _receive(self, kind: str, receiver: Receiver, throttle: Throttle) -> None:
        poll = select.poll()
        for number in (self._wake, receiver.sock.fileno()):
            poll.register(number, select.POLLIN)
        while not self._stopping:
            if receiver.count == 0:
                poll.poll()
            while receiver.fill(linger=self.linger) and not self._stopping:
                self._hand_over(kind, receiver, throttle)
            self._hand_over(kind, receiver, throttle)
        until = time.monotonic() + _DRAIN_S
        while receiver.fill() and time.monotonic() < until:
            self._hand_over(kind, receiver, throttle)
        self._hand_over(kind, receiver, throttle, last=True)

    def close(self) -> None:
        """Close the sockets, after the threads' end."""
        self.lost()
        for _, sock in self.sockets:
            sock.close()
        os.close(self._wake)

    def taken(self) -> AdmissionCounts:
        """Return the counts of received and refused datagrams of one moment."""
        with self._admitting:
            return self.admission.taken()

    def lost(self) -> dict[str, int]:
        """Return the datagrams that the kernel dropped for lack of room, by kind."""
        found: dict[str, int] = {}
        with self._counting:
            for i, (kind, sock) in enumerate(self.sockets):
                if sock.fileno() >= 0:
                    now = dropped_datagrams(sock)
                    self._lost[i] += (now - self._last[i]) % (1 << 32)
                    self._last[i] = now
                found[kind] = found.get(kind, 0) + self._lost[i]
        return found

    def _hand_over(self, kind: str, receiver: Receiver, throttle: Throttle, *, last: bool = False) -> None:
        """Pass on the received datagrams, through allow-list and limits."""
        if not receiver.count or not (receiver.full or last or receiver.has_room):
            return
        received = receiver.received()

        def precious(row: int) -> bool:
            return kind != "sflow" and has_templates(received.head(row, 24))

        now_ns = int(received.time_ns[-1])
        with self._admitting:
            admitted = self.admission.admit(received.senders, received.sender, now_ns, precious=precious)
        enough = received.whole and (receiver.full or len(received) >= MIN_UNCOPIED) and admitted.weight.max(initial=1) == 1
        place = receiver if enough else self.inbox
        in_time = place.has_room or self._has_room(place, receiver.sock)
        if is_pressed(receiver.sock, share=FILLED_SHARE if place.has_room else PRESSED_SHARE):
            throttle.press(received.senders, received.sender, received.length, now_ns)
        else:
            throttle.raise_chances(now_ns)
        if not in_time:
            enough = False
            with self._admitting:
                keep = self.inbox.shares.fit(admitted.sender, received.length[admitted.rows])
                admitted = self.admission.crowd_out(admitted, keep)
        if enough and receiver.has_room:
            block = received.block
            datagrams = _datagrams(received, admitted, block.data, received.places(admitted.rows))  # type: ignore[arg-type]
            receiver.turn()
            self.inbox.put(DatagramBatch(kind, 1, datagrams, lambda: receiver.give_back(block)), at_once=True)
            return
        for weight in np.unique(admitted.weight).tolist():
            part = admitted.take(admitted.weight == weight)
            self.inbox.put(DatagramBatch(kind, weight, _datagrams(received, part, *received.copied(part.rows))), at_once=True)
        receiver.clear()

    def _has_room(self, place: Receiver | DatagramQueue, sock: socket.socket) -> bool:
        """Wait until datagrams can be passed on, while new ones stay in the kernel. False if that is almost full."""
        while not place.wait(_POLL_S):
            if self.inbox.closed or is_pressed(sock, share=PRESSED_SHARE):
                return self.inbox.closed
        return True


def has_templates(head: bytes) -> bool:
    """Check whether a datagram starts with templates: NetFlow v9 (RFC 3954 section 5.2) or IPFIX (RFC 7011 section 3.3.2)."""
    version = int.from_bytes(head[:2], "big")
    begin = {9: 20, 10: 16}.get(version, 24)
    first = head[begin : begin + 2]
    return len(first) == 2 and int.from_bytes(first, "big") in ((0, 1) if version == 9 else (2, 3))


def _datagrams(received: Received, admitted: Admitted, data: bytes, offset: Ints) -> Datagrams:
    rows = admitted.rows
    times, lengths = received.time_ns[rows], received.length[rows]
    return Datagrams(data, offset, lengths, admitted.sender, times, admitted.senders)
