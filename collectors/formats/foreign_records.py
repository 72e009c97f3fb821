"""Convert rows of foreign tables to flow records: check them, count bad ones by reason, and encode texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import IPv6Address, ip_address
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from collectors.columns.record import COLUMNS, TCP, Codes, Flows, Ints, Mask, Transits
from collectors.formats.arrow_values import Numbers, integers, parse_time, to_list
from collectors.formats.column_mapping import REQUIRED, TIMES, WORDS, Columns, Place
from collectors.packets.plain_decoder import DecodeError

TEXT = ("src", "dst", "exporter", "path")
MISSING, BACKWARDS = "columns are missing", "end before start"
# with the name of a column
NOTHING, NUMBER, ADDRESS, PATH = "no value in {0}", "bad number in {0}", "bad address in {0}", "bad path in {0}"
MAX_NAMES = 40  # columns of a file in an error
Table = Mapping[str, pa.Array]


class Book(dict[Any, int]):
    """Codes of texts, -1 for invalid ones; `code` has the codes of their normalised values.

    `value` checks and normalises a text, once; it raises ValueError.
    """

    def __init__(self, value: Callable[[Any], Any]) -> None:
        super().__init__()
        self.value = value
        self.code: dict[Any, int] = {}

    def __missing__(self, text: Any) -> int:
        try:
            self[text] = code = self.code.setdefault(self.value(text), len(self.code))
        except (ValueError, AttributeError, TypeError):
            return -1  # not stored, to save memory in a file of invalid texts
        return code

    def look_up(self, texts: Sequence[Any]) -> Codes:
        """Return the codes of texts."""
        return np.fromiter(map(self.__getitem__, texts), np.int32, len(texts))


def address(value: Any) -> str:
    """Normalise an address from text, from 4 or 16 octets, or from a number. Raises ValueError."""
    if isinstance(value, bytes) and len(value) not in (4, 16):
        value = value.decode()
    known = ip_address(value.strip() if isinstance(value, str) else value)
    if isinstance(known, IPv6Address):
        if known.scope_id:
            raise ValueError(value)
        return str(known.ipv4_mapped or known)
    return str(known)


def _path(text: str | None) -> tuple[str, ...]:
    return tuple(text.split("|")) if text else ()


def _name(text: Any) -> str:
    return "" if text is None else str(text)


class Gatherer:
    """Collects rows. `name` is the file's, for errors; `exporter` is the switch of rows without one.

    `skipped` counts bad rows by the first applicable reason: `NOTHING` in a required column, `ADDRESS`, `NUMBER`, `BACKWARDS`,
    `PATH`.
    """

    def __init__(self, name: str, columns: Columns, exporter: str = "") -> None:
        self.name, self.columns = name, columns
        self.endpoints, self.paths, self.exporters = Book(address), Book(_path), Book(_name)
        self.paths.look_up([""])  # path 0
        self.exporter = exporter
        self.skipped: Counter[str] = Counter()
        self.good = 0
        self._restored = self._bare = False
        self._parts: list[dict[str, NDArray[Any]]] = []
        self._first_bad: tuple[int, str] | None = None

    def restore(self, endpoints: Sequence[str], exporters: Sequence[str], paths: Sequence[str]) -> None:
        """Give these texts the codes 0, 1, 2 …, as when they were written. Call before adding rows.

        Records written without an exporter stay so, unless the file has one.
        """
        self.endpoints.look_up(endpoints)
        self.exporters.look_up(exporters)
        self.paths.look_up(paths)
        self._restored, self._bare = True, not exporters

    def add(self, given: Table, at: Ints) -> None:
        """Add rows by column, with their line numbers `at` (from 1); count and leave out bad ones."""
        if not len(at):
            return
        bad = np.zeros(len(at), np.bool_)
        for way, places in enumerate(self._ways()):
            table, reason, faults, empty = self._read(given, places, len(at))
            if way:  # no reverse traffic, or the row already counted as bad
                reason[empty | bad | ((table["octets"] == 0) & (table["packets"] == 0))] = -1
            bad = reason > 0
            for text in faults:
                self.drop(at[reason == faults[text]], text)
            keep = reason == 0
            self.good += int(np.count_nonzero(keep))
            self._parts.append({name: column[keep] for name, column in table.items()})

    def _ways(self) -> list[Mapping[str, Place]]:
        there, back = self.columns.places, self.columns.back
        return [there, {**there, **back}] if back else [there]

    def _read(
        self, given: Table, places: Mapping[str, Place], n: int
    ) -> tuple[dict[str, NDArray[Any]], NDArray[np.int16], dict[str, int], Mask]:
        """Convert rows to our columns.

        Returns also the reason code of bad rows (0: good), reasons by code, and rows without octets.
        """
        table: dict[str, NDArray[Any]] = {}
        empty, wrong = dict[str, Mask](), dict[str, Mask]()  # rows by reason
        optional = self.columns.optional
        found = {name: _numbers(given, places[name], name, n) for name in (*TIMES[:3], "octets") if name in places}
        if "duration_ns" in found:
            _spanned(found, optional)
        for column in COLUMNS:
            if column.name in TEXT:
                continue
            if column.name not in places and column.name not in found:
                table[column.name] = np.full(n, column.default, column.dtype)
                continue
            numbers = found.get(column.name) or _numbers(given, places[column.name], column.name, n)
            required = column.name in REQUIRED and column.name not in optional
            good = numbers.good if required else numbers.good | numbers.empty
            value = numbers.value if required else np.where(numbers.empty, column.default, numbers.value)
            their = _their(places, column.name)
            wrong[NUMBER.format(their)] = ~good | (value < 0) | (value > np.iinfo(np.dtype(column.dtype)).max)
            if required:
                empty[NOTHING.format(their)] = numbers.empty
            table[column.name] = value
        if "tcp_flags" in places and places["tcp_flags"].words:  # flags come from a history, which other protocols have too
            table["tcp_flags"] = np.where(table["protocol"] == TCP, table["tcp_flags"], 0)
        for name in ("src", "dst"):
            table[name] = self._codes(given, places[name], self.endpoints, n)
            empty[ADDRESS.format(_their(places, name))] = table[name] < 0
        self._placed(given, places, table)
        wrong[BACKWARDS], wrong[PATH.format(_their(places, "path"))] = table["end_ns"] < table["start_ns"], table["path"] < 0
        reason = np.zeros(n, np.int16)
        faults = {text: code for code, text in enumerate({**empty, **wrong}, 1)}
        for text, rows in (*empty.items(), *wrong.items()):
            if rows.any():
                reason[rows & (reason == 0)] = faults[text]
        return table, reason, faults, found["octets"].empty

    def _placed(self, given: Table, places: Mapping[str, Place], table: dict[str, NDArray[Any]]) -> None:
        """Add path and exporter: the named exporter, else the first switch of the path, else that of the file."""
        n = len(table["octets"])
        path = places.get("path")
        table["path"] = self._codes(given, path, self.paths, n) if path else np.zeros(n, np.int32)
        named = places.get("exporter")
        codes = self._codes(given, named, self.exporters, n) if named else np.full(n, -1, np.int32)
        unnamed = (codes < 0) | (codes == self.exporters.code.get("", -1))
        if unnamed.any():
            switches = [way[0] if way and not self._restored else self.exporter for way in self.paths.code]
            codes = np.where(unnamed, self.exporters.look_up(switches)[table["path"]], codes)
        table["exporter"] = codes

    def _codes(self, given: Table, place: Place, book: Book, n: int) -> Codes:
        if place.constant is not None and not place.column:
            return np.full(n, book[place.constant], np.int32)
        return _coded(_filled(given, place), book)

    def drop(self, lines: Ints, reason: str) -> None:
        """Count bad rows for a reason. Remember the first."""
        if len(lines):
            self.skipped[reason] += len(lines)
            first = (int(lines[0]), reason)
            self._first_bad = min(self._first_bad or first, first)

    def check(self, place: str = "line") -> None:
        """Raise DecodeError if more rows were bad than good. `place` is the unit of row numbers."""
        bad = self.skipped.total()
        if self._first_bad and bad > self.good:
            at, reason = self._first_bad
            raise DecodeError(
                f"{self.name}, {place} {at}: {reason}; {bad:,} of {bad + self.good:,} rows are bad, more than half, "
                "so the file is rejected; correct it or map its columns"
            )

    def taken(self) -> Flows:
        """Take the records since the last call, in file order; dictionaries grow, but never change."""
        parts, self._parts = self._parts, []
        # column by column, freeing each after its copy: needs memory for one more column only
        columns: dict[str, Any] = {c.name: np.concatenate([p.pop(c.name) for p in parts] or [np.zeros(0)]) for c in COLUMNS}
        return Flows.build(
            columns,
            endpoints=tuple(self.endpoints.code),
            exporters=() if self._bare and list(self.exporters.code) == [""] else tuple(self.exporters.code),
            paths=tuple(self.paths.code),
        )

    def flows(self) -> Flows:
        """Take the records since the last call, by start."""
        flows = self.taken()
        if np.any(flows.start_ns[1:] < flows.start_ns[:-1]):
            flows = flows.take(np.argsort(flows.start_ns, kind="stable"))
        return flows


class Gathered(ABC):
    """A file of records, to iterate over once, in parts in file order. `skipped` counts bad rows by reason."""

    def __init__(self, name: str, gatherer: Gatherer) -> None:
        self.name, self._gatherer = name, gatherer
        self.skipped = gatherer.skipped
        self.warnings: tuple[str, ...] = ()
        self.transits = Transits.empty()

    @abstractmethod
    def _gathered(self) -> Iterator[None]:
        """Put part after part into the gatherer."""

    def __iter__(self) -> Iterator[Flows]:
        for _ in self._gathered():
            yield self._gatherer.taken()

    def flows(self) -> Flows:
        """Return all records, by start."""
        for _ in self._gathered():
            pass
        return self._gatherer.flows()


def describe_missing(missing: Sequence[str], present: Sequence[str]) -> str:
    """Describe missing required columns: which are missing, which exist, and the remedy."""
    names = ", ".join(name for name in present[:MAX_NAMES] if name) or "none"
    more = f" and {len(present) - MAX_NAMES:,} more" if len(present) > MAX_NAMES else ""
    return f"missing column {', '.join(missing)}; its columns: {names}{more}; map them with --columns"


def _their(places: Mapping[str, Place], name: str) -> str:
    """Return the file's name of a column of ours."""
    place = places.get(name)
    return (place.column if place else "") or name


