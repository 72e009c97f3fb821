"""Export datagrams per second over loopback: a sender process, and a bare recvmmsg loop or the whole listener that receives.

    python -m benchmarks.udp [--seconds 10] [--rate 300000] [--only bare,ipfix,sflow]

IPFIX datagrams are 1364 octets of 28 records, sFlow datagrams hold 7 samples of 128 octets. Sender and receiver share the
machine, so cores matter; the ratio to the bare loop, taken in the same run, is what compares.
"""

from __future__ import annotations

import argparse
import ctypes
import multiprocessing
import resource
import socket
import struct
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collectors.admission import Admission
from collectors.inbox import Inbox
from collectors.intake import Intake
from collectors.listen import Listener
from collectors.listening import decoders
from collectors.receiving import Endpoint, Receiver, bound, drops
from collectors.sinks import Nowhere

BURST = 64
FIELDS = ((8, 4), (12, 4), (7, 2), (11, 2), (4, 1), (6, 1), (5, 1), (192, 1), (1, 8), (2, 8), (152, 8), (153, 8))
RECORDS, SAMPLES = 28, 7


def ipfix_template() -> bytes:
    """An IPFIX message with the template of what `ipfix` makes (RFC 7011)."""
    fields = b"".join(struct.pack(">HH", *field) for field in FIELDS)
    body = struct.pack(">HHHH", 2, 8 + len(fields), 256, len(FIELDS)) + fields
    return struct.pack(">HHIII", 10, 16 + len(body), 1_795_000_000, 0, 1) + body


def ipfix() -> tuple[NDArray[np.uint8], int, int]:
    """Messages to send, where each has its sequence number, and by how much that grows."""
    rows = []
    for i in range(BURST * RECORDS):
        start = 1_795_000_000_000 + i
        ports = (50_000 + i % 1000, 4791, 17, 0, 0, 64)
        rows.append(struct.pack(">IIHHBBBBQQQQ", 0x0A000000 + i % 512, 0x0A010000 + i % 509, *ports, 4096, 1, start, start + 5))
    messages = []
    for i in range(BURST):
        body = b"".join(rows[i * RECORDS : (i + 1) * RECORDS])
        body = struct.pack(">HH", 256, 4 + len(body)) + body
        messages.append(struct.pack(">HHIII", 10, 16 + len(body), 1_795_000_000, 0, 1) + body)
    return np.frombuffer(b"".join(messages), np.uint8).reshape(BURST, -1).copy(), 8, RECORDS


def sflow() -> tuple[NDArray[np.uint8], int, int]:
    """The same for sFlow version 5: raw headers of RoCEv2 packets."""
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 4156, 1, 0x4000, 64, 17, 0, 0x0A000001, 0x0A000101)
    roce = struct.pack(">HHHH", 50_000, 4791, 4136, 0) + struct.pack(">BBHII", 7, 0, 0xFFFF, 0x1234, 1)
    header = (bytes(12) + b"\x08\x00" + ip + roce).ljust(128, b"\0")
    raw = struct.pack(">IIIIII", 1, 16 + len(header), 1, 4174, 4, len(header)) + header
    sample = struct.pack(">IIIIIIII", 7, 1, 1000, 7000, 0, 1, 2, 1) + raw
    samples = (struct.pack(">II", 1, len(sample)) + sample) * SAMPLES
    message = struct.pack(">IIIIIII", 5, 1, 0x7F000001, 0, 0, 1000, SAMPLES) + samples
    return np.frombuffer(message * BURST, np.uint8).reshape(BURST, -1).copy(), 16, 1


MAKERS = {"ipfix": ipfix, "sflow": sflow}


