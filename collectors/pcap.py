"""Capture files: pcap and pcapng, plain or compressed, in batches; and written again.

Formats: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. A file is read front to back once, so standard input will do;
memory is bounded by the size of a batch, whatever length a file claims for its records.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import struct
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NamedTuple, Self

import numpy as np
import zstandard
from numpy.typing import NDArray

from collectors.packet import DecodeError
from collectors.record import Ints

# First four octets of a pcap: byte order, ns per unit of the fraction, octets of a record header (24: Kuznetzov's variant).
PCAP = {
    struct.pack(order + "I", magic): (order, unit, header)
    for order in "<>"
    for magic, unit, header in ((0xA1B2C3D4, 1000, 16), (0xA1B23C4D, 1, 16), (0xA1B2CD34, 1000, 24))
}
SECTION, INTERFACE, OBSOLETE, SIMPLE, ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6  # pcapng block types
LEAST = {SECTION: 28, INTERFACE: 20, OBSOLETE: 32, SIMPLE: 16, ENHANCED: 32}  # octets of such a block; of others 12
PCAPNG, GZIP, ZSTD = b"\x0a\x0d\x0d\x0a", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}

SNAPLEN = 262_144  # the most that capture tools keep of a packet
MAX_SNAPLEN, MAX_BLOCK = 1 << 24, 1 << 24
SECOND = 1_000_000_000
CHUNK, PIECE = 1 << 16, 1 << 10
PAD = bytes(128)  # so that fixed-size reads at a frame's headers never leave the buffer


@dataclass(frozen=True, eq=False)
class Batch:
    """Captured frames in the order of the file; arrays of one entry per frame.

    Frame i is `data[offset[i] : offset[i] + captured[i]]`, was seen at `time_ns[i]` (ns since the epoch) and had `wire[i]`
    octets on the wire. `data` may hold other octets between, before and after the frames.
    """

    data: bytes
    link_type: Ints
    time_ns: Ints
    offset: Ints
    captured: Ints
    wire: Ints

    def __len__(self) -> int:
        return len(self.time_ns)

    @classmethod
    def of(cls, packets: Iterable[tuple[int, bytes, int]], *, link_type: int = 1) -> Self:
        """A batch of (time_ns, frame, wire length)."""
        rows = list(packets)
        captured = np.array([len(frame) for _, frame, _ in rows], np.int64)
        time_ns, wire = (np.array([row[i] for row in rows], np.int64) for i in (0, 2))
        data = b"".join(frame for _, frame, _ in rows) + PAD
        return cls(data, np.full(len(rows), link_type, np.int64), time_ns, np.cumsum(captured) - captured, captured, wire)


class Capture:
    """An open capture, to iterate over once; `packets` counts what was given out. `warnings` fills as damage is met."""

    def __init__(self, name: str, file: BinaryIO, batch_octets: int) -> None:
        self.name = name
        self.warnings: list[str] = []
        self.packets = 0
        self._file, self._kept_open = file, file is sys.stdin.buffer
        self._batch_octets = batch_octets
        self._stream = _Stream(_unpacked(_chunks(file, max(1, min(batch_octets, CHUNK)))))
        self._stream.advance(0, max(batch_octets, 24))
        self._batches = self._recognized()

    def __iter__(self) -> Iterator[Batch]:
        with self:
            for batch in self._batches:
                self.packets += len(batch)
                yield batch

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, unless it is standard input."""
        if not self._kept_open:
            self._file.close()

    def _recognized(self) -> Iterator[Batch]:
        stream = self._stream
        magic = stream.buffer[: min(4, stream.end)]
        if magic in PCAP:
            return self._pcap(*PCAP[magic])
        if magic == PCAPNG and (stream.end < 12 or stream.buffer[8:12] in ORDERS):
            return self._pcapng()
        if stream.end == 0 and stream.damage is None:
            raise DecodeError(f"{self.name}: empty")
        if stream.damage is not None and not isinstance(stream.damage, EOFError):
            raise DecodeError(f"{self.name}: cannot be read: {stream.damage}")
        if len(magic) < 4 and any(known.startswith(magic) for known in (PCAPNG, GZIP, ZSTD, *PCAP)):
            return self._cut_off()
        raise DecodeError(f"{self.name}: not a capture: starts with {magic.hex(' ')}")

    def _cut_off(self, at: int = 0, what: str = "file header") -> Iterator[Batch]:
        """Warn that the stream ends inside the thing that starts `at` in the buffer."""
        stream = self._stream
        why = f"cut off ({stream.damage})" if stream.damage else "cut off"
        self.warnings.append(f"{self.name}: {why} in the {what} at offset {stream.start + at}")
        return iter(())

    def _corrupt(self, at: int, what: str) -> None:
        self.warnings.append(f"{self.name}: {what} at offset {self._stream.start + at}: read no further")

    def _ended(self, left: int, what: str) -> bool:
        """Whether the stream has ended; warns if it did so with `left` octets of an incomplete `what`, or damaged."""
        stream = self._stream
        if stream.ended and left:
            self._cut_off(stream.end - left, what)
        elif stream.ended and stream.damage:
            self.warnings.append(f"{self.name}: damaged ({stream.damage}) at offset {stream.start + stream.end}")
        return stream.ended

    def _pcap(self, order: str, unit: int, header: int) -> Iterator[Batch]:
        stream = self._stream
        if stream.end < 24:
            self._cut_off()
            return
        snaplen, link_type = struct.unpack_from(order + "II", stream.buffer, 16)
        limit, link_type = max(SNAPLEN, min(snaplen, MAX_SNAPLEN)), link_type & 0x03FFFFFF  # above: length of the FCS
        captured_at = struct.Struct(order + "I").unpack_from
        used = 24
        while True:
            offset, used = _scan_records(stream.buffer, used, stream.end, header, captured_at)
            seconds, fraction, captured, wire = _words(stream.buffer, offset, order, 4)
            wrong = (captured > limit) | (fraction > SECOND // unit)  # some tools round up to a whole second
            good = int(np.argmax(wrong)) if wrong.any() else len(offset)
            if good:
                time_ns, kind = seconds * SECOND + fraction * unit, np.full(good, link_type, np.int64)
                yield Batch(stream.buffer, kind, time_ns[:good], offset[:good] + header, captured[:good], wire[:good])
            left, need = stream.end - used, header
            if good < len(offset):
                self._corrupt(int(offset[good]), f"damaged packet record of {captured[good]} octets")
                return
            if left >= header:
                need += captured_at(stream.buffer, used + 8)[0]
                if need > limit + header:
                    self._corrupt(used, f"damaged packet record of {need - header} octets")
                    return
            if self._ended(left, "packet record"):
                return
            stream.advance(used, max(need, self._batch_octets))
            used = 0

    def _pcapng(self) -> Iterator[Batch]:
        stream, section, used = self._stream, _Section("<"), 0
        while True:
            rows, used = _scan_blocks(stream.buffer, used, stream.end, section)
            if rows:
                batch, fault = section.batch(stream.buffer, rows)
                if len(batch):
                    yield batch
                if fault:
                    self._corrupt(rows[len(batch)], fault)
                    return
            left, need = stream.end - used, 12
            if left >= 12:
                block = stream.buffer[used : used + 12]
                if block.startswith(PCAPNG) and block[8:] in ORDERS:
                    section = _Section(ORDERS[block[8:]])
                kind, need = struct.unpack_from(section.order + "II", block)
                if not LEAST.get(kind, 12) <= need <= MAX_BLOCK or need % 4 or (kind == SECTION and block[8:] not in ORDERS):
                    self._corrupt(used, f"damaged block of type {kind:#x} and {need} octets")
                    return
                if need <= left:
                    if kind == INTERFACE:
                        section.describe(stream.buffer[used : used + need])
                    used += need
                    continue
            if self._ended(left, "block"):
                return
            stream.advance(used, max(need, self._batch_octets))
            used = 0


def read(path: str | Path, *, batch_octets: int = 1 << 22) -> Capture:
    """Open a capture, `-` for standard input; pcap or pcapng, plain, gzip or zstd, told by its first octets.

    A batch spans about `batch_octets` of the uncompressed file. A capture that is cut off or damaged gives the packets
    before that point and a warning with the offset in the uncompressed file. Raises DecodeError where there is no capture.
    """
    name = "standard input" if str(path) == "-" else str(path)
    try:
        file: BinaryIO = sys.stdin.buffer if str(path) == "-" else open(path, "rb")  # noqa: SIM115 - Capture closes it
    except OSError as error:
        raise DecodeError(f"{name}: {(error.strerror or str(error)).lower()}") from error
    except ValueError as error:  # a NUL in the name
        raise DecodeError(f"{name!r}: {error}") from error
    try:
        return Capture(name, file, batch_octets)
    except DecodeError:
        if file is not sys.stdin.buffer:
            file.close()
        raise


def write(
    path: str | Path,
    packets: Iterable[tuple[int, bytes, int]],
    *,
    nanosecond: bool = True,
    link_type: int = 1,
    snaplen: int = SNAPLEN,
) -> int:
    """Write (time_ns, frame, wire length) as a pcap, compressed if the name ends in .gz or .zst; how many there were.

    Frames are cut to `snaplen` octets. Raises ValueError on a time that 32 bits of seconds cannot hold.
    """
    unit, magic = (1, 0xA1B23C4D) if nanosecond else (1000, 0xA1B2C3D4)
    record, count = struct.Struct("<IIII"), 0
    with _created(Path(path)) as file:
        file.write(struct.pack("<IHHIIII", magic, 2, 4, 0, 0, snaplen, link_type))
        for time_ns, frame, wire in packets:
            seconds, rest = divmod(time_ns, SECOND)
            if not 0 <= seconds < 1 << 32:
                raise ValueError(f"time {time_ns} ns does not fit a pcap")
            kept = frame[:snaplen]
            file.write(record.pack(seconds, rest // unit, len(kept), wire) + kept)
            count += 1
    return count


@contextlib.contextmanager
def _created(path: Path) -> Iterator[BinaryIO]:
    with path.open("wb") as file:
        if path.suffix == ".gz":
            with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                yield packed  # type: ignore[misc]
        elif path.suffix == ".zst":
            with zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False) as packed:
                yield packed
        else:
            yield file


class _Stream:
    """A window on the uncompressed octets of a file: it grows at its end and forgets at its front.

    The first `end` octets of `buffer` are the file's from `start` on; then come `PAD`. `damage` is what ended it early.
    """

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.buffer, self.start, self.end = PAD, 0, 0
        self.ended = False
        self.damage: Exception | None = None
        self._chunks = chunks

    def advance(self, used: int, need: int) -> None:
        """Forget the first `used` octets, then read until there are `need` or the file ends."""
        pieces = [self.buffer[used : self.end]]
        self.start, self.end = self.start + used, self.end - used
        while self.end < need and not self.ended:
            try:
                piece = next(self._chunks)
            except StopIteration:
                self.ended = True
            except (EOFError, OSError, zlib.error, zstandard.ZstdError) as error:
                self.ended, self.damage = True, error
            else:
                pieces.append(piece)
                self.end += len(piece)
        self.buffer = b"".join((*pieces, PAD))


def _chunks(file: BinaryIO, size: int) -> Iterator[bytes]:
    while chunk := file.read(size):
        yield chunk


def _unpacked(chunks: Iterator[bytes], depth: int = 3) -> Iterator[bytes]:
    """The octets inside up to `depth` layers of compression, told by their first octets."""
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= 4:
            break
    rest = itertools.chain([head], chunks) if head else chunks
    if depth and head.startswith(GZIP):
        yield from _unpacked(_gunzip(rest), depth - 1)
    elif depth and (head.startswith(ZSTD) or (head[1:4] == b"\x2a\x4d\x18" and head[0] >> 4 == 5)):  # or a skippable frame
        yield from _unpacked(_unzstd(rest), depth - 1)
    else:
        yield from rest


def _gunzip(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """RFC 1952, any number of members. Raises zlib.error where it is corrupt, EOFError where it ends early."""
    member = zlib.decompressobj(31)
    for chunk in chunks:
        rest, octets = chunk, b""
        while rest or len(octets) == CHUNK:
            if member.eof:
                rest, octets = rest.lstrip(b"\0"), b""  # zeros: padding of tapes
                member = zlib.decompressobj(31) if rest else member
                continue
            before = member.copy()
            try:
                octets = member.decompress(rest, CHUNK)
            except zlib.error:
                yield from _inflate_to_fault(before, rest)
            yield octets
            rest = member.unused_data if member.eof else member.unconsumed_tail
    if not member.eof:
        raise EOFError("the gzip stream ends early")


def _inflate_to_fault(member: zlib._Decompress, chunk: bytes) -> Iterator[bytes]:
    """What comes before the fault in a chunk, then zlib.error: zlib itself throws away what it had when it meets one."""
    while len(chunk) > 1:
        half, before = len(chunk) // 2, member.copy()
        try:
            octets = member.decompress(chunk[:half])
        except zlib.error:
            member, chunk = before, chunk[:half]
        else:
            yield octets
            chunk = chunk[half:]
    while octets := member.decompress(chunk, 1):
        yield octets
        chunk = member.unconsumed_tail
    raise zlib.error("corrupt gzip stream")


def _unzstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """RFC 8878, any number of frames. Raises ZstdError where it is corrupt, EOFError where it ends early."""
    decompressor, frame = zstandard.ZstdDecompressor(), None
    for chunk in chunks:
        for at in range(0, len(chunk), PIECE):  # in pieces, since a piece may unpack to 30,000 times its size
            rest = chunk[at : at + PIECE]
            while rest:
                if frame is None or frame.eof:
                    frame = decompressor.decompressobj()
                yield frame.decompress(rest)
                rest = frame.unused_data if frame.eof else b""
    if frame is not None and not frame.eof:
        raise EOFError("the zstd stream ends early")


def _words(buffer: bytes, offset: Ints, order: str, count: int) -> Ints:
    """So many 32-bit numbers from each offset on: [count, n]."""
    size = 4 * count
    at_every_octet = np.ndarray((len(buffer) - size + 1,), f"V{size}", buffer, 0, (1,))
    return at_every_octet[offset].view(order + "u4").reshape(-1, count).T.astype(np.int64)


def _scan_records(buffer: bytes, at: int, end: int, header: int, captured_at: Callable[..., tuple[int]]) -> tuple[Ints, int]:
    """Where the complete pcap records start, and where the first one starts that is not complete."""
    rows: list[int] = []
    append, last = rows.append, end - header
    while at <= last:
        append(at)
        at += header + captured_at(buffer, at + 8)[0]
    if at > end:
        at = rows.pop()
    return np.array(rows, np.int64), at


def _scan_blocks(buffer: bytes, at: int, end: int, section: _Section) -> tuple[list[int], int]:
    """Where pcapng blocks with packets start, up to the first block that is incomplete, wrong or describes others."""
    rows: list[int] = []
    append, unpack, last = rows.append, struct.Struct(section.order + "II").unpack_from, end - 12
    while at <= last:
        kind, length = unpack(buffer, at)
        if kind == ENHANCED and 32 <= length <= MAX_BLOCK and not length & 3:  # first what is frequent
            append(at)
            at += length
            continue
        if length < 12 or length > MAX_BLOCK or length & 3 or at + length > end:
            break
        if kind in (SECTION, INTERFACE) or length < LEAST.get(kind, 12):
            break
        if kind in (SIMPLE, OBSOLETE):
            append(at)
        at += length
    if at > end:
        at = rows.pop()
    return rows, at


class _Interface(NamedTuple):
    """An interface description: link type, most octets kept (0: all), unit of time and offset in seconds."""

    link_type: int
    snaplen: int
    resolution: int = 6
    offset: int = 0


@dataclass
class _Section:
    """A pcapng section: its byte order, its interfaces, and the time of the last packet, which simple packets inherit."""

    order: str
    interfaces: list[_Interface] = field(default_factory=list)
    last_ns: int = 0

    def describe(self, block: bytes) -> None:
        """Add the interface of an interface description block."""
        link_type, _, snaplen = struct.unpack_from(self.order + "HHI", block, 8)
        interface, at = _Interface(link_type, snaplen), 16
        while at + 8 <= len(block):
            code, length = struct.unpack_from(self.order + "HH", block, at)
            value = block[at + 4 : at + 4 + length]
            if code == 9 and length == 1:
                interface = interface._replace(resolution=value[0])
            elif code == 14 and len(value) == 8:
                interface = interface._replace(offset=struct.unpack(self.order + "q", value)[0])
            at += 4 + (length + 3 & ~3)
        self.interfaces.append(interface)

    def batch(self, buffer: bytes, rows: list[int]) -> tuple[Batch, str]:
        """The packets of the blocks at `rows`; up to the first faulty one, and what is wrong with it ("" if nothing is)."""
        offset = np.array(rows, np.int64)
        kind, length, interface, high, low, captured, wire = _words(buffer, offset, self.order, 7)
        simple = kind == SIMPLE
        interface[kind == OBSOLETE] >>= 16 if self.order == ">" else 0  # half of it counts drops
        interface[kind == OBSOLETE] &= 0xFFFF
        wire[simple], interface[simple] = interface[simple], 0
        if simple.any() and self.interfaces:
            captured[simple] = np.minimum(np.minimum(wire, length - 16), self.interfaces[0].snaplen or MAX_SNAPLEN)[simple]
        faults = {
            "damaged block (with two lengths)": _words(buffer, offset + length - 4, self.order, 1)[0] != length,
            "packet of an undescribed interface": interface >= len(self.interfaces),
            "packet longer than its block": captured > length - np.where(simple, 16, 32),
        }
        wrong = np.logical_or.reduce(list(faults.values()))
        good = int(np.argmax(wrong)) if wrong.any() else len(rows)
        fault = next((what for what, rows in faults.items() if good < len(offset) and rows[good]), "")
        ticks = high.astype(np.uint64) << np.uint64(32) | low.astype(np.uint64)
        time_ns, link_type = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        for number in np.unique(interface[:good]):
            mine, described = interface == number, self.interfaces[number]
            link_type[mine] = described.link_type
            time_ns[mine] = _nanoseconds(ticks[mine], described)
        self._inherit(time_ns[:good], simple[:good])
        data_at = offset + np.where(simple, 12, 28)
        return Batch(buffer, link_type[:good], time_ns[:good], data_at[:good], captured[:good], wire[:good]), fault

    def _inherit(self, time_ns: Ints, simple: NDArray[np.bool_]) -> None:
        """Give simple packets, which have no time, that of the packet before."""
        if simple.any():
            before = np.maximum.accumulate(np.where(simple, -1, np.arange(len(simple))))
            time_ns[simple] = np.where(before < 0, self.last_ns, time_ns[before])[simple]
        if len(time_ns):
            self.last_ns = int(time_ns[-1])


def _nanoseconds(ticks: NDArray[np.uint64], interface: _Interface) -> Ints:
    """Ticks as ns since the epoch; draft-ietf-opsawg-pcapng, options if_tsresol and if_tsoffset."""
    power = np.uint64(interface.resolution & 0x7F)
    if interface.resolution & 0x80:  # parts of 2 ** power; 34 bits of them times 10 ** 9 just fit
        seconds = ticks >> power
        excess = max(int(power) - 34, 0)
        fraction = ticks - (seconds << power) >> np.uint64(excess)
        since = seconds * np.uint64(SECOND) + (fraction * np.uint64(SECOND) >> power - np.uint64(excess))
    elif power <= 9:
        since = ticks * np.uint64(10) ** (np.uint64(9) - power)
    else:
        since = ticks // np.uint64(10 ** (int(power) - 9)) if power <= 28 else ticks * np.uint64(0)
    return (since + np.uint64(interface.offset * SECOND & 0xFFFFFFFFFFFFFFFF)).view(np.int64)
