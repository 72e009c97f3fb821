"""Parse CSV and tab-separated lines to columns: with Arrow for a well-formed block, else with Python's csv."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from collectors.columns.record import Ints

_COLUMN = re.compile(r"In CSV column #(\d+):")  # Arrow's error for a text that is no number
ROWS = 20_000  # per part of an irregular block


class Part(NamedTuple):
    """Some rows: the wanted columns, their line numbers, and lines with missing columns."""

    columns: dict[str, pa.Array]
    at: Ints
    ragged: Ints


class Delimited:
    """Format of a table's lines: column `names` in order, `wanted` ones, `delimiter`, and `null` texts.

    Columns in `numbers` are read as integers if all of a block are. If `quoted`, texts may be quoted, but not over several
    lines: a row is a line.
    """

    def __init__(
        self,
        names: Sequence[str],
        wanted: Sequence[str],
        *,
        delimiter: str = ",",
        null: Sequence[str] = ("",),
        numbers: Sequence[str] = (),
        words: Sequence[str] = (),
        quoted: bool = True,
    ) -> None:
        self.names, self.delimiter, self.null, self.quoted = list(names), delimiter, frozenset(null), quoted
        self.wanted = [name for name in wanted if name in self.names]
        whole = {name: pa.int64() for name in numbers}
        coded = {name: pa.dictionary(pa.int32(), pa.string()) for name in words}
        self._kinds, self._coded = {**coded, **whole}, coded
        self._place = {name: self.names.index(name) for name in self.wanted}
        self._in_order = re.compile(rb'(?:^|(?<=%b))"[^"\n]*"(?=%b|$)' % ((re.escape(delimiter.encode()),) * 2), re.MULTILINE)

    def parts(self, line: int, block: bytes) -> list[Part]:
        """Parse the rows of a block of whole lines; its first line has number `line`."""
        n = block.count(b"\n")
        known = self._at_once(block, n)
        if known is not None:
            return [Part(known, np.arange(line, line + n), np.zeros(0, np.int64))]
        sifted = self._valid_lines(line, block)
        if sifted is not None:
            return [sifted]
        lines = block.decode("utf-8", "replace").split("\n")[:n]
        return [self._one_by_one(line + i, lines[i : i + ROWS]) for i in range(0, n, ROWS)]

    def _at_once(self, block: bytes, n: int) -> dict[str, pa.Array] | None:
        """Parse a block in which every line is a row; None otherwise."""
        quotes = block.count(b'"') if self.quoted else 0
        if b"\0" in block or (quotes and 2 * len(self._in_order.findall(block)) != quotes):
            return None
        hexadecimal = any(x in block and b"0" + x in block for x in (b"x", b"X"))  # Arrow accepts hexadecimal numbers
        kinds = dict(self._coded if hexadecimal else self._kinds)
        table = None
        while table is None:
            try:
                table = self._parsed(block, kinds)
            except pa.ArrowInvalid as error:
                column = _COLUMN.match(str(error))
                if column is None or kinds.pop(self.names[int(column[1])], None) is None:
                    return None
        if len(table) != n:
            return None
        return {name: _whole(table.column(name)) for name in self.wanted}

    def _parsed(self, block: bytes, kinds: dict[str, Any]) -> pa.Table:
        quote = '"' if self.quoted else False
        return arrow_csv.read_csv(
            pa.BufferReader(block),
            read_options=arrow_csv.ReadOptions(column_names=self._distinct(), block_size=len(block) + 1),
            parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter, quote_char=quote, ignore_empty_lines=True),
            convert_options=self._conversion(kinds),
        )

    def _valid_lines(self, line: int, block: bytes) -> Part | None:
        """Parse a block without its invalid lines, detected by the number of delimiters; None with quotes."""
        if self.quoted and b'"' in block:
            return None
        octets = np.frombuffer(block, np.uint8)
        ends = np.flatnonzero(octets == 10)
        fields = 1 + np.diff(np.searchsorted(np.flatnonzero(octets == ord(self.delimiter)), ends), prepend=0)
        length = np.diff(ends, prepend=-1) - 1
        whole = (fields == len(self.names)) & (length > 0)
        others = np.flatnonzero(~whole)
        if not len(others):
            return None
        begins = [0, *(ends[others] + 1).tolist()]
        cuts = [*(ends[others] - length[others]).tolist(), len(block)]
        rest = b"".join(block[begin:end] for begin, end in zip(begins, cuts, strict=True))
        known = self._at_once(rest, int(whole.sum())) if rest else {name: pa.array([], pa.string()) for name in self.wanted}
        at = np.flatnonzero(whole) + line
        return None if known is None else Part(known, at, np.flatnonzero(~whole & (length > 0)) + line)

    def _distinct(self) -> list[str]:
        """Return unique names for Arrow: unwanted and duplicate columns get other names."""
        return [name if self._place.get(name) == i else f"\0{i}" for i, name in enumerate(self.names)]

    def _conversion(self, kinds: dict[str, Any]) -> arrow_csv.ConvertOptions:
        return arrow_csv.ConvertOptions(
            column_types={name: kinds.get(name, pa.string()) for name in self.wanted},
            include_columns=self.wanted,
            null_values=sorted(self.null),
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        )

    def _one_by_one(self, line: int, lines: list[str]) -> Part:
        rows, at, ragged = list[list[str]](), list[int](), list[int]()
        for i, text in enumerate(lines, line):
            row = self._row(text)
            if row is not None and len(row) == len(self.names):
                rows.append(row)
                at.append(i)
            elif row is None or row:
                ragged.append(i)
        columns = {
            name: pa.array([None if row[i] in self.null else row[i] for row in rows], pa.string())
            for name, i in self._place.items()
        }
        return Part(columns, np.array(at, np.int64), np.array(ragged, np.int64))

    def _row(self, text: str) -> list[str] | None:
        """Parse the fields of a line, none for an empty one; None if it is invalid."""
        if not text:
            return []
        if not self.quoted:
            return text.split(self.delimiter)
        try:
            return next(csv.reader([text], delimiter=self.delimiter, strict=True))
        except (csv.Error, StopIteration):
            return None


def header(line: str, delimiter: str = ",") -> list[str]:
    """Parse the names of columns in a header."""
    try:
        return [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def _whole(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    return column.combine_chunks() if column.num_chunks else pa.array([], column.type)
