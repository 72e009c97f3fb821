"""Recognise a file by its first octets, and read the records of files that hold records."""

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

HEAD = 1 << 17  # octets that tell a dump from a capture, compressed or not
PARQUET = b"PAR1"
NFCAPD = "an nfcapd file", "nfdump -r {0} -o json > {0}.json"
# What others write that we do not read, by its first octets, and what makes of it what we do.
OTHERS = (
    (b"\x0c\xa5", *NFCAPD),
    (b"\xa5\x0c", *NFCAPD),
    (b"ARROW1\0\0", "an Arrow file", "pyarrow.parquet.write_table(pyarrow.feather.read_table('{0}'), '{0}.parquet')"),
    (b"SQLite format 3", "an SQLite database", "sqlite3 -csv -header {0} 'select …' > {0}.csv"),
)
CAPTURES = ((b"snoop\0\0\0", "a snoop capture", "editcap -F pcap {0} {0}.pcap"),)


class Kind(StrEnum):
    """What a file is."""

    capture = "capture"
    text = "text"  # CSV, JSON, nfdump's, Zeek's
    parquet = "Parquet"
    ipfix = "IPFIX"  # messages in a file
    exports = "exports"  # a capture of datagrams of NetFlow, IPFIX or sFlow


class Records(Protocol):
    """An open file of records: `skipped` counts bad ones by reason, `warnings` tells of damage.

    `transits` are what it tells of delays and losses in switches, once it has been read.
    """

    skipped: Counter[str]
    warnings: tuple[str, ...]
    transits: Transits

    def __iter__(self) -> Iterator[Flows]:
        """Pieces of the records, in the order of the file, each with dictionaries of its own. Raises DecodeError."""

    def flows(self) -> Flows:
        """All records, by start. Raises DecodeError."""


def kind(path: str | Path, *, dissected: bool = False) -> Kind:
    """What a file is; what it cannot be told of is a capture, whose reader says what is wrong. `-` is standard input.

    Raises DecodeError where it is something that another program reads; captures of others are captures where tshark is to
    open them (`dissected`).
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
    """The first octets of a file, of standard input without taking them; of a pipe none, since they could not be put back."""
    if str(path) == "-":
        return sys.stdin.buffer.peek(HEAD) if hasattr(sys.stdin.buffer, "peek") else b""
    try:
        if not Path(path).is_file():
            return b""
        with open(path, "rb") as file:
            return file.read(HEAD)
    except (OSError, ValueError):
        return b""  # the reader says what is wrong


def opened(path: str | Path, columns: Columns | None = None, *, exporter: str = "", kind_: Kind | None = None) -> Records:
    """A file of records, which is of any kind but a capture of traffic.

    `columns` says which column of a table is which of ours; `exporter` is the switch of records that name none.
    """
    found = kind_ or kind(path)
    if found is Kind.parquet:
        from collectors.formats import parquet

        return parquet.Table(path, columns, exporter=exporter)
    if found is Kind.text:
        return text_files.Dump(path, columns, exporter=exporter)

    from collectors.recorded_exports import export_files

    return export_files.IpfixFile(path, exporter) if found is Kind.ipfix else export_files.Exports(path)


def read_columns(path: str) -> Columns:
    """The columns that a mapping file names. Raises ValueError, one line that names it."""
    try:
        return parse(Path(path).read_text(encoding="utf-8-sig"), path)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: offset {error.start}: not UTF-8 text") from None
