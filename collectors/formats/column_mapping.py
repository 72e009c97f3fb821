"""Map columns of foreign tables to ours: names, units, scales, constants; from a YAML file or a known format."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from collectors.columns.record import COLUMNS
from collectors.files.documents import load_yaml

REQUIRED = ("start_ns", "end_ns", "src", "dst", "octets")
TIMES = ("start_ns", "end_ns", "duration_ns", "busy_ns")
UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "iso": 1}
NAMES = (*(c.name for c in COLUMNS), "duration_ns")
KEYS = ("column", "unit", "scale", "constant")
PROTOCOLS = {  # names used by programs (IANA's keywords); Zeek's unknown protocols are 0
    "hopopt": 0,
    "unknown": 0,
    "unknown_transport": 0,
    "icmp": 1,
    "igmp": 2,
    "ipip": 4,
    "ipv4": 4,
    "st": 5,
    "tcp": 6,
    "egp": 8,
    "igp": 9,
    "udp": 17,
    "dccp": 33,
    "ipv6": 41,
    "rsvp": 46,
    "gre": 47,
    "esp": 50,
    "ah": 51,
    "icmp6": 58,
    "icmpv6": 58,
    "ipv6-icmp": 58,
    "eigrp": 88,
    "ospf": 89,
    "etherip": 97,
    "pim": 103,
    "vrrp": 112,
    "l2tp": 115,
    "sctp": 132,
    "udplite": 136,
}
FLAGS = {letter: 1 << bit for bit, letter in enumerate("FSRPAUEC")}


@dataclass(frozen=True)
class Place:
    """Source of one of our columns: their `column` (if empty, one of `instead`), or a `constant`.

    Numbers are multiplied by `scale`, which is ns per unit for times. `words` converts text that is no number, or raises
    ValueError. ISO times are accepted with any unit. If `lenient`, unreadable values count as unknown and do not invalidate the
    row. Texts in `unset` count as missing.
    """

    column: str = ""
    scale: float = 1
    constant: str | None = None
    instead: tuple[str, ...] = ()
    words: Callable[[str], int] | None = None
    lenient: bool = False
    unset: tuple[str, ...] = ()


@dataclass(frozen=True)
class Columns:
    """Our columns in a foreign table. For tables with both directions of a flow, `back` has the columns that differ in reverse.

    `duration_ns`, which is no column of ours, replaces a missing end or start. `optional` columns may be empty in a row and
    then count as 0.
    """

    places: Mapping[str, Place]
    back: Mapping[str, Place] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()

    def columns_to_read(self) -> list[str]:
        """List their columns to read, each once."""
        places = [*self.places.values(), *self.back.values()]
        return list(dict.fromkeys(name for p in places for name in (p.column, *p.instead) if name))

    def present(self, names: Collection[str]) -> Columns:
        """Restrict the mapping to existing columns."""

        def there(places: Mapping[str, Place]) -> dict[str, Place]:
            found = {}
            for ours, place in places.items():
                known = [name for name in (place.column, *place.instead) if name in names]
                if known:
                    found[ours] = replace(place, column=known[0], instead=tuple(known[1:]))
                elif place.constant is not None:
                    found[ours] = place
            return found

        back = there(self.back)
        return replace(self, places=there(self.places), back=back if "octets" in back else {})

    def spanned(self, names: Collection[str]) -> Columns:
        """Choose how rows define their time range: by duration, or by both ends."""
        has = {ours for ours in TIMES if ours in self.places and self._found(self.places[ours], names)}
        gone = {"start_ns", "end_ns"} - has if "duration_ns" in has else {"duration_ns"}
        return replace(self, places={ours: place for ours, place in self.places.items() if ours not in gone})

    @staticmethod
    def _found(place: Place, names: Collection[str]) -> bool:
        return place.constant is not None or any(name in names for name in (place.column, *place.instead))

    def required_columns(self) -> list[str]:
        """List their columns that every row needs."""
        places = [self.places[ours] for ours in (*REQUIRED, "duration_ns") if ours in self.places and ours not in self.optional]
        return list(dict.fromkeys(place.column for place in places if place.column and not place.instead))

    def missing(self) -> list[str]:
        """List required columns that are missing, by their names if possible."""
        has = set(self.places)
        if "duration_ns" in has and has & {"start_ns", "end_ns"}:
            has |= {"start_ns", "end_ns"}
        return [name for name in REQUIRED if name not in has]

    def foreign_name(self, ours: str) -> str:
        """Name a column for errors: their name if different, and ours."""
        place = self.places.get(ours)
        return ours if place is None or place.column in ("", ours) else f"{place.column} ({ours})"


def parse_protocol(text: str) -> int:
    """Return the number of a protocol's name. Raises ValueError."""
    number = PROTOCOLS.get(text.lower())
    if number is None:
        raise ValueError(text)
    return number


def parse_flags(text: str) -> int:
    """Parse TCP flags as letters, such as ...AP.SF, or as a hexadecimal number. Raises ValueError."""
    if text.startswith("0x"):
        return int(text, 16)
    try:
        return sum({FLAGS[letter] for letter in text if letter != "."})
    except KeyError:
        raise ValueError(text) from None


WORDS: Mapping[str, Callable[[str], int]] = {"protocol": parse_protocol, "tcp_flags": parse_flags}
OURS = Columns({name: Place(name) for name in NAMES})


def parse(text: str, name: str) -> Columns:
    """Parse a column-mapping file: our names, each with theirs, or with `column` or `constant`, `unit` and `scale`.

    Units are ns, us, ms, s or iso, for times only. Raises ValueError, one line with the file and the column.
    """
    given = load_yaml(text, name)
    if not isinstance(given, dict) or not given:
        raise ValueError(f"{name}: defines no columns; write one line per column, such as octets: bytes_sent")
    unknown = [str(key) for key in given if key not in NAMES]
    if unknown:
        raise ValueError(f"{name}: unknown column {', '.join(unknown)}; known columns: {', '.join(NAMES)}")
    found = Columns({ours: _place(ours, theirs, name) for ours, theirs in given.items()})
    if missing := found.missing():
        hint = "" if {"src", "dst", "octets"} & set(missing) else " (or duration_ns)"
        raise ValueError(f"{name}: missing column {', '.join(missing)}{hint}")
    return found


def _place(ours: str, given: object, name: str) -> Place:
    where = f"{name}: {ours}"
    said = {"column": given} if isinstance(given, str) else given
    if not isinstance(said, dict) or not said:
        raise ValueError(f"{where}: must be a column name, or a table with {', '.join(KEYS)}")
    for key, value in said.items():
        if key not in KEYS:
            raise ValueError(f"{where}: {key}: unknown key; known keys: {', '.join(KEYS)}")
        if not isinstance(value, str) or not value:
            raise ValueError(f"{where}: {key}: must be text or a number")
    if ("column" in said) == ("constant" in said):
        raise ValueError(f"{where}: column and constant exclude each other; give one of them")
    if "unit" in said and ours not in TIMES:
        raise ValueError(f"{where}: unit: only times have a unit ({', '.join(TIMES)})")
    if said.get("unit", "ns") not in UNITS:
        raise ValueError(f"{where}: unit: {said['unit']} must be one of {', '.join(UNITS)}")
    scale = UNITS[said.get("unit", "ns")] * _scale(said.get("scale", "1"), where)
    return Place(said.get("column", ""), scale, said.get("constant"))


def _scale(text: str, where: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        scale = math.nan
    if not 0 < scale <= 1e12:
        raise ValueError(f"{where}: scale: {text} must be a number above 0")
    return int(scale) if scale == int(scale) else scale
