"""Read captures (pcap and pcapng, plain, gzip or zstd) in batches, and write them.

Formats: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. A file is read once from front to back, so standard input works.
Memory is bounded by the size of a batch, whatever record lengths a file claims.
"""

from __future__ import annotations

import contextlib
import gzip
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import numpy as np
import zstandard
from numpy.typing import NDArray

from collectors.captures import file_windows, pcapng
from collectors.captures._recovery import block_after, grow, record_at
from collectors.captures.damage import BLOCK, FRACTION, JUMP, RECORD, Damage
from collectors.captures.pcapng import MAX_SNAPLEN, SECOND
from collectors.captures.record_framing import BLOCKS, DAMAGED, UNKNOWN_NS, Frames, Records, scan_blocks, scan_records
from collectors.captures.resynchronisation import END, SKIP, settle_times
from collectors.columns.record import Ints
from collectors.files.compression import GZIP, ZSTD, Stream, Unpacked, explain_error
from collectors.packets.frame_batch import Batch
from collectors.packets.plain_decoder import DecodeError

# First four octets of a pcap: byte order, ns per unit of the fraction, octets of a record header (24: Kuznetzov's variant).
PCAP = {
    struct.pack(order + "I", magic): (order, unit, header)
    for order in "<>"
    for magic, unit, header in ((0xA1B2C3D4, 1000, 16), (0xA1B23C4D, 1, 16), (0xA1B2CD34, 1000, 24))
}
SNAPLEN = 262_144  # maximum octets that capture tools keep of a packet
READABLE = "Prism reads pcap, pcapng, IPFIX, CSV, JSON Lines and Parquet files"


