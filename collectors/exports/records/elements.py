"""Map elements of NetFlow v9 and IPFIX to our columns: our table (`elements.csv`) and elements that a user adds.

A line is `enterprise,element,name,column,unit`: enterprise 0 is IANA's registry, and NetFlow v9's numbers are the same;
29305 is the reverse direction (RFC 5103), 4294967295 the scope fields of v9. The column is one of `MEANINGS`: of a flow
record, or one of those that come together in one; octets and packets of the unit `total` are running totals of a flow. Where
several elements of a template mean the same column, the first in the table counts; a user's lines come before ours. A line
with an empty column takes the meaning from an element.
"""

from __future__ import annotations

import csv
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from collectors.packets.plain_decoder import DecodeError

HEAD = ("enterprise", "element", "name", "column", "unit")
TOTAL = "total"
ANYTHING, COUNTED, TIMES = ("",), ("", TOTAL), ("s", "ms", "us", "ns", "uptime", "delta_us")
MEANINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "src": ("ipv4", "ipv6"),
        "dst": ("ipv4", "ipv6"),
        **dict.fromkeys(("start", "end", "reverse_start", "reverse_end"), TIMES),
        "duration": ("ms", "us"),
        "boot": ("ms",),
        "frame": ("ethernet", "ip"),
        "sampling_probability": ("float",),
        **dict.fromkeys(("src_port", "dst_port", "protocol", "tcp_flags", "dst_qp"), ANYTHING),
        **dict.fromkeys(("octets", "packets", "reverse_octets", "reverse_packets"), COUNTED),
        **dict.fromkeys(("messages", "retransmits", "ecn", "cnp", "busy_ns"), ANYTHING),
        "reverse_tcp_flags": ANYTHING,
        **dict.fromkeys(("sampling_rate", "sampling_interval", "sampling_space"), ANYTHING),
        **dict.fromkeys(("sampling_size", "sampling_population", "sampler"), ANYTHING),
        **dict.fromkeys(("interface", "in_interface", "out_interface", "line_card", "template", "domain"), ANYTHING),
        **dict.fromkeys(("frame_octets", "ip_octets", "evidence", "key"), ANYTHING),
    }
)


class Meaning(NamedTuple):
    """Meaning of an element: its column, unit, name, and place in the table."""

    column: str
    unit: str
    name: str
    place: int


@dataclass(frozen=True)
class Elements:
    """The table, by (enterprise, element)."""

    meanings: Mapping[tuple[int, int], Meaning]

    def get(self, enterprise: int, element: int) -> Meaning | None:
        """Return the meaning of an element, None if it is not used."""
        return self.meanings.get((enterprise, element))


def parse(text: str, name: str = "elements", base: Elements | None = None) -> Elements:
    """Parse a table of elements from CSV with the header `HEAD`. Its lines override those of `base`.

    Raises DecodeError with the table's name and the line of the first error.
    """
    meanings: dict[tuple[int, int], Meaning] = {}
    for key, meaning in _lines(text, name):
        meanings.setdefault(key, meaning)
    rest = [(key, m) for key, m in (base.meanings if base else {}).items() if key not in meanings]
    for place, (key, meaning) in enumerate(rest, len(meanings)):
        meanings[key] = meaning._replace(place=place)
    return Elements(MappingProxyType({key: meaning for key, meaning in meanings.items() if meaning.column}))


def _lines(text: str, name: str) -> Iterator[tuple[tuple[int, int], Meaning]]:
    rows = csv.reader(text.removeprefix("\ufeff").splitlines(), strict=True)
    line = 1
    try:
        if tuple(next(rows, [])) != HEAD:
            raise DecodeError(f"{name}, line 1: the header must be {','.join(HEAD)}")
        for place, row in enumerate(rows):
            line += 1
            if row and not row[0].startswith("#"):
                yield _line(row, f"{name}, line {line}", place)
    except csv.Error as error:
        raise DecodeError(f"{name}, line {line}: {error}") from None


def _line(row: list[str], where: str, place: int) -> tuple[tuple[int, int], Meaning]:
    if len(row) != len(HEAD):
        raise DecodeError(f"{where}: {len(row)} columns, must be {len(HEAD)}: {', '.join(HEAD)}")
    enterprise, element, called, column, unit = (cell.strip() for cell in row)
    if not (enterprise.isdecimal() and element.isdecimal() and int(enterprise) < 1 << 32 and int(element) < 1 << 16):
        raise DecodeError(
            f"{where}: enterprise must be 0 to 4294967295 and element 0 to 65535; they are {enterprise!r} and {element!r}"
        )
    if column and column not in MEANINGS:
        raise DecodeError(f"{where}: unknown column {column!r}; known columns: {', '.join(MEANINGS)}")
    if column and unit not in MEANINGS[column]:
        raise DecodeError(f"{where}: the unit of {column} must be {' or '.join(MEANINGS[column]) or 'empty'}; it is {unit!r}")
    return (int(enterprise), int(element)), Meaning(column, unit, called, place)


def _shipped() -> Elements:
    return parse((pkgutil.get_data("collectors.exports.records", "elements.csv") or b"").decode(), "elements.csv")


DEFAULT = _shipped()
