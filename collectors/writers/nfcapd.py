"""Write files that nfdump 1.7 reads (`nfdump -r`): nfcapd layout 2, record version 3, uncompressed blocks.

Integers are little-endian, as on nfdump's usual platforms. The format has no queue pairs, messages, retransmissions, congestion
marks and paths: these are left out. Times are truncated to milliseconds. Volumes of sampled records are scaled up, as in
nfcapd.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from collectors.addresses.address_halves import table_of
from collectors.addresses.bounded_address_book import MAPPED
from collectors.columns.record import ROCE_PORT, TCP, UDP, Flows, Ints, Mask
from collectors.columns.switch_names import check_names

ROWS = 1 << 13  # rows of a block: less than BLOCK octets
BLOCK = 1 << 20  # octets of a block at most, as in nfcapd
MAGIC, LAYOUT, MADE_BY, IPFIX = 0xA50C, 2, 0x01070100, 10
DATA, FLOW, IDENT, STATISTICS = 3, 11, 0x8001, 0x8002  # types of blocks, of records, of records after the last block
SAMPLED = 2  # a flag of records
ICMP, ICMP6 = 1, 58
NAME = b"prism\0"

HEADER = np.dtype(
    [
        *(("magic", "<u2"), ("layout", "<u2"), ("made_by", "<u4"), ("created", "<i8"), ("compression", "u1")),
        *(("encryption", "u1"), ("appendix_blocks", "<u2"), ("unused", "<u4"), ("appendix", "<i8")),
        *(("block_size", "<u4"), ("blocks", "<u4")),
    ]
)
BLOCK_HEADER = np.dtype([("records", "<u4"), ("size", "<u4"), ("kind", "<u2"), ("flags", "<u2")])
_HEAD = [
    *(("kind", "<u2"), ("size", "<u2"), ("elements", "<u2"), ("engine", "u1", 2), ("exporter", "<u2"), ("flags", "u1")),
    *(("version", "u1"), ("flow", "<u2", 2), ("first", "<u8"), ("last", "<u8"), ("received", "<u8"), ("packets", "<u8")),
    *(("octets", "<u8"), ("src_port", "<u2"), ("dst_port", "<u2"), ("protocol", "u1"), ("tcp_flags", "u1"), ("rest", "u1", 2)),
]
_ENDS = {4: (2, "<u4", ()), 6: (3, "<u8", (2,))}  # of IPv4 and of IPv6: element, type of an address, its shape
_ROUTERS = {0: None, 4: (12, "<u4", ()), 6: (13, "<u8", (2,))}  # exporter of the record


def kind_of(ends: int, router: int) -> np.dtype[Any]:
    """Return the layout of records with addresses of such a family, and the exporter's; 0: none."""
    _, kind, shape = _ENDS[ends]
    fields: list[Any] = [*_HEAD, ("ends", "<u2", 2), ("src", kind, shape), ("dst", kind, shape)]
    if (told := _ROUTERS[router]) is not None:
        fields += [("via", "<u2", 2), ("router", told[1], told[2])]
    return np.dtype(fields)


