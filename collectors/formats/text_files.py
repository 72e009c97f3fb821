"""Read flow records from text files: CSV and JSON Lines of Prism, nfdump and Zeek; plain, .gz or .zst.

A file is read once from front to back, in blocks, so memory beyond the records is bounded. The first lines decide the format.
"""

from __future__ import annotations

import itertools
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
import pyarrow as pa
import zstandard

from collectors.columns.record import Flows
from collectors.files.compression import GZIP, PIECE, ZSTD
from collectors.files.text_blocks import CUT_OFF, Blocks
from collectors.formats import nfdump, zeek
from collectors.formats.column_mapping import OURS, TIMES, Columns
from collectors.formats.delimited import Delimited, Part, header
from collectors.formats.foreign_records import MISSING, TEXT, Gathered, Gatherer, describe_missing
from collectors.formats.json_objects import Objects, first_object
from collectors.packets.plain_decoder import DecodeError

BLOCK = 1 << 22
DELIMITERS = ",;\t|"
LONG = "line longer than 1 MiB"
ZEEK = tuple(f"#{word}".encode() for word in ("separator", "set_separator", "empty_field", "unset_field", "path", "fields"))


def is_dump(head: bytes) -> bool:
    """Check whether the first octets of a file are text, hence a dump and not a capture.

    64 octets decide. Of a compressed file this needs its first block, up to 128 kB (RFC 8878 section 3.1.1.2).
    """
    text = unpacked_head(head).removeprefix(b"\xef\xbb\xbf")
    line = text[:64].decode("utf-8", "ignore")
    return bool(line) and b"\0" not in text[:64] and all(c.isprintable() or c in "\r\n\t" for c in line)


def unpacked_head(head: bytes) -> bytes:
    """Decompress the first octets of a file, if it is compressed; empty if that fails."""
    try:
        if head.startswith(GZIP):
            return zlib.decompressobj(31).decompress(head, 256)
        if head.startswith(ZSTD):
            return _unpacked_zstd(head, 256)
    except CUT_OFF:
        return b""
    return head


def _unpacked_zstd(head: bytes, most: int) -> bytes:
    """Decompress only the first octets of a frame, because octets may expand 30,000 times."""
    frame, found = zstandard.ZstdDecompressor().decompressobj(), b""
    for at in range(0, len(head), PIECE):
        if len(found) >= most or frame.eof:
            break
        found += frame.decompress(head[at : at + PIECE])
    return found[:most]


def read(
    path: str | Path, columns: Columns | None = None, *, exporter: str = "", block_octets: int = BLOCK
) -> tuple[Flows, Counter[str]]:
    """Read the records of a dump by start, and the counts of skipped rows by reason; see `Dump`. Raises DecodeError."""
    dump = Dump(path, columns, exporter=exporter, block_octets=block_octets)
    return dump.flows(), dump.skipped


class _Rows(Protocol):
    def parts(self, line: int, block: bytes) -> Iterable[Part]:
        """Parse the rows of a block of whole lines."""


