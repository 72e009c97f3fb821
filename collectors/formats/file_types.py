"""Recognise a file by its first octets, and read files of records."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from collectors.columns.record import Flows, Transits
from collectors.formats import text_files
from collectors.formats.column_mapping import Columns, parse
from collectors.packets.plain_decoder import DecodeError

HEAD = 1 << 17  # octets that distinguish a dump from a capture, compressed or not
PARQUET = b"PAR1"
NFCAPD = "an nfcapd file", "nfdump -r {0} -o json > {0}.json"
# Formats of other programs that we do not read, by first octets, and the tool that converts them.
OTHERS = (
    (b"\x0c\xa5", *NFCAPD),
    (b"\xa5\x0c", *NFCAPD),
    (b"ARROW1\0\0", "an Arrow file", "pyarrow.parquet.write_table(pyarrow.feather.read_table('{0}'), '{0}.parquet')"),
    (b"SQLite format 3", "an SQLite database", "sqlite3 -csv -header {0} 'select …' > {0}.csv"),
)
CAPTURES = ((b"snoop\0\0\0", "a snoop capture", "editcap -F pcap {0} {0}.pcap"),)


class Kind(StrEnum):
    """Type of a file."""

    capture = "capture"
    text = "text"  # CSV, JSON, nfdump, Zeek
    parquet = "Parquet"
    ipfix = "IPFIX"  # messages in a file
    exports = "exports"  # a capture of datagrams of NetFlow, IPFIX or sFlow


class Records(Protocol):
    """An open file of records: `skipped` counts bad ones by reason, `warnings` list damage.

    `transits` are its delays and losses in switches, after it has been read.
    """

    skipped: Counter[str]
    warnings: tuple[str, ...]
    transits: Transits

    def __iter__(self) -> Iterator[Flows]:
        """Yield pieces of the records, in file order, each with its own dictionaries. Raises DecodeError."""

    def flows(self) -> Flows:
        """Return all records, by start. Raises DecodeError."""


def recognise_file(path: str | Path, *, dissected: bool = False) -> Kind:
    """Recognise a file; unknown content counts as a capture, whose reader reports the error. `-` is standard input.

    Raises DecodeError for known formats of other programs; captures of other kinds are captures if tshark opens them
    (`dissected`).
    """
    head = _head(path)
    if head.startswith(PARQUET):
        return Kind.parquet
    if text_files.is_dump(head):
        return Kind.text
    inside = text_files.unpacked_head(head)
    for magic, what, command in (*OTHERS, *(() if dissected else CAPTURES)):
        if inside.startswith(magic):
            raise DecodeError(f"{path}: {what} cannot be read; convert it: {command.format(path)}")
    if inside.startswith(PARQUET):
        raise DecodeError(f"{path}: a compressed Parquet file; unpack it first")
    if not inside:
        return Kind.capture
    from collectors.recorded_exports import export_files, ipfix_files

    if ipfix_files.is_ipfix(inside[:16]):
        return Kind.ipfix
    return Kind.exports if str(path) != "-" and export_files.is_capture_of_exports(path) else Kind.capture


def _head(path: str | Path) -> bytes:
    """Read the first octets of a file, of standard input without consuming them; none of a pipe, which cannot be rewound."""
    if str(path) == "-":
        return sys.stdin.buffer.peek(HEAD) if hasattr(sys.stdin.buffer, "peek") else b""
    try:
        if not Path(path).is_file():
            return b""
        with open(path, "rb") as file:
            return file.read(HEAD)
    except (OSError, ValueError):
        return b""  # the reader reports the error


def open_records(path: str | Path, columns: Columns | None = None, *, exporter: str = "", kind_: Kind | None = None) -> Records:
    """Open a file of records of any kind but a capture of traffic.

    `columns` maps columns of a table to ours; `exporter` is the switch of records without one.
    """
    found = kind_ or recognise_file(path)
    if found is Kind.parquet:
        from collectors.formats import parquet

        return parquet.Table(path, columns, exporter=exporter)
    if found is Kind.text:
        return text_files.Dump(path, columns, exporter=exporter)

    from collectors.recorded_exports import export_files

    return export_files.IpfixFile(path, exporter) if found is Kind.ipfix else export_files.Exports(path)


def read_columns(path: str) -> Columns:
    """Read a column mapping from a file. Raises ValueError, one line with its name."""
    try:
        return parse(Path(path).read_text(encoding="utf-8-sig"), path)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: offset {error.start}: not UTF-8 text") from None
