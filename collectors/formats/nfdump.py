"""Read the output of `nfdump -o csv` and `-o json`. Octets are those of IP packets with headers (IPFIX octetDeltaCount).

The header distinguishes three families of CSV: `ts,te,td,sa,…` (1.6 to 1.7.1; its times are truncated to seconds, so the end is
start plus duration), `firstSeen,…` and `cnt,af,firstSeen,…` (later; the last has times in ms). Times are in nfdump's local time
zone, and are read as UTC. Records of both directions become two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.formats.column_mapping import UNITS, Columns, Place
from collectors.formats.delimited import Delimited, Part

NOBODY = ("0.0.0.0", "::")  # an unknown exporter
S, MS = UNITS["s"], UNITS["ms"]


def _both(places: dict[str, Place], octets: str, packets: str) -> Columns:
    """Add the reverse direction: addresses and ports are swapped."""
    turned = {"src": "dst", "dst": "src", "src_port": "dst_port", "dst_port": "src_port"}
    back = {ours: places[theirs] for ours, theirs in turned.items()}
    return Columns(places, {**back, "octets": Place(octets), "packets": Place(packets), "tcp_flags": Place(constant="0")})


_OLD = {
    "start_ns": Place("ts", S),
    "duration_ns": Place("td", S),
    "src": Place("sa"),
    "dst": Place("da"),
    "src_port": Place("sp", lenient=True),
    "dst_port": Place("dp", lenient=True),  # of ICMP: type.code
    "protocol": Place("pr", lenient=True),
    "octets": Place("ibyt", instead=("byt",)),
    "packets": Place("ipkt", instead=("pkt",)),
    "tcp_flags": Place("flg", lenient=True),
    "exporter": Place("ra", unset=NOBODY),
}
_NEW = {
    "start_ns": Place("firstSeen", S),
    "end_ns": Place("lastSeen", S),
    "duration_ns": Place("duration", S),
    "src": Place("srcAddr"),
    "dst": Place("dstAddr"),
    "src_port": Place("srcPort", lenient=True),
    "dst_port": Place("dstPort", lenient=True),
    "protocol": Place("proto", lenient=True),
    "octets": Place("bytes", instead=("inBytes",)),
    "packets": Place("packets", instead=("inPackets",)),
    "tcp_flags": Place("flags", lenient=True),
    "exporter": Place("routerIP", unset=NOBODY),
}
OLD = _both(_OLD, "obyt", "opkt")
NEW = _both(_NEW, "outBytes", "outPackets")
FAST = _both({**_NEW, "start_ns": Place("firstSeen", MS), "end_ns": Place("lastSeen", MS)}, "outBytes", "outPackets")
JSON = _both(
    {
        "start_ns": Place("first", S),
        "end_ns": Place("last", S),
        "src": Place("src4_addr", instead=("src6_addr",)),
        "dst": Place("dst4_addr", instead=("dst6_addr",)),
        "src_port": Place("src_port", lenient=True),
        "dst_port": Place("dst_port", lenient=True),
        "protocol": Place("proto", lenient=True),
        "octets": Place("in_bytes"),
        "packets": Place("in_packets"),
        "tcp_flags": Place("tcp_flags", lenient=True),
        "exporter": Place("ip4_router", instead=("ip6_router",), unset=NOBODY),
    },
    "out_bytes",
    "out_packets",
)


def columns(names: list[str]) -> Columns | None:
    """Return the mapping of an nfdump CSV header, None for another table."""
    has = set(names)
    if {"ts", "sa", "da"} <= has:
        return OLD
    if {"firstSeen", "srcAddr", "dstAddr"} <= has:
        return FAST if {"cnt", "af"} <= has else NEW
    return None


class NfdumpBlock:
    """The lines of nfdump's CSV: a summary ends the table, until the next header."""

    def __init__(self, header: str, table: Delimited) -> None:
        self._words = b"Summary", b"No matching flows", header.encode()
        self._marks = re.compile(rb"^(?:%b)[^\n]*\n" % b"|".join(map(re.escape, self._words)), re.MULTILINE)
        self._table, self._over = table, False

    def parts(self, line: int, block: bytes) -> Iterator[Part]:
        """Parse the rows of a block of whole lines; its first line has number `line`."""
        at = 0
        marked = any(word in block for word in self._words)
        for mark in self._marks.finditer(block) if marked else ():
            yield from self._rows(line, block[at : mark.start()])
            line += block.count(b"\n", at, mark.end())
            at = mark.end()
            self._over = mark[0].startswith((b"Summary", b"No matching"))
        yield from self._rows(line, block[at:])

    def _rows(self, line: int, block: bytes) -> list[Part]:
        if not block or self._over:
            return []
        return self._table.parts(line, block)
