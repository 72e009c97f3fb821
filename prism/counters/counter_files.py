"""Read counters from files: tables (CSV, Parquet) with a column mapping, gNMI, SNMP, Prometheus, captures of sFlow."""

from __future__ import annotations

import gzip
import io
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import zstandard

from collectors.captures import pcap
from collectors.exports.evidence import Counters
from collectors.exports.sflow.sflow import SflowDecoder
from collectors.packets.plain_decoder import DecodeError
from collectors.recorded_exports import captured_exports
from prism.counters._counter_formats import parse
from prism.counters.counter_samples import Gathering, Samples, joined

OURS = ("time", "switch", "port", "in_octets", "out_octets")
LARGEST = 4 << 30  # maximum octets of a file, decompressed
UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}


def read(paths: Sequence[str], mapping: Mapping[str, str] | None = None) -> Samples:
    """Read samples of all files. `mapping`: our column name → theirs, and `time_unit` (s, ms, us, ns).

    Raises OSError if a file cannot be read, ValueError if it holds no counters.
    """
    wrong = set(mapping or ()) - {*OURS, "time_unit"}
    if wrong:
        raise ValueError(f"column mapping: unknown name {sorted(wrong)[0]!r}; known: {', '.join((*OURS, 'time_unit'))}")
    return joined([_read(path, dict(mapping or {})) for path in paths])


def _read(path: str, mapping: dict[str, str]) -> Samples:
    if path.endswith(".parquet"):
        try:
            return _of_table(pa.parquet.read_table(path), path, mapping)
        except pa.ArrowException as error:
            raise ValueError(f"{path}: {error}") from None
    with open(path, "rb") as stream:
        head = stream.read(4)
    if head in _PCAP or path.endswith(_PACKED):
        return _of_sflow(path)
    data = _data(path, head)
    start = data[:65536].lstrip()[:1]
    if start in (b"{", b"[", b"#") or b"IF-MIB::" in data[:4096] or data.startswith((b".1.3.6", b"iso.")):
        into = Gathering()
        if not parse(data.decode("utf-8", "replace"), into):
            raise ValueError(f"{path}: no counters of octets; known: gNMI and Prometheus JSON, SNMP walks, tables, sFlow")
        return into.samples()
    try:
        table = pa.csv.read_csv(io.BytesIO(data))
    except pa.ArrowException as error:
        raise ValueError(f"{path}: not a table: {error}") from None
    return _of_table(table, path, mapping)