class Capture:
    """An open capture, to iterate over once. `packets` and `skipped` count packets; `warnings` has a line per damage."""

    def __init__(self, name: str, file: BinaryIO, batch_octets: int) -> None:
        self.name = name
        self.damage, self.packets = Damage(name), 0
        self.warnings, self.skipped = self.damage.lines, self.damage.skipped
        self._last_ns = UNKNOWN_NS
        self._file, self._kept_open = file, file is sys.stdin.buffer
        self._batch_octets = batch_octets
        self._stream, self._frames, self._used = Stream(file_windows.opened(file)), Frames(), 0
        self.records: Records | None = None
        self.interfaces: Ints | None = np.zeros((0, 3), np.int64)  # of a pcapng, see `Section.plain`
        self._section, self._described = pcapng.Section("<"), 0
        self.damage.packed = isinstance(self._stream.source, Unpacked)
        self._stream.advance(0, max(batch_octets, 24))
        self._batches = self._recognized()

    def __iter__(self) -> Iterator[Batch]:
        with self:
            for batch in self._batches:
                self.packets += len(batch)
                yield batch
            self.damage.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def window(self) -> Ints | None:
        """Return a window on the unread part, in `records`, see `file_windows.window`; None if there is none."""
        if self.records is None or self.records.big or self.interfaces is None:
            return None
        return file_windows.window(self._stream, self._used, self._last_ns)

    def moved(self, window: Ints, packets: int) -> None:
        """Advance to the position of a window, past `packets` packets: the next batch starts there."""
        self._used = file_windows.moved(self._stream, window)
        self.packets += packets
        if packets:
            self._last_ns = self._section.last_ns = int(window[file_windows.LAST])

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
            raise DecodeError(f"{self.name}: the file is empty")
        if stream.damage is not None and not isinstance(stream.damage, EOFError):
            place, why = self.damage.place(stream.end), explain_error(stream.damage)
            raise DecodeError(f"{place}: cannot be read: {why}; copy or compress the file again")
        if len(magic) < 4 and any(known.startswith(magic) for known in (pcapng.MAGIC, GZIP, ZSTD, *PCAP)):
            return self._cut_off()
        raise DecodeError(
            f"{self.name}: neither a capture nor a file of flow records (starts with {magic.hex(' ')}); {READABLE}"
        )

    def _cut_off(self, at: int = 0, what: str = "file header") -> Iterator[Batch]:
        """Warn that the file ends inside the `what` that starts `at` in the buffer."""
        self.damage.end(self._stream.start + at, what, self._stream.damage)
        return iter(())

    def _ended(self, left: int, what: str) -> bool:
        """Check whether the stream has ended. Warn if it ended with `left` octets of an incomplete `what`, or damaged."""
        stream = self._stream
        if stream.ended and left:
            self._cut_off(stream.end - left, what)
        elif stream.ended and stream.damage:
            self.damage.stop(stream.start + stream.end, stream.damage)
        return stream.ended

    def _pcap(self, order: str, unit: int, header: int) -> Iterator[Batch]:
        stream = self._stream
        snaplen, link_type = struct.unpack_from(order + "II", stream.buffer, 16)
        limit = max(SNAPLEN, min(snaplen, MAX_SNAPLEN))
        self.records = Records(header, order == ">", unit, limit, link_type & 0x03FFFFFF)  # upper bits: length of the FCS
        self._used = 24
        return self._of_records(self.records)

    def _of_records(self, how: Records) -> Iterator[Batch]:
        stream = self._stream
        while True:
            columns, last = self._frames.room((stream.end - self._used) // how.header + 1), self._last_ns
            found = scan_records(stream.address, self._used, stream.end, how, last, stream.ended, tuple(columns))
            n, self._used, fault, fractions = found
            if n:
                self._last_ns = int(columns[1][n - 1])
                self.damage.count_corrected_times(FRACTION, fractions)
                yield Batch(stream.buffer, *(column[:n] for column in columns))
                continue  # a window may have been read meanwhile
            left = stream.end - self._used
            if fault == DAMAGED or (stream.ended and left):
                batch = self._closer(how)
                if batch is None:
                    return
                if len(batch):
                    yield batch
                continue
            if self._ended(left, "packet record"):
                return
            self._more()

    def _closer(self, how: Records) -> Batch | None:
        """Judge the next record; return it if it is valid, with the position behind it; None if nothing more can be read."""
        stream, began = self._stream, self._stream.start + self._used
        head = bytes(stream.buffer[self._used : self._used + how.header])
        verdict, at, self._used, time_ns = record_at(stream, self._used, self._batch_octets, how, self._last_ns)
        if verdict == END and self._used == at:
            self._ended(stream.end - at, "packet record")
            return None
        seconds, fraction, captured, wire = struct.unpack_from(">4I" if how.big else "<4I", head)
        if verdict == END:
            self.damage.lose(began, RECORD, f"of {captured:,} octets", stream.damage)
            return None
        if verdict == SKIP:
            self.damage.skip(began, stream.start + self._used, RECORD)
            return Batch.of(())
        kept = self._used - at - how.header
        if kept != captured:
            self.damage.cut(began, captured, kept)
        raw_ns = seconds * SECOND + fraction * how.unit
        self.damage.count_corrected_times(FRACTION if fraction * how.unit > SECOND else JUMP, time_ns != raw_ns)
        self._last_ns = time_ns
        row = (how.link_type, time_ns, at + how.header, kept, wire)
        return Batch(stream.buffer, *(np.array([value], np.int64) for value in row))

    def _more(self) -> None:
        """Read more octets after the unused ones."""
        grow(self._stream, self._used, self._batch_octets)
        self._used = 0

    def _pcapng(self) -> Iterator[Batch]:
        stream, self.records, self.interfaces = self._stream, BLOCKS, None
        while True:
            rows, section = self._frames.room((stream.end - self._used) // 12 + 1)[0], self._section
            n, used = scan_blocks(stream.address, self._used, stream.end, section.order == ">", rows)
            left = stream.end - used
            block = bytes(stream.buffer[used : used + 12]) if left >= 12 else b""
            kind, need = struct.unpack_from(section.order + "II", block) if block else (0, 12)
            if n:
                whole = stream.ended or (left >= 12 and (need <= left or kind in (pcapng.SECTION, pcapng.INTERFACE)))
                batch, settled = self._settled(rows[:n], whole or not pcapng.is_sound(kind, need, block[8:]))
                self._used = used if settled == n else int(rows[settled])
                if len(batch):
                    yield batch
                if settled:
                    continue  # a window may have been read meanwhile
                self._more()
                continue
            self._used = used
            if block.startswith(pcapng.MAGIC) and block[8:] in pcapng.ORDERS:
                self._section = section = pcapng.Section(pcapng.ORDERS[block[8:]])
                self.interfaces = None
                kind, need = struct.unpack_from(section.order + "II", block)
            damaged = not pcapng.is_sound(kind, need, block[8:])
            damaged = damaged or (need <= left and not section.ends(stream.buffer, self._used, need))
            if block and (damaged or (stream.ended and need > left)):
                if not self._resync(f"of type {kind:#x} and {need:,} octets" if damaged else ""):
                    return
            elif block and need <= left:
                self._describe(kind)
                if kind == pcapng.INTERFACE:
                    section.describe(bytes(stream.buffer[self._used : self._used + need]))
                    self.interfaces = section.plain()
                self._used += need
            elif self._ended(left, "block"):
                return
            else:
                self._more()

    def _settled(self, rows: Ints, whole: bool) -> tuple[Batch, int]:
        """Make a batch of the packets of blocks with corrected times, up to the first undecided one, and count these blocks."""
        section, before = self._section, self._section.last_ns
        batch, kept, faults = section.batch(self._stream.buffer, rows)
        decided, jumps = settle_times(batch.time_ns, self._last_ns, whole)
        many = len(rows) if decided == len(batch) else int(np.flatnonzero(kept)[decided])
        for what, wrong in faults.items():
            for at in rows[:many][wrong[:many]].tolist():
                length = struct.unpack_from(section.order + "I", self._stream.buffer, at + 4)[0]
                self.damage.skip(self._stream.start + at, self._stream.start + at + length, what)
        self.damage.count_corrected_times(JUMP, jumps)
        if decided:
            self._last_ns = int(batch.time_ns[decided - 1])
        section.last_ns = self._last_ns if decided else before
        return batch.part(0, decided), many

    def _resync(self, damage: str) -> bool:
        """Continue at the next sound block; return whether there is one. Empty `damage`: the file is cut off."""
        began = self._stream.start + self._used
        found, self._used = block_after(self._stream, self._used, self._batch_octets, big=self._section.order == ">")
        if found:
            self.damage.skip(began, self._stream.start + self._used, BLOCK)
        elif damage:
            self.damage.lose(began, BLOCK, damage, self._stream.damage)
        else:
            self._cut_off(began - self._stream.start, "block")
        return found

    def _describe(self, kind: int) -> None:
        """Count sections and interfaces. Raises DecodeError for an implausible number."""
        self._described += kind in (pcapng.SECTION, pcapng.INTERFACE)
        if self._described > pcapng.MOST_DESCRIBED:
            place, most = self.damage.place(self._stream.start + self._used), f"{pcapng.MOST_DESCRIBED:,}"
            raise DecodeError(f"{place}: more than {most} sections and interfaces, the limit of a capture")


def read(path: str | Path, *, batch_octets: int = 1 << 20) -> Capture:
    """Open a capture, `-` for standard input. The first octets decide: pcap or pcapng; plain, gzip or zstd.

    A batch spans about `batch_octets` of the uncompressed file. A truncated capture yields the packets before that point, and
    damaged records are skipped, both with a warning. Raises DecodeError for a file that is no capture.
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
    """Write (time_ns, frame, wire length) as a pcap, compressed if the name ends in .gz or .zst; return the number of packets.

    Frames are cut to `snaplen` octets. Raises ValueError for a time that 32 bits of seconds cannot hold.
    """
    unit, magic = (1, 0xA1B23C4D) if nanosecond else (1000, 0xA1B2C3D4)
    record, count = struct.Struct("<IIII"), 0
    with _created(Path(path)) as file:
        file.write(struct.pack("<IHHIIII", magic, 2, 4, 0, 0, snaplen, link_type))
        for time_ns, frame, wire in packets:
            seconds, rest = divmod(time_ns, SECOND)
            if not 0 <= seconds < 1 << 32:
                raise ValueError(f"packet time {time_ns} ns: a pcap holds times from 1970 to 2106 only")
            kept = frame[:snaplen]
            file.write(record.pack(seconds, rest // unit, len(kept), wire) + kept)
            count += 1
    return count


class Writer:
    """A writer of nanosecond pcap in batches; compressed if the name ends in .gz or .zst. A context."""

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
        """Add frames: the first `captured` of the `octets` [n, most] of each, with `wire` octets on the wire.

        Raises ValueError for a time that 32 bits of seconds cannot hold.
        """
        seconds = time_ns // SECOND
        wrong = (seconds < 0) | (seconds >= 1 << 32)
        if wrong.any():
            raise ValueError(f"packet time {time_ns[wrong][0]} ns: a pcap holds times from 1970 to 2106 only")
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
