"""Write flow records to files, at once or in parts: CSV, JSON Lines, Parquet, Arrow IPC, nfdump, by the file's name."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import zstandard

from collectors.columns.record import COLUMNS, Flows
from collectors.columns.switch_names import check_names
from collectors.writers._text_lines import CodeTexts, Field, lines

if TYPE_CHECKING:
    from collectors.formats import parquet
    from collectors.writers import arrow, nfcapd

TEXT = ("src", "dst", "exporter", "path")
BINARY = re.compile(r"(\.(?P<form>parquet|arrow|nfdump)|nfcapd\.\d{8,14})$", re.IGNORECASE)  # names of binary files
JSON_ENDINGS = (".jsonl", ".ndjson", ".json")
BETWEEN = (f'{{"{COLUMNS[0].name}":'.encode(), *(f',"{c.name}":'.encode() for c in COLUMNS[1:]), b"}\n")
ROWS = 20_000  # rows written at once: fits into a processor's cache


def write(path: str | Path, flows: Flows, *, rows_at_once: int = ROWS) -> None:
    """Write records in the format of the file's name.

    .parquet; .arrow; .nfdump; .jsonl, .ndjson, .json; else CSV; texts also .gz and .zst. Raises ValueError for a switch name
    with a bar (the separator of paths) or a line end.
    """
    with writer(path) if BINARY.search(str(path)) else Writer(path, rows_at_once=rows_at_once) as file:
        file.add(flows)


def writer(path: str | Path) -> Writer | parquet.Writer | arrow.Writer | nfcapd.Writer:
    """Open a dump for adding records, in the format of its name."""
    found = BINARY.search(str(path))
    if not found:
        return Writer(path)
    from collectors.formats import parquet
    from collectors.writers import arrow, nfcapd

    form = (found["form"] or "nfdump").lower()
    if form == "parquet":
        return parquet.Writer(path)
    return arrow.Writer(path) if form == "arrow" else nfcapd.Writer(path)


class Writer:
    """A text file for adding records, in a format of `write`; `level` is gzip's. A context."""

    def __init__(self, path: str | Path, *, level: int = 6, rows_at_once: int = ROWS) -> None:
        name = str(path).lower()
        self.count, self._rows_at_once = 0, rows_at_once
        self._json = name.removesuffix(".gz").removesuffix(".zst").endswith(JSON_ENDINGS)
        self._stack, self._words = ExitStack(), dict[str, CodeTexts]()
        self._file = _created(self._stack, path, name, level)
        if not self._json:
            self._file.write((",".join(c.name for c in COLUMNS) + "\n").encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def add(self, flows: Flows) -> None:
        """Add records. Raises ValueError for a switch name with a bar or a line end."""
        check_names(flows)
        for start in range(0, len(flows), self._rows_at_once):
            part = slice(start, start + self._rows_at_once)
            self._file.write(lines(_fields(flows, part, self._known), BETWEEN if self._json else None))
        self.count += len(flows)

    def _known(self, column: str, flows: Flows) -> CodeTexts:
        """Return the texts of a column's codes; made once per dictionary, which is the same in all parts or grows."""
        texts = _texts(column, flows)
        known = self._words.get(column)
        if known is None or known.texts != texts:
            known = self._words[column] = CodeTexts(texts, json.dumps if self._json else None)
        return known


def _texts(column: str, flows: Flows) -> tuple[str, ...]:
    if column == "path":
        return tuple("|".join(way) for way in flows.paths)
    return (flows.exporters or ("",)) if column == "exporter" else tuple(flows.endpoints)


def objects(flows: Flows, rows: slice) -> bytes:
    """Write a JSON object per row."""
    return lines(_fields(flows, rows, lambda column, flows: CodeTexts(_texts(column, flows), json.dumps)), BETWEEN)


def _fields(flows: Flows, rows: slice, words: Callable[[str, Flows], CodeTexts]) -> list[Field]:
    columns = ((c.name, getattr(flows, c.name)[rows]) for c in COLUMNS)
    return [(values, words(name, flows)) if name in TEXT else values for name, values in columns]


def _created(stack: ExitStack, path: str | Path, name: str, level: int) -> BinaryIO:
    file: BinaryIO = stack.enter_context(open(path, "wb"))  # noqa: SIM115 - the stack closes it
    packed: Any = file
    if name.endswith(".gz"):
        packed = stack.enter_context(gzip.GzipFile("", "wb", level, fileobj=file, mtime=0))
    elif name.endswith(".zst"):
        packed = stack.enter_context(zstandard.ZstdCompressor().stream_writer(file, closefd=False))
    return file if packed is file else stack.enter_context(io.BufferedWriter(packed, 1 << 20))
