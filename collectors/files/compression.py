"""Decompress streams of gzip and zstd, recognised by their first octets; also nested."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, Protocol

import numpy as np
import zstandard

PAD = bytes(128)  # after the octets of a file, so that fixed-size reads at its last headers stay in the buffer
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
CHUNK, PIECE = 1 << 16, 1 << 10


class Octets(Protocol):
    """A source of octets: a file, or `Unpacked`."""

    def readinto1(self, room: memoryview, /) -> int:
        """Read into the buffer; return the number of octets, 0 at the end."""


class Unpacked:
    """Chunks of octets with the interface of a file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, memoryview(b"")

    def readinto1(self, room: memoryview, /) -> int:
        """Read into the buffer; return the number of octets, 0 at the end."""
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        n = min(len(room), len(self._rest))
        room[:n], self._rest = self._rest[:n], self._rest[n:]
        return n


class Stream:
    """A window on the uncompressed octets of a file: it grows at its end and drops octets at its front, in the same buffer.

    The first `end` octets of `buffer` are the file's from `start` on; at least `PAD` more follow. `damage`: what ended it
    early.
    """

    def __init__(self, source: Octets) -> None:
        self.buffer, self.start, self.end = bytearray(len(PAD)), 0, 0
        self.ended = False
        self.damage: Exception | None = None
        self.source = source

    @property
    def address(self) -> int:
        """Return the memory address of the buffer; valid until `advance`."""
        return int(np.frombuffer(self.buffer, np.uint8).ctypes.data)

    def advance(self, used: int, need: int) -> None:
        """Drop the first `used` octets, then read until there are `need` or the file ends."""
        rest, room = bytes(self.buffer[used : self.end]), need + len(PAD)
        if room > len(self.buffer):
            self.buffer = bytearray(room)
        self.buffer[: len(rest)] = rest
        self.start, self.end = self.start + used, len(rest)
        with memoryview(self.buffer) as window:
            while self.end < need and not self.ended:
                try:
                    got = self.source.readinto1(window[self.end : -len(PAD)])
                except (EOFError, OSError, zlib.error, zstandard.ZstdError) as error:
                    got, self.damage = 0, error
                self.end += got
                self.ended = not got


def open_octets(file: BinaryIO) -> Octets:
    """Open the octets of a file; compression is detected by its first octets."""
    head = file.read(CHUNK)
    chunks = itertools.chain([head], iter(lambda: file.read(CHUNK), b""))
    if is_compressed(head):
        return Unpacked(decompress(chunks))
    return _Rewound(head, file)


class _Rewound:
    """A file whose head has been read already."""

    def __init__(self, head: bytes, file: Any) -> None:
        self._head, self._file = Unpacked(iter([head])), file

    def readinto1(self, room: memoryview, /) -> int:
        """Read into the buffer; return the number of octets, 0 at the end."""
        got = self._head.readinto1(room)
        return got or int(self._file.readinto1(room))


def explain_error(error: Exception) -> str:
    """Explain an error of a compression library."""
    kind = {zlib.error: "gzip", zstandard.ZstdError: "zstd"}.get(type(error))
    text = str(error).removeprefix("Error -3 while decompressing data: ").removeprefix("zstd decompressor error: ")
    return f"invalid {kind} data ({text})" if kind else text.lower()


def is_compressed(head: bytes) -> bool:
    """Check whether first octets are those of gzip or zstd."""
    return head.startswith((GZIP, ZSTD)) or _is_skippable(head)


def _is_skippable(head: bytes) -> bool:
    return head[1:4] == b"\x2a\x4d\x18" and head[0] >> 4 == 5  # RFC 8878 section 3.1.2


def decompress(chunks: Iterator[bytes], depth: int = 3) -> Iterator[bytes]:
    """Decompress up to `depth` layers, detected by their first octets."""
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= 4:
            break
    rest = itertools.chain([head], chunks) if head else chunks
    if depth and head.startswith(GZIP):
        yield from decompress(_gunzip(rest), depth - 1)
    elif depth and (head.startswith(ZSTD) or _is_skippable(head)):
        yield from decompress(_unzstd(rest), depth - 1)
    else:
        yield from rest


def _gunzip(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress RFC 1952, any number of members. Raises zlib.error for corrupt data, EOFError for an early end."""
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
    """Yield the data before the fault in a chunk, then raise zlib.error: zlib itself would drop that data."""
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
    raise zlib.error("corrupt stream")


def _unzstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress RFC 8878, any number of frames. Raises ZstdError for corrupt data, EOFError for an early end."""
    decompressor, frame = zstandard.ZstdDecompressor(), None
    for chunk in chunks:
        for at in range(0, len(chunk), PIECE):  # in pieces, since a piece may expand 30,000 times
            rest = chunk[at : at + PIECE]
            while rest:
                if frame is None or frame.eof:
                    frame = decompressor.decompressobj()
                yield frame.decompress(rest)
                rest = frame.unused_data if frame.eof else b""
    if frame is not None and not frame.eof:
        raise EOFError("the zstd stream ends early")
