"""Measure records per second of decoding exports by kind, compared with one copy of the same octets.

    python -m benchmarks.exports [DATAGRAMS]

Machines differ and are noisy; compare the ratio to the copy from the same run.
"""

from __future__ import annotations

import struct
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from collectors.exports.datagrams import Datagrams
from collectors.exports.netflow.netflow import NetflowDecoder
from collectors.exports.sflow.sflow import SflowDecoder

FIELDS = ((8, 4), (12, 4), (7, 2), (11, 2), (4, 1), (6, 1), (1, 8), (2, 8), (152, 8), (153, 8))
RECORD = struct.Struct(">IIHHBBQQQQ")
PER_DATAGRAM = 28
HOSTS = 10_000
NOW = 1_795_214_542
HEADER = bytes.fromhex("0202020202020404040404040800450000980000400040110000")
TAIL = struct.pack(">HHHH", 50_000, 4791, 132, 0) + struct.pack(">BBHII", 10, 0, 0xFFFF, 0x77, 5) + bytes(60)


class Measured(NamedTuple):
    """One kind: records, seconds, and seconds of a copy of the octets."""

    name: str
    records: int
    seconds: float
    copy: float


def _set(number: int, body: bytes) -> bytes:
    return struct.pack(">HH", number, 4 + len(body)) + body


def _ipfix(body: bytes, sequence: int) -> bytes:
    return struct.pack(">HHIII", 10, 16 + len(body), NOW, sequence, 1) + body


def _template(fields: Sequence[tuple[int, int]]) -> bytes:
    packed = b"".join(struct.pack(">HH", *field) for field in fields)
    return _ipfix(_set(2, struct.pack(">HH", 256, len(fields)) + packed), 0)


def _records(random: np.random.Generator) -> list[bytes]:
    hosts = random.integers(0, HOSTS, (PER_DATAGRAM, 2)) + 0x0A000000
    return [RECORD.pack(int(a), int(b), 1000, 4791, 17, 0, 123456, 80, NOW * 1000, NOW * 1000 + 9) for a, b in hosts]


def _frame(random: np.random.Generator) -> bytes:
    a, b = (random.integers(0, HOSTS, 2) + 0x0A000000).tolist()
    return HEADER + struct.pack(">II", a, b) + TAIL


def _sflow(frames: list[bytes], sequence: int) -> bytes:
    body = b""
    for frame in frames:
        padded = frame + bytes(-len(frame) % 4)
        header = struct.pack(">IIIIII", 1, 16 + len(padded), 1, 1090, 4, len(frame)) + padded
        told = struct.pack(">III", 1039, 4, 900) + struct.pack(">III", 1040, 4, 5000)
        sample = struct.pack(">IIIIIIII", sequence, 5, 1000, 99, 0, 7, 8, 3) + header + told
        body += struct.pack(">II", 1, len(sample)) + sample
    return struct.pack(">IIIIIII", 5, 1, 0x0A000001, 0, sequence, 1000, len(frames)) + body


def kinds(datagrams: int) -> Iterator[tuple[str, list[bytes], Callable[[int], bytes], int, bool]]:
    """Yield name, templates, a function that makes datagram i, number of senders, and whether it is sFlow."""
    random = np.random.default_rng(1)
    fixed = [_set(256, b"".join(_records(random))) for _ in range(64)]
    named = [_set(256, b"".join(r + b"\x04eth0" for r in _records(random))) for _ in range(64)]
    frames = [[_frame(random) for _ in range(10)] for _ in range(64)]
    framed = [_set(256, b"".join(bytes([len(f)]) + f for f in some)) for some in frames]
    yield "ipfix", [_template(FIELDS)], lambda i: _ipfix(fixed[i % 64], i * PER_DATAGRAM), 1, False
    each = _set(2, struct.pack(">HH", 256, len(FIELDS)) + b"".join(struct.pack(">HH", *field) for field in FIELDS))
    yield "ipfix, templates too", [], lambda i: _ipfix(each + fixed[i % 64], i * PER_DATAGRAM), 1, False
    yield "ipfix, 1000 exporters", [_template(FIELDS)], lambda i: _ipfix(fixed[i % 64], i), min(1000, datagrams), False
    yield "ipfix, lengths vary", [_template((*FIELDS, (82, 65535)))], lambda i: _ipfix(named[i % 64], i), 1, False
    yield "ipfix, frames", [_template(((315, 65535),))], lambda i: _ipfix(framed[i % 64], i), 1, False
    yield "sflow", [], lambda i: _sflow(frames[i % 64], i), 1, True


def measure(datagrams: int = 4096, repeats: int = 5) -> list[Measured]:
    """Measure the best of a few runs of every kind, after compilation and templates."""
    found = []
    for name, templates, made, senders, sflow in kinds(datagrams):
        who = [f"10.1.{i // 256}.{i % 256}" for i in range(senders)]
        decoder: NetflowDecoder | SflowDecoder = SflowDecoder() if sflow else NetflowDecoder()
        decoder.decode(Datagrams.of((sender, t, 1) for sender in who for t in templates))
        batch = Datagrams.of((who[i % senders], made(i), i) for i in range(datagrams))
        best, copy, records = 1e9, 1e9, 0
        for _ in range(repeats):
            began = time.perf_counter()
            bytes(bytearray(batch.data))
            copied = time.perf_counter()
            records = len(decoder.decode(batch))
            best, copy = min(best, time.perf_counter() - copied), min(copy, copied - began)
            decoder.take_evidence()
        found.append(Measured(name, records, best, copy))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line per kind."""
    given = list(sys.argv[1:] if argv is None else argv)
    if len(given) > 1 or not all(word.isdecimal() and int(word) for word in given):
        print("usage: python -m benchmarks.exports [DATAGRAMS]", file=sys.stderr)
        return 2
    for m in measure(int(given[0]) if given else 4096):
        print(f"{m.name:22}{m.records / m.seconds / 1e6:8.2f} M records/s  {m.seconds / m.copy:7.1f} × copying")
    return 0


if __name__ == "__main__":
    sys.exit(main())
