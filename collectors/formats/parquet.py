"""Read and write Parquet, the format of archives: our flow records without loss, and tables of other producers.

Our dump has a row per record, texts as Arrow dictionaries, zstd, and metadata under `prism-dump`: the version of the layout and
the dictionaries in the order of their codes, so that codes are restored too. Rows of a row group are in order of start if the
records were.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from collectors.columns.record import COLUMNS, Codes, Flows
from collectors.columns.switch_names import check_names
from collectors.formats.column_mapping import OURS, Columns
from collectors.formats.foreign_records import TEXT, Gathered, Gatherer, describe_missing
from collectors.packets.plain_decoder import DecodeError

MAGIC = b"PAR1"
KEY, VERSION = b"prism-dump", 1
ROWS = 1 << 17  # of a row group: a few MB
TIMES = ("start_ns", "end_ns")
BOOKS = {"src": "endpoints", "dst": "endpoints", "exporter": "exporters", "path": "paths"}
BROKEN = (pa.ArrowException, OSError, OverflowError, ValueError)  # Arrow's errors for a damaged file
HUGE = 1 << 36  # octets: no real file has a page of this size, so such a header is damaged
_KINDS = {c.name: pa.dictionary(pa.int32(), pa.string()) if c.name in TEXT else pa.from_numpy_dtype(c.dtype) for c in COLUMNS}
SCHEMA = pa.schema([pa.field(name, kind, nullable=False) for name, kind in _KINDS.items()])


def write_parquet(path: str | Path, flows: Flows, *, rows_at_once: int = ROWS) -> None:
    """Write records, `rows_at_once` per row group. Raises ValueError for a switch name with a bar."""
    with Writer(path, rows_at_once=rows_at_once) as file:
        file.add(flows)


class Writer:
    """A Parquet dump for adding records, each time at least a row group. A context; readable after it is closed.

    `count`: number of records.
    """

    def __init__(self, path: str | Path, *, rows_at_once: int = ROWS) -> None:
        self.count, self._rows_at_once = 0, rows_at_once
        self._books: dict[str, dict[Any, int]] = {"endpoints": {}, "exporters": {}, "paths": {(): 0}}
        words = [name for name in _KINDS if name not in TIMES]
        self._file = pq.ParquetWriter(
            path,
            SCHEMA,
            compression="zstd",
            use_dictionary=words,
            column_encoding=dict.fromkeys(TIMES, "DELTA_BINARY_PACKED"),
            dictionary_pagesize_limit=1 << 24,
            write_statistics=["start_ns"],
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            books = {name: list(book) for name, book in self._books.items()}
            self._file.add_key_value_metadata({KEY.decode(): json.dumps({"version": VERSION, **books}, separators=(",", ":"))})
        self._file.close()

    def add(self, flows: Flows) -> None:
        """Add records. Raises ValueError for a switch name with a bar or a line end."""
        check_names(flows)
        codes = {name: _merged(self._books[name], getattr(flows, name)) for name in dict.fromkeys(BOOKS.values())}
        texts = {name: pa.array([_text(word) for word in book] or [""], pa.string()) for name, book in self._books.items()}
        for start in range(0, len(flows), self._rows_at_once):
            rows = slice(start, start + self._rows_at_once)
            columns = [_column(c.name, getattr(flows, c.name)[rows], codes, texts) for c in COLUMNS]
            self._file.write_table(pa.table(columns, schema=SCHEMA))
        self.count += len(flows)


def _merged(book: dict[Any, int], names: Sequence[Any]) -> Codes:
    """Return the codes of names in a growing book; one 0 if there are none."""
    return np.array([book.setdefault(name, len(book)) for name in names] or [0], np.int32)


def _text(word: str | tuple[str, ...]) -> str:
    return word if isinstance(word, str) else "|".join(word)


def _column(name: str, values: Any, codes: dict[str, Codes], texts: dict[str, pa.Array]) -> pa.Array:
    if name not in BOOKS:
        return pa.array(values)
    book = BOOKS[name]
    return pa.DictionaryArray.from_arrays(pa.array(codes[book][values]), texts[book])


def read_parquet(
    path: str | Path, columns: Columns | None = None, *, exporter: str = "", rows_at_once: int = ROWS
) -> tuple[Flows, Counter[str]]:
    """Read the records of a file by start, and the counts of skipped rows by reason; see `Table`. Raises DecodeError."""
    table = Table(path, columns, exporter=exporter, rows_at_once=rows_at_once)
    return table.flows(), table.skipped


class Table(Gathered):
    """A Parquet file, ours or another; to iterate over once. `skipped` counts bad rows by reason.

    Columns have the names of Prism or those in `columns`. Numbers and times may have any type; optional columns may hold nulls.
    `exporter` is the switch of records without one. Raises DecodeError with the file if it is damaged, if a required column is
    missing, or at the end if more than half of the rows were bad.
    """

    def __init__(
        self, path: str | Path, columns: Columns | None = None, *, exporter: str = "", rows_at_once: int = ROWS
    ) -> None:
        super().__init__(str(path), Gatherer(str(path), columns or OURS, exporter))
        self._path, self._asked, self._rows_at_once = path, columns, rows_at_once

    def _gathered(self) -> Iterator[None]:
        with open(self._path, "rb") as opened:
            try:
                file = pq.ParquetFile(opened)
                metadata, names = file.schema_arrow.metadata or {}, file.schema_arrow.names
            except (*BROKEN, MemoryError) as error:
                _check_memory(error)
                raise DecodeError(
                    f"{self.name}: not a readable Parquet file ({_first_line(error)}); copy or write it again"
                ) from None
            columns = self._columns(names)
            if self._asked is None:
                self._prepare({**metadata, **(file.metadata.metadata or {})})
            at = 0
            try:
                # In one thread, as fast: where memory ends, a new thread would end the process (glibc, status 127).
                for batch in file.iter_batches(self._rows_at_once, columns=columns.columns_to_read(), use_threads=False):
                    given = {name: batch.column(name) for name in columns.columns_to_read()}
                    self._gatherer.add(given, np.arange(at + 1, at + 1 + len(batch)))
                    at += len(batch)
                    yield
            except (*BROKEN, MemoryError) as error:
                _check_memory(error)
                raise DecodeError(
                    f"{self.name}, after row {at}: the file is damaged ({_first_line(error)}); copy or write it again"
                ) from None
        self._gatherer.check("row")

    def _columns(self, names: list[str]) -> Columns:
        asked = self._asked or OURS
        columns = asked.present([name for name in names if names.count(name) == 1])
        if missing := [asked.foreign_name(ours) for ours in columns.missing()]:
            raise DecodeError(f"{self.name}: {describe_missing(missing, names)}")
        self._gatherer.columns = columns
        return columns

    def _prepare(self, metadata: dict[bytes, bytes]) -> None:
        """Load the dictionaries of our own dump, to restore its codes. Raises DecodeError for a later version."""
        if KEY not in metadata:
            return
        try:
            said = json.loads(metadata[KEY])
            version = said["version"]
            books = [[str(text) for text in said[name]] for name in ("endpoints", "exporters")]
            paths = ["|".join(path) for path in said["paths"]]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise DecodeError(
                f"{self.name}: its metadata ({KEY.decode()}) cannot be read ({error}); write the file again"
            ) from None
        if version != VERSION:
            raise DecodeError(
                f"{self.name}: written as version {version} of the format, this Prism reads version {VERSION}; update Prism"
            )
        self._gatherer.restore(books[0], books[1], paths)


def _check_memory(error: BaseException) -> None:
    """Raise MemoryError for a real lack of memory, not for an absurd size in a damaged file."""
    if isinstance(error, MemoryError):
        asked = re.search(r"size (\d+)", str(error))
        if asked is None or int(asked[1]) < HUGE:
            raise MemoryError(_first_line(error)) from None


def _first_line(error: BaseException) -> str:
    return str(error).split("\n")[0][:200] or type(error).__name__
