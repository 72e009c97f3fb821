"""Compare the cost of random address pairs with that of one pair: processor time per packet and per exported record.

    python -m benchmarks.pairs [--count 1000000] [--repeats 3]

Packets are TCP segments of a pcap on disk, records those of IPFIX datagrams. `random`: every address is drawn from all of IPv4,
so that almost every packet opens a flow; `some`: from 10,000 addresses. The best of several repeats counts.

A packet of one pair takes about 140 ns, of which the sort and the columns of the records take 85 ns, and 240 octets of new
memory. One of a random pair also reads three cache lines at random places (the slots of two addresses and of a flow) and writes
about 120 octets of new memory. On a virtual machine with two cores a random line takes 150 ns if the next one depends on it and
8 ns if up to 64 are fetched together; of more, the processor drops most. The kernel clears new memory at 0.09 ns per octet, and
at up to 0.7 ns where other programs use the memory too. Packets of random pairs take 230 to 250 ns: 1.7 times the cost of one
pair, on a loaded machine as well.
"""

from __future__ import annotations

import argparse
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.udp import RECORDS, ipfix, ipfix_template
from collectors.aggregation import capture_reader
from collectors.aggregation.batch_decoder import Decoder
from collectors.aggregation.flow_table import flows_of
from collectors.captures import pcap
from collectors.exports.datagrams import Datagrams
from collectors.exports.netflow.netflow import NetflowDecoder

KINDS = ("one", "some", "random")
Addresses = NDArray[np.uint32]


def addresses(kind: str, count: int, seed: int = 0) -> tuple[Addresses, Addresses]:
    """Draw source and destination of packets or records."""
    draw = np.random.default_rng(seed)
    if kind == "one":
        return np.full(count, 0x0A000001, np.uint32), np.full(count, 0x0A000002, np.uint32)
    low, high = (0x0A000000, 0x0A000000 + 10_000) if kind == "some" else (0x01000000, 0xDF000000)
    src, dst = draw.integers(low, high, (2, count), np.uint32)
    return src, dst


def capture(path: Path, kind: str, count: int) -> None:
    """Write a pcap of TCP segments of 100 octets, one per microsecond."""
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 140, 1, 0x4000, 64, 6, 0, 0, 0)
    tcp = struct.pack(">HHIIBBHHH", 1000, 2000, 0, 1, 0x50, 0x18, 1000, 0, 0)
    frames = np.tile(np.frombuffer(bytes(12) + b"\x08\0" + ip + tcp + bytes(10), np.uint8), (count, 1))
    src, dst = addresses(kind, count)
    for at, column in ((26, src), (30, dst), (38, (np.arange(count) * 100).astype(np.uint32))):
        frames[:, at : at + 4] = column.astype(">u4").view(np.uint8).reshape(count, 4)
    with pcap.Writer(path) as file:
        file.add(1_795_000_000_000_000_000 + np.arange(count) * 1000, frames, np.full(count, 64), np.full(count, 154))


def datagrams(kind: str, count: int) -> list[Datagrams]:
    """Make about `count` records in IPFIX datagrams, in batches as from a listener."""
    message = ipfix()[0][0]
    n = count // RECORDS
    rows = np.tile(message, (n, 1))
    src, dst = addresses(kind, n * RECORDS)
    size = (rows.shape[1] - 20) // RECORDS
    for at, column in ((0, src), (4, dst)):
        for k in range(RECORDS):
            octets = column[k::RECORDS].astype(">u4").view(np.uint8).reshape(-1, 4)[:n]
            rows[:, 20 + k * size + at : 24 + k * size + at] = octets
    rows[:, 8:12] = (np.arange(n) * RECORDS).astype(">u4").view(np.uint8).reshape(n, 4)
    made, each = [], 4096
    for begin in range(0, n, each):
        part = rows[begin : begin + each]
        offset, length = np.arange(len(part)) * part.shape[1], np.full(len(part), part.shape[1])
        sender, times = np.zeros(len(part), np.int32), np.full(len(part), 1_795_000_000_000_000_000)
        made.append(Datagrams(part.tobytes(), offset, length, sender, times, ("192.0.2.1",)))
    return made


def follow(path: Path) -> None:
    """Convert a capture to flow records, as `prism-collect flows`."""
    decoder, opened = Decoder(), pcap.read(path)
    flows_of({"a": capture_reader.read(opened, decoder)}, decoder.endpoints)


def decode(batches: Sequence[Datagrams]) -> None:
    """Convert datagrams to flow records, as `prism-collect listen`."""
    decoder = NetflowDecoder()
    decoder.decode(Datagrams.of([("192.0.2.1", ipfix_template(), 1_795_000_000_000_000_000)]))
    for batch in batches:
        decoder.decode(batch)


def seconds(work: Callable[[], None], repeats: int) -> float:
    """Measure the minimum processor time of several repeats, after one warm-up."""
    work()
    taken = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return max(min(taken), 1e-9)  # where the clock of the processor is coarse, little work takes no time


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for packets and one for records."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.pairs", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1_000_000, help="packets, and records")
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        path, packets, records = Path(folder) / "packets.pcap", dict[str, float](), dict[str, float]()
        for kind in KINDS:
            capture(path, kind, asked.count)
            packets[kind] = seconds(lambda: follow(path), asked.repeats)
            batches = datagrams(kind, asked.count)
            records[kind] = seconds(lambda batches=batches: decode(batches), asked.repeats)  # type: ignore[misc]
    for what, found in (("packets", packets), ("records", records)):
        told = "  ".join(f"{kind} {found[kind] / asked.count * 1e9:6.0f} ns" for kind in KINDS)
        ratios = "  ".join(f"{kind} {found[kind] / found['one']:5.2f}" for kind in KINDS[1:])
        print(f"{what:8} {told} each; times as much as one pair: {ratios}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
