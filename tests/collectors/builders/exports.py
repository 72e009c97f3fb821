"""Export datagrams, packed by hand: NetFlow v5, v9, IPFIX and sFlow; and what comes out of decoders, as plain rows."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from collectors.columns.record import Flows
from collectors.exports.counter_names import DATAGRAMS, RECORDS, CounterTable
from collectors.exports.datagrams import Datagrams

WHEN = 1_795_214_542  # seconds since the epoch
A, B = "192.0.2.1", "192.0.2.2"
VARIABLE = 65535
SRC, DST, SRC_PORT, DST_PORT, PROTOCOL, FLAGS, OCTETS, PACKETS = 8, 12, 7, 11, 4, 6, 1, 2
START_MS, END_MS, FIRST, LAST = 152, 153, 22, 21
FIELDS: tuple[tuple[int, ...], ...] = (
    *((SRC, 4), (DST, 4), (SRC_PORT, 2), (DST_PORT, 2), (PROTOCOL, 1), (FLAGS, 1)),
    *((OCTETS, 8), (PACKETS, 4), (START_MS, 8), (END_MS, 8)),
)
KEPT = ("start_ns", "end_ns", "src", "dst", "src_port", "dst_port", "protocol", "dst_qp", "octets", "packets", "ecn", "cnp")
KEPT += ("tcp_flags", "sampling_rate", "exporter")


def set_(number: int, body: bytes, *, length: int | None = None) -> bytes:
    return struct.pack(">HH", number, 4 + len(body) if length is None else length) + body


def fields(given: Iterable[tuple[int, ...]]) -> bytes:
    """(element, length) or, of an enterprise, (element, length, enterprise)."""
    rows = (
        struct.pack(">HH", e | (0x8000 if rest else 0), n) + b"".join(struct.pack(">I", r) for r in rest)
        for e, n, *rest in given
    )
    return b"".join(rows)


def template(number: int, given: Sequence[tuple[int, ...]] = FIELDS, *, version: int = 10) -> bytes:
    """A set of one template."""
    return set_(2 if version == 10 else 0, struct.pack(">HH", number, len(given)) + fields(given))


def options_template(
    number: int, scope: Sequence[tuple[int, ...]], given: Sequence[tuple[int, ...]], *, version: int = 10
) -> bytes:
    if version == 10:
        return set_(3, struct.pack(">HHH", number, len(scope) + len(given), len(scope)) + fields([*scope, *given]))
    return set_(1, struct.pack(">HHH", number, 4 * len(scope), 4 * len(given)) + fields([*scope, *given]))


def ipfix(*sets: bytes, sequence: int = 0, domain: int = 1, when: int = WHEN, length: int | None = None) -> bytes:
    body = b"".join(sets)
    return struct.pack(">HHIII", 10, 16 + len(body) if length is None else length, when, sequence, domain) + body


def v9(*sets: bytes, sequence: int = 0, domain: int = 1, when: int = WHEN, uptime: int = 3_600_000) -> bytes:
    return struct.pack(">HHIIII", 9, len(sets), uptime, when, sequence, domain) + b"".join(sets)


def v5(*records: bytes, sequence: int = 0, rate: int = 0, count: int | None = None, uptime: int = 3_600_000) -> bytes:
    many = len(records) if count is None else count
    return struct.pack(">HHIIIIBBH", 5, many, uptime, WHEN, 500, sequence, 1, 2, 0x4000 | rate) + b"".join(records)


def v5_record(src: str = "10.0.0.1", dst: str = "10.0.0.2", *, first: int = 3_590_000, last: int = 3_595_000) -> bytes:
    addresses = ip(src) + ip(dst) + bytes(4)
    return addresses + struct.pack(
        ">HHIIIIHHBBBBHHBBH", 1, 2, 10, 15000, first, last, 40000, 4791, 0, 0x1B, 6, 0, 0, 0, 0, 0, 0
    )


def ip(text: str) -> bytes:
    return ipaddress.ip_address(text).packed


def record(i: int = 0, *, src: str = "10.0.0.1", dst: str = "10.0.0.2") -> bytes:
    """A record of `FIELDS`, told apart by its octets."""
    start = WHEN * 1000 - 2000
    return ip(src) + ip(dst) + struct.pack(">HHBBQIQQ", 1000, 2000, 6, 0x18, 1000 + i, 10, start, start + 1000)


def variable(octets: bytes, *, long: bool = False) -> bytes:
    """A value with its length before it, RFC 7011 section 7."""
    return (b"\xff" + struct.pack(">H", len(octets)) if long or len(octets) > 254 else bytes([len(octets)])) + octets


def flow_record(kind: int, body: bytes) -> bytes:
    """A record of an sFlow sample."""
    return struct.pack(">II", kind, len(body)) + body


def raw_header(frame: bytes, *, protocol: int = 1, length: int | None = None) -> bytes:
    padded = frame + bytes(-len(frame) % 4)
    return flow_record(1, struct.pack(">IIII", protocol, (length or len(frame)) + 4, 4, len(frame)) + padded)


def flow_sample(*records: bytes, rate: int = 1000, sequence: int = 1, expanded: bool = False) -> bytes:
    if expanded:
        head = struct.pack(">IIIIIIIIIII", sequence, 0, 3, rate, 5000, 0, 0, 3, 0, 4, len(records))
        return flow_record(3, head + b"".join(records))
    return flow_record(1, struct.pack(">IIIIIIII", sequence, 3, rate, 5000, 0, 3, 4, len(records)) + b"".join(records))


def counters(interface: int = 7, *, octets: int = 1 << 40, errors: int = 5, expanded: bool = False) -> bytes:
    body = struct.pack(">IIQII", interface, 6, 400_000_000_000, 1, 3)
    body += struct.pack(">QIIIIII", octets, 10, 20, 30, 4, errors, 0xFFFFFFFF)
    body += struct.pack(">QIIIIII", octets + 1, 11, 21, 0xFFFFFFFF, 6, 7, 0)
    head = struct.pack(">III", 1, 0, interface) if expanded else struct.pack(">II", 1, interface)
    return flow_record(4 if expanded else 2, head + struct.pack(">I", 1) + flow_record(1, body))


def drop_sample(*records: bytes, reason: int = 259) -> bytes:
    return flow_record(5, struct.pack(">IIIIIIII", 1, 0, 3, 17, 3, 4, reason, len(records)) + b"".join(records))


def sflow(*samples: bytes, sequence: int = 0, agent: str = "10.9.9.9", count: int | None = None) -> bytes:
    kind = 1 if ":" not in agent else 2
    head = struct.pack(">II", 5, kind) + ip(agent)
    return head + struct.pack(">IIII", 0, sequence, 1000, len(samples) if count is None else count) + b"".join(samples)


def batch(*payloads: bytes, sender: str = A, when: int = WHEN) -> Datagrams:
    return Datagrams.of((sender, payload, (when + i) * 10**9) for i, payload in enumerate(payloads))


def rows(flows: Flows) -> list[tuple[Any, ...]]:
    """Records as texts and numbers, in an order of their own."""
    books = {"src": flows.endpoints, "dst": flows.endpoints, "exporter": flows.exporters}
    columns = [
        [books[name][v] for v in getattr(flows, name)] if name in books else getattr(flows, name).tolist() for name in KEPT
    ]
    return sorted(zip(*columns, strict=True))


def row(flows: Flows) -> dict[str, Any]:
    """The only record."""
    (only,) = rows(flows)
    return dict(zip(KEPT, only, strict=True))


def check_laws(tally: Mapping[str, int], exporters: Mapping[str, Mapping[str, int]]) -> None:
    """Everything received is accounted for, in all and by exporter."""
    for book in (tally, *exporters.values()):
        for unit in (DATAGRAMS, RECORDS):
            ledger = CounterTable.of(book, unit)
            assert ledger.unaccounted == 0, (unit, book)
            assert min(ledger.received, ledger.decoded, ledger.waiting, *ledger.errors.values(), 0) == 0, (unit, book)
        assert CounterTable.of(book, RECORDS).undelivered == 0, book
