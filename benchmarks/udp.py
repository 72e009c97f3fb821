"""Export datagrams per second over loopback: a sender process, and a bare recvmmsg loop or the whole listener that receives.

    python -m benchmarks.udp [--seconds 10] [--rate 300000] [--only bare,apart,ipfix,sflow]

IPFIX datagrams are 1364 octets of 28 records, sFlow datagrams hold 7 samples of 128 octets. Sender and receiver share the
machine, so cores matter; the ratio to the bare loop, taken in the same run, is what compares. The kernel may join datagrams
that one sender sends in a row (`collectors.listening.udp_sockets.open_socket`), and the sender here sends bursts; `bare` and
`apart`, which is `ipfix` otherwise, have them one by one, as from many exporters in turn.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import socket
import struct
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.exports.admission import Admission
from collectors.listening.datagram_queue import DatagramQueue
from collectors.listening.listener import Listener
from collectors.listening.receiver_threads import Intake
from collectors.listening.udp_sockets import MIB, Endpoint, Receiver, open_socket
from collectors.live.listen_command import decoders
from collectors.writers.sinks import NullSink

BURST, UDP_SEGMENT = 64, 103  # linux/udp.h
FIELDS = ((8, 4), (12, 4), (7, 2), (11, 2), (4, 1), (6, 1), (5, 1), (192, 1), (1, 8), (2, 8), (152, 8), (153, 8))
RECORDS, SAMPLES = 28, 7


def ipfix_template() -> bytes:
    """Make an IPFIX message with the template of `ipfix` (RFC 7011)."""
    fields = b"".join(struct.pack(">HH", *field) for field in FIELDS)
    body = struct.pack(">HHHH", 2, 8 + len(fields), 256, len(FIELDS)) + fields
    return struct.pack(">HHIII", 10, 16 + len(body), 1_795_000_000, 0, 1) + body


def ipfix() -> tuple[NDArray[np.uint8], int, int]:
    """Make messages to send, with the position and increment of the sequence number."""
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
    """Make the same for sFlow version 5: raw headers of RoCEv2 packets."""
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 4156, 1, 0x4000, 64, 17, 0, 0x0A000001, 0x0A000101)
    roce = struct.pack(">HHHH", 50_000, 4791, 4136, 0) + struct.pack(">BBHII", 7, 0, 0xFFFF, 0x1234, 1)
    header = (bytes(12) + b"\x08\x00" + ip + roce).ljust(128, b"\0")
    raw = struct.pack(">IIIIII", 1, 16 + len(header), 1, 4174, 4, len(header)) + header
    sample = struct.pack(">IIIIIIII", 7, 1, 1000, 7000, 0, 1, 2, 1) + raw
    samples = (struct.pack(">II", 1, len(sample)) + sample) * SAMPLES
    message = struct.pack(">IIIIIII", 5, 1, 0x7F000001, 0, 0, 1000, SAMPLES) + samples
    return np.frombuffer(message * BURST, np.uint8).reshape(BURST, -1).copy(), 16, 1


MAKERS = {"ipfix": ipfix, "apart": ipfix, "sflow": sflow}


def send(kind: str, port: int, rate: float, seconds: float, say: Connection | None = None) -> None:
    """Send evenly, in bursts of one system call each, in the sender's process; the template first.

    The kernel cuts a burst into datagrams (UDP_SEGMENT, udp(7)), which saves most of the cost of sending. Reports at the end
    its duration and processor time.
    """
    messages, at, step = MAKERS[kind]()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(("127.0.0.1", port))
    if kind != "sflow":
        sock.send(ipfix_template())
    burst = burst_of(messages.shape[1])
    messages = messages[:burst]
    sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, messages.shape[1])
    began, busy = time.perf_counter(), time.process_time()
    for k in range(int(rate * seconds) // burst):
        while (early := k * burst / rate - (time.perf_counter() - began)) > 0:
            if early > 0.0002:
                time.sleep(early / 2)
        sequence = ((k * burst + np.arange(burst)) * step & 0xFFFFFFFF).astype(">u4")
        messages[:, at : at + 4] = sequence.view(np.uint8).reshape(burst, 4)
        sock.send(messages.data)
    if say is not None:
        say.send((time.perf_counter() - began, time.process_time() - busy))


def burst_of(octets: int) -> int:
    """Compute the datagrams per system call: at most 64 (UDP_MAX_SEGMENTS), and the content of an IPv4 packet."""
    return min(BURST, 65_507 // octets)


@dataclass(frozen=True)
class Result:
    """Sent and received counts; `busy`: the receiver's processor time, s.

    `asked`: planned seconds of the sender; `took`: actual ones; `sender`: its processor time. `others`: share of all processors
    used by other programs.
    """

    name: str
    sent: int
    received: int
    records: int
    seconds: float
    busy: float
    asked: float
    took: float
    sender: float
    others: float

    @property
    def lost(self) -> int:
        """Datagrams that the kernel dropped."""
        return self.sent - self.received


class Sender:
    """The sender's process, and its final report."""

    def __init__(self, kind: str, port: int, rate: float, seconds: float) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._heard, say = spawn.Pipe(duplex=False)
        self._process = spawn.Process(target=send, args=(kind, port, rate, seconds, say))
        self._process.start()
        self.asked, self._began = seconds, used()

    def is_alive(self) -> bool:
        """Check whether it still sends."""
        return self._process.is_alive()

    def ended(self, busy: float) -> dict[str, Any]:
        """Return fields of `Result` for a receiver's busy time."""
        took, sender = self._heard.recv() if self._heard.poll() else (0.0, 0.0)
        self._process.join()
        all_of_them, theirs = (now - before for now, before in zip(used(), self._began, strict=True))
        others = max(0.0, theirs - busy - sender) / max(all_of_them, 1e-9)
        return {"asked": self.asked, "took": took, "sender": sender, "others": others}


