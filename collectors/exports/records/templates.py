"""Parse template sets of NetFlow v9 (RFC 3954) and IPFIX (RFC 7011), and find our columns in their records."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from collectors.columns.record import COLUMNS, Ints
from collectors.exports.records.elements import TOTAL, Elements, Meaning

V5, V9, IPFIX = 5, 9, 10
TEMPLATES = {V9: 0, IPFIX: 2}  # set ids, RFC 3954 section 5.2, RFC 7011 section 3.3.2
OPTIONS = {V9: 1, IPFIX: 3}
FIRST_DATA_SET = 256
VARIABLE = 65535  # RFC 7011 section 7
ENTERPRISE = 0x8000
SCOPE = 0xFFFFFFFF  # enterprise for v9's scope fields, whose numbers are no element numbers
MOST_FIELDS = 10_000

FIELD, SKIP, TAKE, WHAT, WITHIN, STORE, MOST, UNIT = range(8)  # rows of slots
NUMBER, PLACE, LENGTH, REAL = range(4)  # part of a field that a slot reads
COUNT = -8  # storage of a slot: signed, limited, then scaled
_WIDEST = {"ipv4": (4,), "ipv6": (16,), "float": (4, 8), "ethernet": None, "ip": None}
_UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "delta_us": 1_000}  # of times that are a count
PLAIN = ("src_port", "dst_port", "protocol", "tcp_flags", "dst_qp")  # columns that are copied from the record
_NARROW = {column.name: np.dtype(column.dtype).itemsize for column in COLUMNS if column.name in PLAIN}
_PAIR, _LONG = struct.Struct(">HH"), struct.Struct(">I")


class Field(NamedTuple):
    """One field of a template."""

    enterprise: int
    element: int
    length: int  # VARIABLE: given in the record


class Definition(NamedTuple):
    """A received template: `fields` in order. No fields: it is withdrawn.

    `scope` is the number of leading scope fields of an options template; -1 for others.
    """

    id: int
    scope: int
    fields: tuple[Field, ...]


class TemplateError(ValueError):
    """A template set is invalid. Templates before the invalid one are in `good`."""

    def __init__(self, reason: str, good: list[Definition]) -> None:
        super().__init__(reason)
        self.good = good


def unpack_templates(octets: bytes, version: int, *, options: bool) -> list[Definition]:
    """Parse the templates of a set. Raises TemplateError."""
    found: list[Definition] = []
    at = 0
    try:
        while at + 4 <= len(octets):
            template, count = _PAIR.unpack_from(octets, at)
            if template < FIRST_DATA_SET and not (count == 0 and template in (TEMPLATES[IPFIX], OPTIONS[IPFIX])):
                if any(octets[at:]):
                    raise TemplateError("bad template id", found)
                break  # padding up to the end of the set
            unpack = _unpack_v9_options if version == V9 and options else _unpack_template
            definition, at = unpack(octets, at, version, options)
            if definition.fields and not any(field.length for field in definition.fields):
                raise TemplateError("template of no octets", found)
            found.append(definition)
    except (struct.error, ValueError) as error:
        if isinstance(error, TemplateError):
            raise
        raise TemplateError("template cut off" if isinstance(error, struct.error) else str(error), found) from None
    return found


def _unpack_template(octets: bytes, at: int, version: int, options: bool) -> tuple[Definition, int]:
    template, count = _PAIR.unpack_from(octets, at)
    at += 4
    scope = -1
    if options and count:
        scope = int.from_bytes(octets[at : at + 2], "big")
        at += 2
        if not 0 < scope <= count:  # RFC 7011 section 3.4.2.2
            raise ValueError("options template without a scope")
    fields, at = _unpack_fields(octets, at, count, version)
    return Definition(template, scope, fields), at


def _unpack_v9_options(octets: bytes, at: int, version: int, options: bool) -> tuple[Definition, int]:  # noqa: ARG001
    template, scopes = _PAIR.unpack_from(octets, at)
    others = int.from_bytes(octets[at + 4 : at + 6], "big")
    if scopes % 4 or others % 4:
        raise ValueError("options template with half a field")
    fields, end = _unpack_fields(octets, at + 6, (scopes + others) // 4, version)
    n = scopes // 4
    return Definition(template, n, tuple(Field(SCOPE, f.element, f.length) for f in fields[:n]) + fields[n:]), end


def _unpack_fields(octets: bytes, at: int, count: int, version: int) -> tuple[tuple[Field, ...], int]:
    if count > MOST_FIELDS:
        raise ValueError("template of too many fields")
    fields: list[Field] = []
    for _ in range(count):
        element, length = _PAIR.unpack_from(octets, at)
        at, enterprise = at + 4, 0
        if version == IPFIX and element & ENTERPRISE:
            enterprise = _LONG.unpack_from(octets, at)[0]
            at, element = at + 4, element & ~ENTERPRISE
        fields.append(Field(enterprise, element, length))
    return tuple(fields), at


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions of our columns in the records of a template.

    `lengths`: octets of each nonempty field, -1 for variable length. `size`: octets of a record, its minimum if not `fixed`. A
    slot is one number of a record: `slots` [8, k] have its field, octets of the field to skip, octets to take (-1: all), the
    part to take (`NUMBER` ...), and its place in a fixed-size record; then its storage: unsigned with so many octets, or
    (`COUNT`) signed, limited to `MOST` and multiplied by `UNIT`. `meanings`: their meanings. An IPv6 address has two slots, its
    upper and lower half; a frame has two, its place and its length.
    """

    lengths: Ints
    size: int
    fixed: bool
    options: bool
    slots: Ints
    meanings: tuple[Meaning, ...]

    @property
    def octets(self) -> int:
        """Estimate its memory."""
        return 1000 + self.lengths.nbytes + self.slots.nbytes


