"""Parse JSON objects to columns, one per line or in an array: with Arrow for a regular block, else with Python's json."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import json as arrow_json

from collectors.formats.delimited import ROWS, Part

PIECE = 1 << 20  # octets per piece, for several processors
_NEXT = b"\n},\n{"
_BETWEEN = re.compile(r"[\s,\[\]]*")
_PLAIN = json.JSONDecoder(parse_float=Decimal)
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)


class Objects:
    """Columns to read of every object: `kinds` (int64, text or decimal) by name.

    Objects without one of `need` are no rows. Values of another kind become text; values that are neither text nor number are
    missing.
    """

    def __init__(self, kinds: Mapping[str, Any], need: Sequence[str] = ()) -> None:
        self.kinds, self.need = dict(kinds), tuple(need)
        self._schema = pa.schema(list(self.kinds.items()))

    def parts(self, line: int, block: bytes) -> list[Part]:
        """Parse a block of whole lines with an object on each; its first line has number `line`."""
        n = block.count(b"\n")
        known = self._at_once(block, n)
        if known is not None:
            return [Part(known, np.arange(line, line + n), np.zeros(0, np.int64))]
        lines = block.split(b"\n")[:n]
        return [
            self.rows([(line + i + k, _object(text)) for k, text in enumerate(lines[i : i + ROWS]) if text.strip()])
            for i in range(0, n, ROWS)
        ]

    def _at_once(self, block: bytes, n: int) -> dict[str, pa.Array] | None:
        """Parse a block in which every line is an object with all that is needed; None otherwise."""
        return self._read(block, n, newlines=False) if block.count(b"}\n{") + 1 >= n else None

    def _read(self, text: bytes, n: int, *, newlines: bool) -> dict[str, pa.Array] | None:
        """Parse n concatenated objects; None if Arrow finds another number, or missing values."""
        options = arrow_json.ParseOptions(
            explicit_schema=self._schema, unexpected_field_behavior="ignore", newlines_in_values=newlines
        )
        read = arrow_json.ReadOptions(block_size=len(text) + 1 if newlines else PIECE)
        try:
            table = arrow_json.read_json(pa.BufferReader(text), read_options=read, parse_options=options)
        except pa.ArrowException:
            return None
        if len(table) != n or any(table.column(name).null_count for name in self.need):
            return None
        return {name: _combined(table.column(name)) for name in self.kinds}

    def array_parts(self, blocks: Iterator[tuple[int, bytes]], *, max_octets: int = 1 << 20) -> Iterator[Part]:
        """Parse the objects of one or more JSON arrays, as parts with their start lines.

        Memory is bounded: text that is no object within `max_octets` is skipped, up to the next line that starts with a brace.
        """
        held, line = b"", 1
        for _, block in blocks:
            held += block
            end = held.rfind(_NEXT) + 2
            part = self._array_at_once(line, held[:end]) if end > 2 else None
            if part is not None:
                yield part
                line, held = line + held.count(b"\n", 0, end), held[end:]
                continue
            text = held.decode("utf-8", "surrogateescape")
            found, used, lines = _decoded(text, line, max_octets)
            line, held = line + lines, text[used:].encode("utf-8", "surrogateescape")
            yield self.rows(found)
        yield self.rows(_decoded(held.decode("utf-8", "surrogateescape"), line, 0)[0])

    def _array_at_once(self, line: int, text: bytes) -> Part | None:
        """Parse objects in nfdump's style, with braces on their own lines; None for other styles."""
        begin = len(text) - len(text.lstrip(b" \t\r\n,["))
        line, text = line + text.count(b"\n", 0, begin), text[begin:]
        octets = np.frombuffer(text, np.uint8)
        ends = np.flatnonzero(octets[:-1] == 10)
        at = np.r_[0, 1 + np.flatnonzero(octets[ends + 1] == ord("{"))]
        if not text.startswith(b"{") or len(at) != text.count(_NEXT) + 1:
            return None
        columns = self._read(text.replace(_NEXT, b"\n}\n{"), len(at), newlines=True)
        return None if columns is None else Part(columns, at + line, np.zeros(0, np.int64))

    def rows(self, rows: Sequence[tuple[int, Mapping[str, Any]]]) -> Part:
        """Convert objects with their lines to a part."""
        whole = [(at, row) for at, row in rows if all(name in row for name in self.need)]
        ragged = [at for at, row in rows if not all(name in row for name in self.need)]
        columns = {}
        for name in self.kinds:
            texts = [row.get(name) for _, row in whole]
            columns[name] = pa.array(texts, pa.string())
        return Part(columns, np.array([at for at, _ in whole], np.int64), np.array(ragged, np.int64))


def _combined(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _object(line: bytes) -> dict[str, str]:
    """Return the texts and numbers of a JSON object, as text; empty for a line without one."""
    try:
        return _texts(_DECODER.decode(line.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return {}


def _texts(row: Any) -> dict[str, str]:
    return {k: v for k, v in row.items() if isinstance(v, str)} if isinstance(row, dict) else {}


def _decoded(text: str, line: int, most: int) -> tuple[list[tuple[int, dict[str, str]]], int, int]:
    """Decode the objects of a text; return also the used octets and lines."""
    found: list[tuple[int, dict[str, str]]] = []
    at = counted = lines = 0
    while True:
        between = _BETWEEN.match(text, at)
        at = between.end() if between else at
        if at >= len(text):
            break
        lines, counted = lines + text.count("\n", counted, at), at
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            if len(text) - at <= most:
                break  # it may continue in the next block
            found.append((line + lines, {}))
            end = text.find("\n{", at) + 1 or len(text)
        else:
            found.append((line + lines, _texts(value)))
        at = end
    return found, at, lines + text.count("\n", counted, at)


def first_object(block: bytes) -> dict[str, Any]:
    """Return the first object of a block, or of an array that starts there; empty if there is none."""
    text = block.decode("utf-8", "replace").lstrip().removeprefix("[").lstrip()
    try:
        row = _PLAIN.raw_decode(text)[0]
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}
