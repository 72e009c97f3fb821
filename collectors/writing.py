"""Flow records to files: CSV and JSON Lines, plain, .gz or .zst, all at once or in parts."""

from __future__ import annotations

import gzip
import io
import json
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import zstandard

from collectors.lines import Field, Words, lines
from collectors.record import COLUMNS, Flows

TEXT = ("src", "dst", "exporter", "path")
JSON_ENDINGS = (".jsonl", ".ndjson", ".json")
ROWS = 20_000  # written at once: what fits into a processor's cache


def write(path: str | Path, flows: Flows, *, rows_at_once: int = ROWS) -> None:
    """Write records as JSON Lines where the name says .jsonl, .ndjson or .json, else as CSV; compressed after .gz or .zst.

    Raises ValueError where the name of a switch holds the bar that separates switches in a path.
    """
    with Writer(path, rows_at_once=rows_at_once) as file:
        file.add(flows)


class Writer:
    """A dump that records are added to, in a form as `write` has it; `level` is how hard gzip tries. A context."""

    def __init__(self, path: str | Path, *, level: int = 9, rows_at_once: int = ROWS) -> None:
        name = str(path).lower()
        self.count, self._rows_at_once = 0, rows_at_once
        self._json = name.removesuffix(".gz").removesuffix(".zst").endswith(JSON_ENDINGS)
        self._stack, self._words = ExitStack(), dict[str, Words]()
        self._file = _created(self._stack, path, name, level)
        if not self._json:
            self._file.write((",".join(c.name for c in COLUMNS) + "\n").encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def add(self, flows: Flows) -> None:
        """Add records. Raises ValueError where the name of a switch holds the bar that separates switches in a path."""
        if any("|" in switch for way in flows.paths for switch in way):
            raise ValueError("a switch's name may not contain |")
        for start in range(0, len(flows), self._rows_at_once):
            part = slice(start, start + self._rows_at_once)
            self._file.write(objects(flows, part) if self._json else lines(self._fields(flows, part)))
        self.count += len(flows)

    def _fields(self, flows: Flows, rows: slice) -> list[Field]:
        fields: list[Field] = []
        for column in COLUMNS:
            values = getattr(flows, column.name)[rows]
            fields.append((values, self._known(column.name, flows)) if column.name in TEXT else values)
        return fields

    def _known(self, column: str, flows: Flows) -> Words:
        """What the codes of a column stand for; made once for each dictionary, which are the same in all parts or grow."""
        texts = _texts(column, flows)
        known = self._words.get(column)
        if known is None or known.texts != texts:
            known = self._words[column] = Words(texts)
        return known


def _texts(column: str, flows: Flows) -> tuple[str, ...]:
    if column == "path":
        return tuple("|".join(way) for way in flows.paths)
    return (flows.exporters or ("",)) if column == "exporter" else flows.endpoints


def objects(flows: Flows, rows: slice) -> bytes:
    """A JSON object per row."""
    columns: list[list[Any]] = []
    for column in COLUMNS:
        values = getattr(flows, column.name)[rows].tolist()
        texts = _texts(column.name, flows) if column.name in TEXT else ()
        columns.append([texts[v] for v in values] if column.name in TEXT else values)
    names = [c.name for c in COLUMNS]
    made = (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in made).encode()


def _created(stack: ExitStack, path: str | Path, name: str, level: int) -> BinaryIO:
    file: BinaryIO = stack.enter_context(open(path, "wb"))  # noqa: SIM115 - the stack closes it
    packed: Any = file
    if name.endswith(".gz"):
        packed = stack.enter_context(gzip.GzipFile("", "wb", level, fileobj=file, mtime=0))
    elif name.endswith(".zst"):
        packed = stack.enter_context(zstandard.ZstdCompressor().stream_writer(file, closefd=False))
    return file if packed is file else stack.enter_context(io.BufferedWriter(packed, 1 << 20))