def send(kind: str, port: int, rate: float, seconds: float) -> None:
    """Send evenly, in bursts of 64 by sendmmsg; the sender's process. Sends the template first."""
    messages, at, step = MAKERS[kind]()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(("127.0.0.1", port))
    if kind == "ipfix":
        sock.send(ipfix_template())
    headers, iovecs = np.zeros((BURST, 8), np.uint64), np.zeros((BURST, 2), np.uint64)
    iovecs[:, 0] = messages.ctypes.data + np.arange(BURST) * messages.shape[1]
    iovecs[:, 1] = messages.shape[1]
    headers[:, 2], headers[:, 3] = iovecs.ctypes.data + np.arange(BURST) * 16, 1
    call = ctypes.CDLL(None, use_errno=True).sendmmsg
    call.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int)
    began, number = time.perf_counter(), 0
    for burst in range(int(rate * seconds) // BURST):
        while (early := burst * BURST / rate - (time.perf_counter() - began)) > 0:
            if early > 0.0002:
                time.sleep(early / 2)
        sequence = (number + np.arange(BURST) * step).astype(">u4")
        messages[:, at : at + 4] = sequence.view(np.uint8).reshape(BURST, 4)
        number += BURST * step
        done = 0
        while done < BURST:
            done += max(0, call(sock.fileno(), headers.ctypes.data + done * 64, BURST - done, 0))


@dataclass(frozen=True)
class Result:
    """What was sent and what became of it; seconds of processor time are the receiver's."""

    name: str
    sent: int
    received: int
    lost: int
    records: int
    seconds: float
    busy: float


def _sender(kind: str, port: int, rate: float, seconds: float) -> multiprocessing.process.BaseProcess:
    process = multiprocessing.get_context("spawn").Process(target=send, args=(kind, port, rate, seconds))
    process.start()
    return process


def _busy() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def sent(rate: float, seconds: float, *, template: bool) -> int:
    """How many datagrams `send` sends."""
    return int(rate * seconds) // BURST * BURST + template


def bare(rate: float, seconds: float) -> Result:
    """Recvmmsg and nothing else, on IPFIX datagrams."""
    sock, _ = bound(Endpoint("ipfix", "127.0.0.1", 0))
    receiver, received, count = Receiver(sock), 0, 0
    with sock:
        sender, began, busy = _sender("ipfix", sock.getsockname()[1], rate, seconds), 0.0, 0.0
        while sender.is_alive() or count:
            count = receiver.fill(linger=0.01)
            receiver.clear()
            if not count:
                time.sleep(0.0005)
            elif not began:
                began, busy = time.perf_counter(), _busy()
            received += count
        lost, taken = drops(sock), time.perf_counter() - began
    return Result("bare", sent(rate, seconds, template=True), received, lost, 0, taken, _busy() - busy)


def whole(kind: str, rate: float, seconds: float) -> Result:
    """The listener: receives, decodes, counts the records."""
    sock, _ = bound(Endpoint(kind, "127.0.0.1", 0))
    inbox, sink, stop = Inbox(), Nowhere(), threading.Event()
    listener = Listener(Intake([(kind, sock)], Admission(), inbox), inbox, decoders([kind]), sink)
    port, began = sock.getsockname()[1], [0.0, 0.0]
    sender = _sender(kind, port, rate, seconds)

    def between() -> None:
        if not began[0] and sink.records:
            began[:] = time.perf_counter(), _busy()
        if not sender.is_alive():
            stop.set()

    listener.run(stop, between=between)
    lost, received = sum(listener.intake.lost().values()), listener.intake.admission.received_in_all
    count, taken = sent(rate, seconds, template=kind == "ipfix"), time.perf_counter() - began[0]
    return Result(kind, count, received, lost, sink.records, taken, _busy() - began[1])


def line(result: Result, first: Result) -> str:
    """A result beside the first one."""
    each, least = (r.busy / max(r.received, 1) for r in (result, first))
    return (
        f"{result.name:6} sent {result.sent:10,}  received {result.received:10,}  lost in the kernel {result.lost:8,}  "
        f"{result.received / result.seconds:9,.0f} datagrams/s  {result.records / result.seconds:11,.0f} records/s  "
        f"processor {result.busy / result.seconds:4.0%}: {each * 1e6:5.2f} us a datagram, {each / least:4.2f} × {first.name}"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line per receiver."""
    parser = argparse.ArgumentParser(prog="benchmarks.udp", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rate", type=float, default=300_000.0, help="datagrams per second; a tenth for sFlow")
    parser.add_argument("--only", default="bare,ipfix,sflow", help="which of bare, ipfix, sflow")
    asked = parser.parse_args(argv)
    results: list[Result] = []
    for name in asked.only.split(","):
        rate = asked.rate / 10 if name == "sflow" else asked.rate
        results.append(bare(rate, asked.seconds) if name == "bare" else whole(name, rate, asked.seconds))
        print(line(results[-1], results[0]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
