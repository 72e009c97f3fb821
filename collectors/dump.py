"""Flow records in files: CSV and JSON Lines, plain, .gz or .zst, to Flows and back."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from collectors.compression import GZIP, ZSTD
from collectors.packet import DecodeError
from collectors.record import COLUMNS, Codes, Flows, Ints
from collectors.writing import TEXT
from collectors.writing import write as write

REQUIRED = ("start_ns", "end_ns", "src", "dst", "octets")
NUMBERS = tuple(c for c in COLUMNS if c.name not in TEXT)
EARLY = "the file ends early"
CUT_OFF = (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError)


def is_dump(head: bytes) -> bool:
    """Whether the first octets of a file are text, hence a dump and not a capture.

    64 octets tell, of a compressed file those of its first block: up to 128 kB (RFC 8878 section 3.1.1.2).
    """
    text = _unpacked_head(head).removeprefix(b"\xef\xbb\xbf")
    line = text[:64].decode("utf-8", "ignore")
    return bool(line) and b"\0" not in text[:64] and all(c.isprintable() or c in "\r\n\t" for c in line)


def _unpacked_head(head: bytes) -> bytes:
    try:
        if head.startswith(GZIP):
            return zlib.decompressobj(31).decompress(head, 256)
        if head.startswith(ZSTD):
            return zstandard.ZstdDecompressor().decompressobj().decompress(head)[:256]
    except CUT_OFF:
        return b""
    return head


def read(path: str | Path, *, rows_at_once: int = 5_000) -> tuple[Flows, Counter[str]]:
    """Records of a dump by start, and what was skipped, by reason.

    Raises DecodeError, with file and line, where a required column is missing or more than half of the rows are bad.
    """
    with _opened(path) as file:
        dump = _Reader(str(path))
        dump.read(file, rows_at_once)
        return dump.flows(), dump.skipped


@contextmanager
def _opened(path: str | Path) -> Iterator[io.TextIOWrapper]:
    """A file, unpacked, as text; - is the standard input."""
    with nullcontext(sys.stdin.buffer) if str(path) == "-" else Path(path).open("rb") as file:
        head = file.peek(4) if isinstance(file, io.BufferedReader) else b""
        stream: Any = file
        if head.startswith(GZIP):
            stream = gzip.GzipFile(fileobj=file)
        elif head.startswith(ZSTD):
            stream = io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True))
        text = io.TextIOWrapper(stream, "utf-8-sig", errors="replace", newline="")
        yield text
        text.detach()


class _Book(dict[Any, int]):
    """Codes of texts as they are written, -1 where they are bad; `code` holds those of the values they stand for.

    `value` checks a text and brings it into one form, once; it raises ValueError.
    """

    def __init__(self, value: Callable[[Any], Any]) -> None:
        super().__init__()
        self.value = value
        self.code: dict[Any, int] = {}

    def __missing__(self, text: Any) -> int:
        try:
            self[text] = code = self.code.setdefault(self.value(text), len(self.code))
        except (ValueError, AttributeError):
            self[text] = code = -1
        return code

    def look_up(self, texts: Sequence[Any]) -> Codes:
        """The codes of texts."""
        return np.fromiter(map(self.__getitem__, texts), np.int32, len(texts))


def _address(text: str) -> str:
    address = ip_address(text.strip())
    return str((isinstance(address, IPv6Address) and address.ipv4_mapped) or address)


def _path(text: str | None) -> tuple[str, ...]:
    return tuple(text.split("|")) if text else ()


class _Reader:
    def __init__(self, name: str) -> None:
        self.name = name
        self.endpoints, self.paths, self.exporters = _Book(_address), _Book(_path), _Book(lambda text: text or "")
        self.paths.look_up([""])  # path 0
        self.parts: list[dict[str, NDArray[Any]]] = []
        self.skipped: Counter[str] = Counter()
        self.first_bad: tuple[int, str] | None = None
        self.good = 0

    def read(self, file: io.TextIOWrapper, rows_at_once: int) -> None:
        """All rows of a file; raises DecodeError."""
        lines = self.lines(file)
        head = next((line for line in lines if line.strip()), "")
        if head.lstrip().startswith("{"):
            self.read_objects(itertools.chain([head], lines), rows_at_once)
        else:
            self.read_table([name.strip() for name in next(csv.reader([head]), [])], csv.reader(lines), rows_at_once)
        bad = sum(self.skipped.values()) - self.skipped[EARLY]
        if self.first_bad and bad > self.good:
            at, reason = self.first_bad
            raise DecodeError(f"{self.name}, line {at}: {reason}, and {bad} of {bad + self.good} rows are bad")

    def lines(self, file: io.TextIOWrapper) -> Iterator[str]:
        """Lines up to the end, or to where compressed data is broken."""
        try:
            yield from file
        except CUT_OFF:
            self.skipped[EARLY] += 1

    def read_table(self, names: list[str], rows: Iterator[list[str]], rows_at_once: int) -> None:
        """CSV below its header."""
        missing = [name for name in REQUIRED if name not in names]
        if missing:
            raise DecodeError(f"{self.name}, line 1: no column {', '.join(missing)}")
        line = 2
        try:
            while chunk := list(itertools.islice(rows, rows_at_once)):
                at = np.arange(line, line + len(chunk))
                whole = np.fromiter(map(len, chunk), np.int64, len(chunk)) == len(names)
                self.drop(at[~whole & np.fromiter(map(bool, chunk), np.bool_, len(chunk))], "columns are missing")
                good = chunk if whole.all() else list(itertools.compress(chunk, whole.tolist()))
                self.add(dict(zip(names, zip(*good, strict=True), strict=False)), at[whole])
                line += len(chunk)
        except csv.Error as error:
            raise DecodeError(f"{self.name}, line {line}: {error}") from None

    def read_objects(self, lines: Iterable[str], rows_at_once: int) -> None:
        """JSON Lines; numbers with a fraction stay text, hence bad."""
        line = 1
        while chunk := list(itertools.islice(lines, rows_at_once)):
            at = np.arange(line, line + len(chunk))
            rows = [_object(text) for text in chunk]
            whole = np.fromiter((all(name in row for name in REQUIRED) for row in rows), np.bool_, len(rows))
            self.drop(at[~whole & np.fromiter(map(str.strip, chunk), np.bool_, len(chunk))], "columns are missing")
            good = list(itertools.compress(rows, whole.tolist()))
            self.add({c.name: [row.get(c.name) for row in good] for c in COLUMNS}, at[whole])
            line += len(chunk)

    def add(self, given: Mapping[str, Sequence[Any]], at: Ints) -> None:
        """Take rows by column, which are `at` these lines; count and leave out the bad ones."""
        n = len(at)
        if not n:
            return
        table: dict[str, NDArray[Any]] = {}
        reason = np.zeros(n, np.int8)
        for column in NUMBERS:
            if column.name not in given:
                table[column.name] = np.full(n, column.default, column.dtype)
                continue
            values, ok = _integers(given[column.name], None if column.name in REQUIRED else column.default)
            reason[~ok | (values < 0) | (values > np.iinfo(np.dtype(column.dtype)).max)] = 1
            table[column.name] = values
        reason[(table["end_ns"] < table["start_ns"]) & (reason == 0)] = 2
        for name in ("src", "dst"):
            table[name] = self.endpoints.look_up(given[name])
            reason[table[name] < 0] = 3
        table["path"] = self.paths.look_up(given["path"]) if "path" in given else np.zeros(n, np.int32)
        firsts = self.exporters.look_up([way[0] if way else "" for way in self.paths.code])[table["path"]]
        named = self.exporters.look_up(given["exporter"]) if "exporter" in given else firsts
        table["exporter"] = np.where(named == self.exporters[""], firsts, named)
        reason[(table["path"] < 0) & (reason == 0)] = 4
        for code, text in ((1, "bad number"), (2, "end before start"), (3, "bad address"), (4, "bad path")):
            self.drop(at[reason == code], text)
        keep = reason == 0
        self.good += int(np.count_nonzero(keep))
        self.parts.append({name: column[keep] for name, column in table.items()})

    def drop(self, lines: Ints, reason: str) -> None:
        """Count bad rows, remember the first."""
        if len(lines):
            self.skipped[reason] += len(lines)
            first = (int(lines[0]), reason)
            self.first_bad = min(self.first_bad or first, first)

    def flows(self) -> Flows:
        """What was read, by start."""
        columns: dict[str, Any] = {c.name: np.concatenate([p[c.name] for p in self.parts] or [np.zeros(0)]) for c in COLUMNS}
        order = np.argsort(columns["start_ns"], kind="stable")
        columns = {name: column[order] for name, column in columns.items()}
        books = {
            "endpoints": tuple(self.endpoints.code),
            "exporters": tuple(self.exporters.code),
            "paths": tuple(self.paths.code),
        }
        return Flows.build(columns, **books)


def _object(line: str) -> dict[str, Any]:
    """A JSON object, its texts and numbers alone; empty where the line holds none."""
    try:
        row = json.loads(line, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return {}
    return {k: v for k, v in row.items() if isinstance(v, str | int)} if isinstance(row, dict) else {}


def _integers(values: Sequence[Any], default: int | None) -> tuple[Ints, NDArray[np.bool_]]:
    """Values as integers, and which of them are; what is not there takes the default, if any."""
    try:
        return np.fromiter(map(int, values), np.int64, len(values)), np.ones(len(values), np.bool_)
    except (ValueError, TypeError, OverflowError):
        pairs = [_integer(value, default) for value in values]
        return np.array([v for v, _ in pairs], np.int64), np.array([ok for _, ok in pairs], np.bool_)


def _integer(value: Any, default: int | None) -> tuple[int, bool]:
    if value is None or value == "":
        return default or 0, default is not None
    try:
        number = int(value)
    except (ValueError, TypeError):
        return 0, False
    return (number, True) if abs(number) < 1 << 63 else (0, False)