class Writer:
    """A file for adding records. A context; readable after it is closed. `count`: number of records."""

    def __init__(self, path: str | Path) -> None:
        self.count = self._blocks = 0
        self._file: BinaryIO = open(path, "wb")  # noqa: SIM115 - `__exit__` closes it
        self._file.write(bytes(HEADER.itemsize))
        self._sums = {name: np.zeros(4, np.uint64) for name in ("flows", "octets", "packets")}
        self._window = (np.iinfo(np.int64).max, 0)  # ms

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        with self._file:
            if kind is None:
                self._end()

    def add(self, flows: Flows) -> None:
        """Add records. Raises ValueError for a switch name with a bar or a line end."""
        check_names(flows)
        table, routers = table_of(flows.endpoints), _Routers(flows.exporters)
        for start in range(0, len(flows), ROWS):
            part = flows.take(slice(start, start + ROWS))
            self._sum(part)
            octets = _records(part, table, routers)
            self._write(len(part), octets)
            self._blocks += 1
        self.count += len(flows)

    def _write(self, records: int, octets: bytes) -> None:
        self._file.write(np.array((records, len(octets), DATA, 0), BLOCK_HEADER).tobytes() + octets)

    def _sum(self, part: Flows) -> None:
        """Add records to nfdump's statistics of the file."""
        column = np.full(len(part), 3)
        for i, protocols in enumerate(((TCP,), (UDP,), (ICMP, ICMP6))):
            column[np.isin(part.protocol, protocols)] = i
        packets, octets = volumes(part)
        for name, values in (("flows", np.ones(len(part), np.uint64)), ("octets", octets), ("packets", packets)):
            np.add.at(self._sums[name], column, values)
        first, last = self._window
        self._window = min(first, int(part.start_ns.min()) // 1_000_000), max(last, int(part.end_ns.max()) // 1_000_000)

    def _end(self) -> None:
        """Write the trailer after the records, and the header again."""
        appendix = self._file.tell()
        first, last = self._window if self.count else (0, 0)
        totals = [self._sums[name].sum() for name in ("flows", "octets", "packets")]
        numbers = np.array(
            [*totals, *self._sums["flows"], *self._sums["octets"], *self._sums["packets"], first, last, 0], "<u8"
        )
        self._write(2, _bare(IDENT, NAME) + _bare(STATISTICS, numbers.tobytes()))
        values = (MAGIC, LAYOUT, MADE_BY, last // 1000, 0, 0, 1, 0, appendix, BLOCK, self._blocks)
        self._file.seek(0)
        self._file.write(np.array(values, HEADER).tobytes())


class _Routers:
    """Exporters that are addresses, by code: family (0: none), and address as two halves."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.family, self.address = np.zeros(len(names) or 1, np.int64), np.zeros((len(names) or 1, 2), np.uint64)
        for i, name in enumerate(names):
            try:
                found = ip_address(name)
            except ValueError:
                continue
            self.family[i] = found.version
            self.address[i] = int(found) >> 64, int(found) & (1 << 64) - 1


def volumes(flows: Flows) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return packets and octets, scaled up for sampled records."""
    rate = np.maximum(flows.sampling_rate, 1).astype(np.uint64)
    return flows.packets.astype(np.uint64) * rate, flows.octets.astype(np.uint64) * rate


def _bare(kind: int, octets: bytes) -> bytes:
    return np.array([kind, 4 + len(octets)], "<u2").tobytes() + octets


def _records(part: Flows, table: NDArray[np.uint64], routers: _Routers) -> bytes:
    """Build the records of a block."""
    four = _is_four(table)
    family, router = np.where(four[part.src] & four[part.dst], 4, 6), routers.family[part.exporter]
    made = list(_made(part, table, routers, family, router))
    size: Ints = np.zeros(len(part), np.int64)
    for rows, octets in made:
        size[rows] = octets.shape[1]
    begin = np.cumsum(size) - size
    out = np.empty(int(size.sum()), np.uint8)
    for rows, octets in made:
        out[begin[rows][:, None] + np.arange(octets.shape[1])] = octets
    return out.tobytes()


def _made(
    part: Flows, table: NDArray[np.uint64], routers: _Routers, family: Ints, router: Ints
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.uint8]]]:
    """Yield rows of one layout, and their octets."""
    packets, octets = volumes(part)
    for ends, via in np.unique(np.column_stack([family, router]), axis=0).tolist():
        rows = np.flatnonzero((family == ends) & (router == via))
        some, layout = part.take(rows), kind_of(ends, via)
        out = np.zeros(len(rows), layout)
        out["kind"], out["size"], out["elements"], out["version"] = FLOW, layout.itemsize, 2 + (via > 0), IPFIX
        out["flags"] = np.where(some.sampling_rate > 1, SAMPLED, 0)
        out["flow"] = 1, layout.fields["ends"][1] - layout.fields["flow"][1]  # type: ignore[index]
        out["first"], out["last"] = some.start_ns // 1_000_000, some.end_ns // 1_000_000
        out["received"], out["packets"], out["octets"] = out["last"], packets[rows], octets[rows]
        out["src_port"], out["protocol"], out["tcp_flags"] = some.src_port, some.protocol, some.tcp_flags
        out["dst_port"] = np.where((some.dst_qp > 0) & (some.dst_port == 0), ROCE_PORT, some.dst_port)
        width = 4 if ends == 4 else 16
        out["ends"] = _ENDS[ends][0], 4 + 2 * width
        for name in ("src", "dst"):
            halves = table[getattr(some, name)]
            out[name] = halves[:, 1].astype(np.uint32) if ends == 4 else halves
        if told := _ROUTERS[via]:
            address = routers.address[some.exporter]
            out["via"] = told[0], 4 + (4 if via == 4 else 16)
            out["router"] = address[:, 1].astype(np.uint32) if via == 4 else address
        yield rows, out.view(np.uint8).reshape(len(rows), layout.itemsize)


def _is_four(table: NDArray[np.uint64]) -> Mask:
    """Mark the IPv4 addresses."""
    return np.asarray((table[:, 0] == 0) & (table[:, 1] & ~np.uint64(0xFFFFFFFF) == MAPPED), np.bool_)
