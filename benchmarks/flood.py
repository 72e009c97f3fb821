"""Measure losses of a good exporter beside a flooding one over loopback, and the memory used.

    python -m benchmarks.flood [--seconds 10] [--rate 5000] [--flood 50000] [--only alone,templates,records,long]

The good exporter (127.0.0.1) sends IPFIX datagrams of 28 records at a rate; the flood (127.0.0.2) sends to the same port, as
requested or as fast as possible: wide templates that never repeat, its own records, or datagrams of 60,000 octets. `alone` is
the good one without a flood.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence

from benchmarks.udp import ipfix, ipfix_template
from collectors.cli.option_values import MOST_RATE
from collectors.exports.admission import CROWDED, LIMITED, Admission
from collectors.listening.datagram_queue import DatagramQueue
from collectors.listening.listener import Listener
from collectors.listening.receiver_threads import Intake
from collectors.listening.udp_sockets import MIB, Endpoint, open_socket
from collectors.live.listen_command import decoders
from collectors.writers.sinks import NullSink

GOOD, FLOOD = "127.0.0.1", "127.0.0.2"
FIELDS = 350  # of a wide template
DAY = 1_795_000_000


def templates(number: int) -> bytes:
    """Make a message with a unique template of many fields."""
    fields = b"".join(struct.pack(">HH", 1 + (number * 7 + k * k) % 400, 4) for k in range(FIELDS - 1))
    body = struct.pack(">HHHH", 2, 12 + len(fields), 256 + number % 60_000, FIELDS) + struct.pack(
        ">HH", 82, number % 65_000 + 1
    )
    return _message(body + fields, number)


def records(number: int) -> bytes:
    """Make a message of records with a known template."""
    return ipfix_template() if number % 1000 == 0 else _message(struct.pack(">HH", 256, 4 + 48 * 28) + bytes(48 * 28), number)


def long(number: int) -> bytes:
    """Make a message of maximum length without content."""
    return _message(struct.pack(">HH", 300, 59_004) + bytes(59_000), number)


MAKERS: dict[str, Callable[[int], bytes]] = {"templates": templates, "records": records, "long": long}


def _message(body: bytes, number: int) -> bytes:
    return struct.pack(">HHIII", 10, 16 + len(body), DAY, number & 0xFFFFFFFF, 1) + body


def send(sender: str, port: int, messages: Sequence[bytes], rate: float, seconds: float) -> None:
    """Send messages repeatedly at a rate."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((sender, 0))
        sock.connect(("127.0.0.1", port))
        if sender == GOOD:
            sock.send(ipfix_template())
        began = time.perf_counter()
        for k in range(int(rate * seconds)):
            if k % 16 == 0 and (early := k / rate - (time.perf_counter() - began)) > 0:
                time.sleep(early)
            elif time.perf_counter() - began > 2 * seconds:
                break
            sock.send(messages[k % len(messages)])


def measure(kind: str, rate: float, flood: float, seconds: float, buffer: int) -> str:
    """Measure both exporters; return a line."""
    sock, granted = open_socket(Endpoint("ipfix", "127.0.0.1", 0), buffer=buffer)
    admission, inbox, stop = Admission(rate=MOST_RATE), DatagramQueue(), threading.Event()
    sink = NullSink()
    listener = Listener(Intake([("ipfix", sock)], admission, inbox), inbox, decoders(["ipfix"]), sink)
    port = sock.getsockname()[1]
    rows, at, step = ipfix()
    good = []
    for k, row in enumerate(rows):
        row[at : at + 4] = list((k * step).to_bytes(4, "big"))
        good.append(row.tobytes())
    context = multiprocessing.get_context("fork")
    senders = [context.Process(target=send, args=(GOOD, port, good, rate, seconds))]
    if kind != "alone":
        made = [MAKERS[kind](k) for k in range(20_000 if kind == "templates" else 100)]
        senders.append(context.Process(target=send, args=(FLOOD, port, made, flood, seconds)))

    def watch() -> None:
        time.sleep(0.5)  # the listener is ready by then
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        time.sleep(0.5)
        stop.set()

    watching = threading.Thread(target=watch)
    watching.start()
    listener.run(stop)
    watching.join()
    taken = listener.intake.taken()
    sent = int(rate * seconds) + 1
    tally = listener.decoders["ipfix"].exporters.get(GOOD, {})  # type: ignore[attr-defined]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    refused = taken.refused.get(CROWDED, 0) + taken.refused.get(LIMITED, 0)
    lost = sum(listener.intake.lost().values())
    return (
        f"{kind:9} good: sent {sent:8,}  received {taken.by_exporter.get(GOOD, 0):8,}  of these refused "
        f"{taken.limited.get(GOOD, 0):6,}  decoded {tally.get('datagrams decoded', 0):8,}; "
        f"flood: received {taken.by_exporter.get(FLOOD, 0):8,}  of these refused {refused:8,}; "
        f"lost in the kernel {lost:7,} (buffer {granted >> 10:,} KiB); memory {peak:,} MiB at most"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line per kind of flood, each from its own process."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.flood", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rate", type=float, default=5000.0, help="datagrams per second of the good exporter")
    parser.add_argument("--flood", type=float, default=50_000.0, help="datagrams per second of the other one, at most")
    parser.add_argument("--buffer", type=int, default=32, help="MiB of receive buffer to ask for")
    parser.add_argument("--only", default="alone,templates,records,long", help="which of alone, templates, records, long")
    asked = parser.parse_args(argv)
    for kind in asked.only.split(","):
        print(measure(kind, asked.rate, asked.flood, asked.seconds, asked.buffer * MIB), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