def used() -> tuple[float, float]:
    """Return the seconds of all processors, and the used ones of these (proc_stat(5))."""
    numbers = [int(word) / os.sysconf("SC_CLK_TCK") for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(numbers), sum(numbers) - numbers[3] - numbers[4]


def _busy() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def sent(kind: str, rate: float, seconds: float) -> int:
    """Return the number of datagrams that `send` sends."""
    burst = burst_of(MAKERS[kind]()[0].shape[1])
    return int(rate * seconds) // burst * burst + (kind != "sflow")


def bare(rate: float, seconds: float, buffer: int) -> Result:
    """Receive IPFIX datagrams with recvmmsg and nothing else."""
    sock, _ = open_socket(Endpoint("ipfix", "127.0.0.1", 0), buffer=buffer, joined=False)
    receiver, received, count = Receiver(sock), 0, 0
    with sock:
        sender, began, busy = Sender("ipfix", sock.getsockname()[1], rate, seconds), 0.0, 0.0
        while sender.is_alive() or count:
            count = receiver.fill(linger=0.01)
            receiver.clear()
            if not count:
                time.sleep(0.0005)
            elif not began:
                began, busy = time.perf_counter(), _busy()
            received += count
        taken = time.perf_counter() - began
    busy = _busy() - busy
    return Result("bare", sent("ipfix", rate, seconds), received, 0, taken, busy, **sender.ended(busy))


def whole(name: str, rate: float, seconds: float, buffer: int) -> Result:
    """Run the listener: receive, decode, count the records."""
    kind = "ipfix" if name == "apart" else name
    sock, _ = open_socket(Endpoint(kind, "127.0.0.1", 0), buffer=buffer, joined=name != "apart")
    inbox, sink, stop = DatagramQueue(), NullSink(), threading.Event()
    listener = Listener(Intake([(kind, sock)], Admission(), inbox), inbox, decoders([kind]), sink)
    port, began = sock.getsockname()[1], [0.0, 0.0]
    sender = Sender(kind, port, rate, seconds)

    def between() -> None:
        if not began[0] and sink.records:
            began[:] = time.perf_counter(), _busy()
        if not sender.is_alive():
            stop.set()

    listener.run(stop, between=between)
    received = listener.intake.admission.received_in_all
    taken, busy = time.perf_counter() - began[0], _busy() - began[1]
    known = sent(kind, rate, seconds), received, sink.records, taken, busy
    return Result(name, *known, **sender.ended(busy))


def limit(result: Result) -> str:
    """Name the limiting part."""
    if result.lost:
        return "the receiver was the bottleneck" if result.others < 0.1 else "the receiver lost to other programs, or was it"
    return "the sender was the bottleneck" if result.took > 1.03 * result.asked else "both kept up"


def line(result: Result, first: Result) -> str:
    """Format a result beside the first one."""
    each, least = (r.busy / max(r.received, 1) for r in (result, first))
    return (
        f"{result.name:6} sent {result.sent:10,}  received {result.received:10,}  lost in the kernel {result.lost:8,}  "
        f"{result.received / result.seconds:9,.0f} datagrams/s  {result.records / result.seconds:11,.0f} records/s  "
        f"processor {result.busy / result.seconds:4.0%}: {each * 1e6:5.2f} us a datagram, {each / least:4.2f} × {first.name}; "
        f"sender {result.sender / max(result.took, 1e-9):4.0%}, took {result.took / result.asked:4.2f} × its time, "
        f"other programs {result.others:4.0%} of all processors: {limit(result)}"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line per receiver."""
    parser = argparse.ArgumentParser(prog="benchmarks.udp", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rate", type=float, default=300_000.0, help="datagrams per second; a tenth for sFlow")
    parser.add_argument("--buffer", type=int, default=32, help="MiB of receive buffer to ask for, as prism-collect listen does")
    parser.add_argument("--only", default="bare,apart,ipfix,sflow", help="which of bare, apart, ipfix, sflow")
    asked = parser.parse_args(argv)
    results: list[Result] = []
    for name in asked.only.split(","):
        rate = asked.rate / 10 if name == "sflow" else asked.rate
        how = rate, asked.seconds, asked.buffer * MIB
        results.append(bare(*how) if name == "bare" else whole(name, *how))
        print(line(results[-1], results[0]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