class Dump(Gathered):
    """A text with a record per row, `-` is standard input; to iterate over once. `skipped` counts bad rows by reason.

    `columns` maps the columns of the file to those of Prism, if their names differ. `exporter` is the switch of records without
    one. Raises DecodeError with file and line if a required column is missing, or at the end if more than half of the rows were
    bad.
    """

    def __init__(
        self, path: str | Path, columns: Columns | None = None, *, exporter: str = "", block_octets: int = BLOCK
    ) -> None:
        name = "standard input" if str(path) == "-" else str(path)
        super().__init__(name, Gatherer(name, columns or OURS, exporter))
        self._path, self._asked, self._size = path, columns, block_octets

    def _gathered(self) -> Iterator[None]:
        gatherer = self._gatherer
        with nullcontext(sys.stdin.buffer) if str(self._path) == "-" else open(self._path, "rb") as file:
            blocks = Blocks(_chunks(file, min(self._size, 1 << 20)), self._size)
            for part in self._parts(blocks):
                gatherer.drop(part.ragged, MISSING)
                gatherer.add(part.columns, part.at)
                yield
            if blocks.damage:
                place = f"{self.name}, line {blocks.line}"
                self.warnings += (
                    f"{place}: the compressed data cannot be read on ({blocks.damage}); the lines before it were read",
                )
            gatherer.drop(np.repeat(blocks.first_long, blocks.long), LONG)
        gatherer.check()

    def _parts(self, whole: Blocks) -> Iterator[Part]:
        blocks = iter(whole)
        found = next(((line, block) for line, block in blocks if not block.isspace()), None)
        if found is None:
            long = f", line {whole.first_long}: {LONG}; a table of records has shorter lines"
            damage = f": the compressed data cannot be read: {whole.damage}; copy or compress the file again"
            raise DecodeError(f"{self.name}{damage if whole.damage else long if whole.long else ': the file is empty'}")
        line, block = found
        blank = len(block) - len(block.lstrip())
        line, block = line + block.count(b"\n", 0, blank), block[block.rfind(b"\n", 0, blank) + 1 :]
        rest = itertools.chain([(line, block)], blocks)
        if block.lstrip().startswith(b"["):
            return self._array(rest, block)
        if block.lstrip().startswith(b"{"):
            rows: _Rows = self._objects(first_object(block))
        elif block.startswith(ZEEK):
            log = zeek.Log(self.name, self._asked or zeek.COLUMNS)
            rows, self._gatherer.columns = log, log.columns
        else:
            text, _, below = block.partition(b"\n")
            rows = self._table(line, text.decode("utf-8", "replace").removeprefix("#"))
            rest = itertools.chain([(line + 1, below)] if below else [], blocks)
        return (part for at, lines in rest for part in rows.parts(at, lines))

    def _table(self, line: int, text: str) -> _Rows:
        """Make a parser for CSV with this header."""
        asked = self._asked or OURS
        wanted = set(asked.columns_to_read())
        delimiter = max(DELIMITERS, key=lambda d: (len(wanted & set(header(text, d))), d == ","))
        names = header(text, delimiter)
        theirs = None if self._asked else nfdump.columns(names)
        columns = (theirs or asked).present(names)
        if missing := [(theirs or asked).foreign_name(ours) for ours in columns.missing()]:
            raise DecodeError(f"{self.name}, line {line}: {describe_missing(missing, names)}")
        self._gatherer.columns = columns
        numbers, words = _kinds(columns)
        table = Delimited(names, columns.columns_to_read(), delimiter=delimiter, numbers=numbers, words=words)
        return nfdump.NfdumpBlock(text, table) if theirs else table

    def _objects(self, first: dict[str, Any]) -> Objects:
        """Make a parser for JSON objects like this one."""
        if self._asked:
            columns = self._asked.spanned(first)
        elif "id.orig_h" in first:
            columns = zeek.COLUMNS
        elif "first" in first and "last" in first and "start_ns" not in first:
            columns = nfdump.JSON
        else:
            columns = OURS.spanned(first)
        self._gatherer.columns = columns
        numbers, _ = _kinds(columns)
        exact = {place.column for ours, place in columns.places.items() if ours in TIMES and place.scale != 1}

        def kind(name: str) -> Any:
            if name in exact:
                return pa.string() if isinstance(first.get(name), str) else pa.decimal128(30, 9)
            return pa.int64() if isinstance(first.get(name), int) or (name in numbers and name not in first) else pa.string()

        return Objects({name: kind(name) for name in columns.columns_to_read()}, columns.required_columns())

    def _array(self, blocks: Iterator[tuple[int, bytes]], block: bytes) -> Iterator[Part]:
        """Parse a JSON array of objects."""
        return self._objects(first_object(block)).array_parts(blocks)


def _kinds(columns: Columns) -> tuple[list[str], list[str]]:
    """List their columns with whole numbers, and those with repeated texts."""
    numbers, words = set[str](), set[str]()
    for ours, place in (*columns.places.items(), *columns.back.items()):
        names = {name for name in (place.column, *place.instead) if name}
        if ours in TEXT or place.lenient or place.words:
            words |= names
        elif place.scale == 1 or ours not in TIMES:
            numbers |= names
    return sorted(numbers - words), sorted(words)


def _chunks(file: BinaryIO, size: int) -> Iterator[bytes]:
    while chunk := file.read(size):
        yield chunk
