"""Read text in blocks of whole lines of bounded size, also with very long lines."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import zstandard

from collectors.files.compression import decompress, explain_error

MAX_LINE = 1 << 20
CUT_OFF = (EOFError, zlib.error, zstandard.ZstdError)
BOM = b"\xef\xbb\xbf"


class Blocks:
    """The lines of a file, decompressed, without UTF-8's byte order mark; iterated over once.

    Yields the number of the first line of a block, from 1, and the block: whole lines, each with a line feed (also the last
    one). `damage`: why compressed data ended early, else empty. `long` counts lines of more than `MAX_LINE` that fit no block,
    which are left out; `first_long` is the first of them. `line` is the line after the last block.
    """

    def __init__(self, chunks: Iterator[bytes], size: int = 1 << 22) -> None:
        self.damage, self.line = "", 1
        self.long = self.first_long = 0
        self._size = size
        self._chunks = self._text(decompress(chunks))

    def _text(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield chunks in which every line ends with a line feed alone."""
        held, begun = b"", False
        try:
            for chunk in chunks:
                chunk = held + chunk
                if not begun and len(chunk) < 3 and BOM.startswith(chunk):
                    held = chunk
                    continue
                chunk, begun = chunk if begun else chunk.removeprefix(BOM), True
                held = b"\r" if chunk.endswith(b"\r") else b""
                chunk = chunk[: len(chunk) - len(held)]
                yield chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in chunk else chunk
        except CUT_OFF as error:
            self.damage = explain_error(error)
        yield held.replace(b"\r", b"\n")

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        line, length, pieces, skipping = 1, 0, list[bytes](), False
        for chunk in self._chunks:
            if skipping:
                _, found, chunk = chunk.partition(b"\n")
                skipping, line = not found, line + len(found)
            pieces.append(chunk)
            length += len(chunk)
            if length < self._size:
                continue
            block = b"".join(pieces)
            end = block.rfind(b"\n") + 1
            if end:
                self.line = line + block.count(b"\n", 0, end)
                yield line, block[:end]
                line = self.line
                block = block[end:]
            elif length > max(MAX_LINE, self._size):
                self.long, self.first_long = self.long + 1, self.first_long or line
                skipping, block = True, b""
            pieces, length = [block], len(block)
        rest = b"".join(pieces)
        if rest:
            self.line = line + rest.count(b"\n") + (not rest.endswith(b"\n"))
            yield line, rest if rest.endswith(b"\n") else rest + b"\n"