def layout_of(definition: Definition, elements: Elements) -> Layout:
    """Compute the layout of a template.

    Variable-length fields belong to IPFIX (RFC 7011 section 7), but some exporters use them in version 9 too, where a field of
    65,535 octets would not fit into a datagram.
    """
    fields = [field for field in definition.fields if field.length]
    lengths = np.array([-1 if f.length == VARIABLE else f.length for f in fields], np.int64)
    places = np.concatenate([[0], np.cumsum(np.maximum(lengths, 1))]).astype(np.int64)
    chosen = _chosen(fields, lengths, elements, options=definition.scope >= 0)
    slots: list[tuple[int, ...]] = []
    meanings: list[Meaning] = []
    for i, meaning in chosen:
        for skip, take, what in _parts(meaning, int(lengths[i])):
            slots.append((i, skip, take, what, int(places[i]) + skip, *_stored(meaning)))
            meanings.append(meaning)
    table = np.array(slots, np.int64).reshape(-1, 8).T
    fixed = not bool((lengths < 0).any())
    return Layout(lengths, int(places[-1]), fixed, definition.scope >= 0, np.ascontiguousarray(table), tuple(meanings))


def _chosen(fields: list[Field], lengths: Ints, elements: Elements, *, options: bool) -> list[tuple[int, Meaning]]:
    """Choose the best field of each column: the first in the table, then in the template."""
    best: dict[tuple[str, str], tuple[int, int, Meaning]] = {}
    for i, field in enumerate(fields):
        meaning = elements.get(field.enterprise, field.element)
        if meaning is None or not _fits(meaning, int(lengths[i])) or (meaning.column == "evidence" and not options):
            continue
        several = {"src": meaning.unit, "dst": meaning.unit, "evidence": meaning.name, "key": meaning.name}
        key = (meaning.column, several.get(meaning.column, ""))
        best[key] = min(best.get(key, (meaning.place, i, meaning)), (meaning.place, i, meaning))
    totals = any(meaning.unit == TOTAL for _, _, meaning in best.values())
    return [(i, meaning) for _, i, meaning in best.values() if totals or meaning.column != "key"]


def _fits(meaning: Meaning, length: int) -> bool:
    if meaning.unit in _WIDEST:
        wanted = _WIDEST[meaning.unit]
        return wanted is None or length in wanted
    if meaning.unit in ("us", "ns") and meaning.column != "duration":
        return length == 8  # NTP format, RFC 7011 section 6.1.9
    return length <= 8


def _parts(meaning: Meaning, length: int) -> tuple[tuple[int, int, int], ...]:
    """List the slots of a field: octets to skip, octets to take, part to take."""
    if meaning.unit == "ipv6":
        return (0, 8, NUMBER), (8, 8, NUMBER)
    if meaning.column == "frame":
        return (0, length, PLACE), (0, length, LENGTH)
    return ((0, length, REAL if meaning.unit == "float" else NUMBER),)


def _stored(meaning: Meaning) -> tuple[int, int, int]:
    """Return storage, limit and unit of a number; unchanged if its meaning depends on other fields."""
    if meaning.unit == "ipv4" or meaning.column in _NARROW:
        return _NARROW.get(meaning.column, 4), 0, 1
    unit = 1_000 if meaning[:2] == ("duration", "us") else _UNITS.get(meaning.unit, 0)
    if unit:
        return COUNT, ((1 << 62) - 1) // unit, unit
    return (COUNT, (1 << 63) - 1, 1) if meaning.unit in ("", TOTAL) or meaning.column == "frame" else (8, 0, 1)