def _numbers(given: Table, place: Place, name: str, n: int) -> Numbers:
    words = parse_time if name in TIMES else place.words or WORDS.get(name)
    if place.column:
        found = integers(_filled(given, place), place.scale, words)
        return found._replace(empty=~found.good) if place.lenient else found
    one = integers(pa.array([place.constant]), place.scale, words)
    return Numbers(np.repeat(one.value, n), np.repeat(one.good, n), np.repeat(one.empty, n))


def _spanned(found: dict[str, Numbers], optional: frozenset[str]) -> None:
    """Compute the end from start and duration, or the start from end and duration; other rows stay unchanged."""
    length = found.pop("duration_ns")
    known = length.good | length.empty if "duration_ns" in optional else length.good
    if "end_ns" not in found and "start_ns" in found:
        start = found["start_ns"]
        found["end_ns"] = Numbers(start.value + length.value, start.good & known, start.empty)
    elif "start_ns" not in found and "end_ns" in found:
        end = found["end_ns"]
        found["start_ns"] = Numbers(end.value - length.value, end.good & known, end.empty)


def _filled(given: Table, place: Place) -> pa.Array:
    """Return a column, with replacements for empty values."""
    values = given[place.column]
    if place.unset:
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        unset = pa.compute.is_in(values, value_set=pa.array(place.unset, values.type))
        values = pa.compute.if_else(unset, pa.scalar(None, values.type), values)
    for other in place.instead:
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        more = given[other]
        more = more.dictionary_decode() if pa.types.is_dictionary(more.type) else more
        if more.type != values.type:
            values, more = values.cast(pa.string()), more.cast(pa.string())
        empty = values.is_null()
        if pa.types.is_string(values.type):
            empty = pa.compute.or_kleene(empty, pa.compute.equal(values, ""))
        values = pa.compute.if_else(pa.compute.fill_null(empty, True), more, values)
    return values


def _coded(values: pa.Array, book: Book) -> Codes:
    """Encode values, looking up each distinct one once; missing values are looked up as None."""
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    codes = np.append(book.look_up(to_list(values.dictionary)), np.int32(0))
    if values.null_count:
        codes[-1] = book[None]
    at = values.indices.fill_null(len(codes) - 1).to_numpy(zero_copy_only=False)
    return np.asarray(codes[at], np.int32)
