"""Read Zeek's conn.log (tab-separated and JSON). A connection becomes two records, one per direction with data.

Octets are Zeek's orig_bytes and resp_bytes: payload, from sequence numbers for TCP; if unset (no handshake seen), the octets of
the IP packets with headers. Both records last as long as the connection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa

from collectors.columns.record import ACK, FIN, PSH, RST, SYN
from collectors.formats.column_mapping import UNITS, Columns, Place
from collectors.formats.delimited import Delimited, Part
from collectors.formats.foreign_records import describe_missing
from collectors.packets.plain_decoder import DecodeError

SECONDS = UNITS["s"]
STEPS = {"s": SYN, "h": SYN | ACK, "a": ACK, "d": ACK | PSH, "f": FIN | ACK, "r": RST}
_COMMENT = re.compile(rb"^#[^\n]*\n", re.MULTILINE)


def originator_flags(history: str) -> int:
    """Collect the TCP flags of the originator: upper case in a connection's history."""
    return _union(letter.lower() for letter in history if letter.isupper())


def responder_flags(history: str) -> int:
    """Collect the TCP flags of the responder: lower case."""
    return _union(letter for letter in history if letter.islower())


def _union(letters: Iterator[str]) -> int:
    flags = 0
    for letter in letters:
        flags |= STEPS.get(letter, 0)
    return flags


COLUMNS = Columns(
    {
        "start_ns": Place("ts", SECONDS),
        "duration_ns": Place("duration", SECONDS),
        "src": Place("id.orig_h"),
        "dst": Place("id.resp_h"),
        "src_port": Place("id.orig_p", lenient=True),
        "dst_port": Place("id.resp_p", lenient=True),
        "protocol": Place("proto", lenient=True),
        "octets": Place("orig_bytes", instead=("orig_ip_bytes",)),
        "packets": Place("orig_pkts"),
        "tcp_flags": Place("history", words=originator_flags, lenient=True),
    },
    {
        "src": Place("id.resp_h"),
        "dst": Place("id.orig_h"),
        "src_port": Place("id.resp_p", lenient=True),
        "dst_port": Place("id.orig_p", lenient=True),
        "octets": Place("resp_bytes", instead=("resp_ip_bytes",)),
        "packets": Place("resp_pkts"),
        "tcp_flags": Place("history", words=responder_flags, lenient=True),
    },
    optional=frozenset({"duration_ns", "octets"}),
)


class Log:
    """The lines of a tab-separated log, with the header lines that define its format."""

    def __init__(self, name: str, columns: Columns = COLUMNS) -> None:
        self.columns, self._name = columns, name
        self._said = {"separator": "\t", "unset_field": "-", "empty_field": "(empty)"}
        self._table: Delimited | None = None

    def parts(self, line: int, block: bytes) -> Iterator[Part]:
        """Parse the rows of a block of whole lines; its first line has number `line`.

        Raises DecodeError for missing columns.
        """
        at = 0
        for comment in _COMMENT.finditer(block):
            yield from self._rows(line, block[at : comment.start()])
            line += block.count(b"\n", at, comment.start())
            self._header(line, comment[0].decode("utf-8", "replace")[1:-1])
            line, at = line + 1, comment.end()
        yield from self._rows(line, block[at:])

    def _header(self, line: int, text: str) -> None:
        if text.startswith("separator "):
            code = text.removeprefix("separator ").strip()
            separator = chr(int(code[2:4], 16)) if re.fullmatch(r"\\x[0-9a-fA-F]{2}", code) else code
            if len(separator) != 1 or not (separator.isascii() and separator not in '\n\r"\0'):
                raise DecodeError(
                    f"{self._name}, line {line}: {code!r} is not a column separator; it is one character, such as \\x09"
                )
            self._said["separator"] = separator
        key, _, value = text.partition(self._said["separator"])
        if key in ("unset_field", "empty_field"):
            self._said[key] = value
        if key != "fields":
            return
        names = value.split(self._said["separator"])
        there = self.columns.present(names)
        if missing := [n for n in there.missing() if n not in self.columns.optional]:
            missing = [self.columns.foreign_name(ours) for ours in missing]
            raise DecodeError(f"{self._name}, line {line}: {describe_missing(missing, names)}")
        self._table = Delimited(
            names,
            self.columns.columns_to_read(),
            delimiter=self._said["separator"],
            null=("", self._said["unset_field"], self._said["empty_field"]),
            quoted=False,
        )

    def _rows(self, line: int, block: bytes) -> Iterator[Part]:
        if not block:
            return
        if self._table is None:
            raise DecodeError(
                f"{self._name}, line {line}: rows before the line #fields with the column names; keep the header of the log"
            )
        for part in self._table.parts(line, block):
            absent = {name: pa.nulls(len(part.at)) for name in self.columns.columns_to_read() if name not in part.columns}
            yield part._replace(columns={**absent, **part.columns})