_PCAP = (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\xa1\xb2\x3c\x4d", b"\x0a\x0d\x0d\x0a")


_PACKED = tuple(f"{kind}.{pack}" for kind in (".pcap", ".pcapng") for pack in ("gz", "zst"))


def _data(path: str, head: bytes) -> bytes:
    try:
        if head.startswith(b"\x1f\x8b"):
            with gzip.open(path) as packed:
                data = packed.read(LARGEST + 1)
        elif head == b"\x28\xb5\x2f\xfd":
            with open(path, "rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as stream:
                data = stream.read(LARGEST + 1)
        else:
            with open(path, "rb") as plain:
                data = plain.read(LARGEST + 1)
    except (EOFError, zstandard.ZstdError, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: damaged: {error}") from None
    if len(data) > LARGEST:
        raise ValueError(f"{path}: more than {LARGEST >> 30} GiB; give shorter files")
    return data


def _of_table(table: pa.Table, path: str, mapping: dict[str, str]) -> Samples:
    unit = UNITS.get(mapping.get("time_unit", ""))
    columns = {}
    for ours in OURS:
        theirs = mapping.get(ours, ours)
        if theirs in table.column_names:
            columns[ours] = table.column(theirs).combine_chunks()
        elif ours in ("time", "port") or ours in mapping:
            have = ", ".join(table.column_names[:12])
            raise ValueError(f"{path}: column {theirs!r} is missing; it has {have}. --mapping names the columns")
    if "in_octets" not in columns and "out_octets" not in columns:
        raise ValueError(f"{path}: neither in_octets nor out_octets is there; --mapping names the columns")
    rows = len(table)
    names, port = _coded(columns.get("switch"), columns["port"], rows)
    whole = {way: _whole(columns.get(way), rows, f"{path}: {way}") for way in ("in_octets", "out_octets")}
    time_ns = _times(columns["time"], unit, path)
    order = np.lexsort((time_ns, port))
    return Samples(names, port[order], time_ns[order], whole["in_octets"][order], whole["out_octets"][order])


def _coded(
    switch: pa.Array | None, port: pa.Array, rows: int
) -> tuple[tuple[tuple[str, str], ...], np.ndarray[tuple[int], np.dtype[np.int32]]]:
    ports = port.cast(pa.string()).fill_null("").dictionary_encode()
    codes = np.asarray(ports.indices, np.int64)
    switches = ["" for _ in range(1)]
    if switch is not None:
        encoded = switch.cast(pa.string()).fill_null("").dictionary_encode()
        switches = encoded.dictionary.to_pylist()
        codes = codes + np.asarray(encoded.indices, np.int64) * len(ports.dictionary)
    distinct, place = np.unique(codes, return_inverse=True) if rows else (np.zeros(0, np.int64), np.zeros(0, np.int64))
    own = ports.dictionary.to_pylist()
    return tuple((switches[int(code) // len(own)], own[int(code) % len(own)]) for code in distinct), place.astype(np.int32)


def _whole(column: pa.Array | None, rows: int, where: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    if column is None:
        return np.full(rows, -1, np.int64)
    try:
        number = column.cast(pa.float64(), safe=False) if pa.types.is_floating(column.type) else column.cast(pa.int64())
    except pa.ArrowException:
        raise ValueError(f"{where}: not a whole number in each row") from None
    values = np.asarray(number.fill_null(-1))
    return np.where(np.isfinite(values) & (values >= 0) & (values < 2**63), values, -1).astype(np.int64)


def _times(column: pa.Array, unit: float | None, path: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    try:
        if pa.types.is_timestamp(column.type):
            return np.asarray(column.cast(pa.timestamp("ns")).cast(pa.int64()).fill_null(0), np.int64)
        if pa.types.is_string(column.type):
            return np.asarray(column.cast(pa.timestamp("ns")).cast(pa.int64()).fill_null(0), np.int64)
        values = np.asarray(column.cast(pa.float64(), safe=False).fill_null(0))
        if unit is None:
            middle = float(np.median(values)) if len(values) else 0.0
            unit = next(scale for low, scale in ((1e17, 1.0), (1e14, 1e3), (1e11, 1e6), (-np.inf, 1e9)) if middle >= low)
        if pa.types.is_integer(column.type):
            return np.asarray(column.fill_null(0), np.int64) * int(unit)
        return np.round(values * unit).astype(np.int64)
    except (pa.ArrowException, ValueError):
        raise ValueError(f"{path}: a time is neither a number nor an ISO 8601 time") from None


def _of_sflow(path: str) -> Samples:
    decoder, extractor = SflowDecoder(), captured_exports.Extractor()
    found: list[Counters] = []
    try:
        with pcap.read(path) as capture:
            for batch in capture:
                _, samples = captured_exports.split(extractor.exports(batch))
                if len(samples):
                    decoder.decode(samples)
                    found += decoder.take_evidence().counters
    except DecodeError as error:
        raise ValueError(f"{path}: {error}") from None
    into = Gathering()
    for one in found:
        rows = zip(one.exporter, one.interface, one.time_ns, one.in_octets, one.out_octets, strict=True)
        for exporter, interface, time, came, went in rows:
            into.add(one.exporters[exporter], str(interface), int(time), in_octets=int(came), out_octets=int(went))
    if not len(into):
        raise ValueError(f"{path}: no counter samples of sFlow in this capture")
    return into.samples()
