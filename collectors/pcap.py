"""Capture files: pcap and pcapng, plain or compressed, in batches; and written again.

Formats: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. A file is read front to back once, so standard input will do;
memory is bounded by the size of a batch, whatever length a file claims for its records.
"""

from __future__ import annotations

import contextlib
import gzip
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import numpy as np
import zstandard
from numpy.typing import NDArray

from collectors import pcapng, windows
from collectors.batch import Batch
from collectors.compression import GZIP, ZSTD, Stream
from collectors.framing import BLOCKS, DAMAGED, Frames, Records, scan_blocks, scan_records
from collectors.packet import DecodeError
from collectors.pcapng import MAX_SNAPLEN, SECOND
from collectors.record import Ints

# First four octets of a pcap: byte order, ns per unit of the fraction, octets of a record header (24: Kuznetzov's variant).
PCAP = {
    struct.pack(order + "I", magic): (order, unit, header)
    for order in "<>"
    for magic, unit, header in ((0xA1B2C3D4, 1000, 16), (0xA1B23C4D, 1, 16), (0xA1B2CD34, 1000, 24))
}
SNAPLEN = 262_144  # the most that capture tools keep of a packet


class Capture:
    """An open capture, to iterate over once; `packets` counts what was given out. `warnings` fills as damage is met."""

    def __init__(self, name: str, file: BinaryIO, batch_octets: int) -> None:
        self.name = name
        self.warnings: list[str] = []
        self.packets = 0
        self._file, self._kept_open = file, file is sys.stdin.buffer
        self._batch_octets = batch_octets
        self._stream, self._frames, self._used = Stream(windows.opened(file)), Frames(), 0
        self.records: Records | None = None
        self.interfaces: Ints | None = np.zeros((0, 3), np.int64)  # of a pcapng, see `Section.plain`
        self._section = pcapng.Section("<")
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

    def window(self) -> Ints | None:
        """A window on what comes next, in `records`, see `windows.window`; None where there is none, or they are no such."""
        if self.records is None or self.records.big or self.interfaces is None:
            return None
        return windows.window(self._stream, self._used)

    def moved(self, window: Ints, packets: int) -> None:
        """Take note of how far a window was moved on, past so many packets: the next batch begins there."""
        self._used = windows.moved(self._stream, window)
        self.packets += packets
        if packets:
            self._section.last_ns = int(window[windows.LAST])

    def close(self) -> None:
        """Close the file, unless it is standard input."""
        if not self._kept_open:
            self._file.close()

    def _recognized(self) -> Iterator[Batch]:
        stream = self._stream
        magic, order = bytes(stream.buffer[: min(4, stream.end)]), bytes(stream.buffer[8:12])
        if magic in PCAP:
            return self._pcap(*PCAP[magic]) if stream.end >= 24 else self._cut_off()
        if magic == pcapng.MAGIC and (stream.end < 12 or order in pcapng.ORDERS):
            return self._pcapng()
        if stream.end == 0 and stream.damage is None:
            raise DecodeError(f"{self.name}: empty")
        if stream.damage is not None and not isinstance(stream.damage, EOFError):
            raise DecodeError(f"{self.name}: cannot be read: {stream.damage}")
        if len(magic) < 4 and any(known.startswith(magic) for known in (pcapng.MAGIC, GZIP, ZSTD, *PCAP)):
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
        snaplen, link_type = struct.unpack_from(order + "II", stream.buffer, 16)
        limit = max(SNAPLEN, min(snaplen, MAX_SNAPLEN))
        self.records = Records(header, order == ">", unit, limit, link_type & 0x03FFFFFF)  # above: length of the FCS
        self._used = 24
        return self._of_records(self.records, struct.Struct(order + "I").unpack_from)

    def _of_records(self, how: Records, captured_at: Callable[[bytearray, int], tuple[int, ...]]) -> Iterator[Batch]:
        stream = self._stream
        while True:
            columns = self._frames.room((stream.end - self._used) // how.header + 1)
            n, self._used, fault = scan_records(stream.address, self._used, stream.end, how, tuple(columns))
            if n:
                yield Batch(stream.buffer, *(column[:n] for column in columns))
            left, need = stream.end - self._used, how.header
            if left >= how.header:
                need += captured_at(stream.buffer, self._used + 8)[0]
            if fault == DAMAGED:
                self._corrupt(self._used, f"damaged packet record of {need - how.header} octets")
                return
            if self._ended(left, "packet record"):
                return
            stream.advance(self._used, max(need, self._batch_octets))
            self._used = 0

    def _pcapng(self) -> Iterator[Batch]:
        stream, self.records, self.interfaces = self._stream, BLOCKS, None
        while True:
            rows, section = self._frames.room((stream.end - self._used) // 12 + 1)[0], self._section
            n, self._used = scan_blocks(stream.address, self._used, stream.end, section.order == ">", rows)
            if n:
                batch, fault = section.batch(stream.buffer, rows[:n])
                self.interfaces = None if fault else self.interfaces
                if len(batch):
                    yield batch
                if fault:
                    self._corrupt(int(rows[len(batch)]), fault)
                    return
                continue  # meanwhile somebody may have read on
            left, need = stream.end - self._used, 12
            if left >= 12:
                block = bytes(stream.buffer[self._used : self._used + 12])
                if block.startswith(pcapng.MAGIC) and block[8:] in pcapng.ORDERS:
                    self._section = section = pcapng.Section(pcapng.ORDERS[block[8:]])
                    self.interfaces = None
                kind, need = struct.unpack_from(section.order + "II", block)
                if not pcapng.is_sound(kind, need, block[8:]):
                    self._corrupt(self._used, f"damaged block of type {kind:#x} and {need} octets")
                    return
                if need <= left:
                    if kind == pcapng.INTERFACE:
                        section.describe(bytes(stream.buffer[self._used : self._used + need]))
                        self.interfaces = section.plain()
                    self._used += need
                    continue
            if self._ended(left, "block"):
                return
            stream.advance(self._used, max(need, self._batch_octets))
            self._used = 0


def read(path: str | Path, *, batch_octets: int = 1 << 20) -> Capture:
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


class Writer:
    """A pcap of nanoseconds that frames are added to, many at once; compressed if the name ends in .gz or .zst. A context."""

    def __init__(self, path: str | Path, *, link_type: int = 1, snaplen: int = SNAPLEN, level: int = 1) -> None:
        self.count = 0
        self._stack = contextlib.ExitStack()
        self._file = self._stack.enter_context(_created(Path(path), level))
        self._file.write(struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, snaplen, link_type))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def add(self, time_ns: Ints, octets: NDArray[np.uint8], captured: Ints, wire: Ints) -> None:
        """Add frames: the first `captured` of the `octets` [n, most] of each, which had `wire` octets.

        Raises ValueError on a time that 32 bits of seconds cannot hold.
        """
        seconds = time_ns // SECOND
        wrong = (seconds < 0) | (seconds >= 1 << 32)
        if wrong.any():
            raise ValueError(f"time {time_ns[wrong][0]} ns does not fit a pcap")
        rows = np.empty((len(time_ns), 16 + octets.shape[1]), np.uint8)
        head = np.stack([seconds, time_ns % SECOND, captured, wire], axis=1).astype("<u4")
        rows[:, :16], rows[:, 16:] = head.view(np.uint8), octets
        kept = np.arange(rows.shape[1]) < (16 + captured)[:, None]
        self._file.write((rows if kept.all() else rows[kept]).tobytes())
        self.count += len(time_ns)


@contextlib.contextmanager
def _created(path: Path, level: int = 9) -> Iterator[BinaryIO]:
    with path.open("wb") as file:
        if path.suffix == ".gz":
            with gzip.GzipFile("", "wb", level, fileobj=file, mtime=0) as packed:
                yield packed  # type: ignore[misc]
        elif path.suffix == ".zst":
            with zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False) as packed:
                yield packed
        else:
            yield file
