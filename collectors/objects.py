"""JSON objects to columns: one per line, or in an array; by Arrow where a block is in order, by Python's json where not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import json as arrow_json

from collectors.delimited import ROWS, Part

PIECE = 1 << 20  # of a block, which several processors share
_BETWEEN = re.compile(r"[\s,\[\]]*")
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)


class Objects:
    """What is read of every object: the `kinds` of columns, int64 or text or decimal, by name.

    Objects that lack one of `need` are no rows. What has another kind than expected is given as text, and what is neither
    text nor number as nothing.
    """

    def __init__(self, kinds: Mapping[str, Any], need: Sequence[str] = ()) -> None:
        self.kinds, self.need = dict(kinds), tuple(need)
        self._schema = pa.schema(list(self.kinds.items()))

    def parts(self, line: int, block: bytes) -> list[Part]:
        """The rows of a block of whole lines, an object on each, of which the first is `line`."""
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
        """The columns of a block in which every line is an object with all that is needed; None where some are not."""
        options = arrow_json.ParseOptions(
            explicit_schema=self._schema, unexpected_field_behavior="ignore", newlines_in_values=False
        )
        try:
            read = arrow_json.ReadOptions(block_size=PIECE)
            table = arrow_json.read_json(pa.BufferReader(block), read_options=read, parse_options=options)
        except pa.ArrowException:
            return None
        if len(table) != n or block.count(b"}\n{") + 1 < n or any(table.column(name).null_count for name in self.need):
            return None
        return {name: _combined(table.column(name)) for name in self.kinds}

    def rows(self, rows: Sequence[tuple[int, Mapping[str, Any]]]) -> Part:
        """Objects with their lines, as a part."""
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
    """The texts and numbers of a JSON object, as text; empty where the line holds none."""
    try:
        return _texts(_DECODER.decode(line.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return {}


def _texts(row: Any) -> dict[str, str]:
    return {k: v for k, v in row.items() if isinstance(v, str)} if isinstance(row, dict) else {}


def of_array(blocks: Iterator[tuple[int, bytes]], *, most: int = 1 << 20) -> Iterator[list[tuple[int, dict[str, str]]]]:
    """The objects of one or more JSON arrays, each with the line it starts in; what is none is given as an empty one.

    Memory is bounded: what is no object within `most` octets is left out up to the next line that starts with a brace.
    """
    held, line = "", 1
    for _, block in blocks:
        held += block.decode("utf-8", "replace")
        found, used, lines = _decoded(held, line, most)
        held, line = held[used:], line + lines
        if found:
            yield found
    found, used, _ = _decoded(held, line, 0)
    if found:
        yield found


def _decoded(text: str, line: int, most: int) -> tuple[list[tuple[int, dict[str, str]]], int, int]:
    """The objects of a text, how much of it was used, and how many lines that was."""
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
                break  # it may go on in the next block
            found.append((line + lines, {}))
            end = text.find("\n{", at) + 1 or len(text)
        else:
            found.append((line + lines, _texts(value)))
        at = end
    return found, at, lines + text.count("\n", counted, at)


def first_object(block: bytes) -> dict[str, str]:
    """The first object of a block, empty where there is none."""
    text = block.decode("utf-8", "replace").lstrip()
    try:
        return _texts(_DECODER.raw_decode(text)[0])
    except (ValueError, RecursionError):
        return {}
