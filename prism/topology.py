"""Placement of endpoints: address → host, rail, leaf; and the links between switches.

A document is JSON, YAML or CSV (columns address, host, rail, leaf, rack, port). Every field of an endpoint is optional;
endpoints that are not listed are unknown. The caller reads the file.
"""

from __future__ import annotations

import csv
import io
import ipaddress
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeGuard

from collectors.files.documents import Object, load_json, load_yaml

_FIELDS = ("host", "rail", "leaf", "rack", "port")
_FIELDS_SET = frozenset(_FIELDS[:3])  # one of them beside `address` makes a table a topology
_BEGINNING = re.compile(r"""(?:\{\s*)?["']?(?:endpoints|links)["']?\s*:\s*(?:[\[{]|$)""", re.MULTILINE)
FASTEST = 1e6  # maximum plausible speed, Gbit/s
_UNKNOWN = ("", "null", "~")  # texts for unknown values


@dataclass(frozen=True)
class Endpoint:
    """Placement of an address; None if unknown. `rail` counts the NICs of a host from 0; `port` is the leaf's."""

    host: str | None
    rail: int | None
    leaf: str | None
    rack: str | None = None
    port: str | None = None


@dataclass(frozen=True)
class Topology:
    """Placement of endpoints, and links between switches.

    Attributes
    ----------
    endpoints : dict of Endpoint
        Host, rail and leaf by address, as `ipaddress` spells it.
    links : tuple of pairs of str
        Links between switches, each once.
    gbit : dict of float
        Speeds, Gbit/s, by address or "switch|switch" (in order of name).
    """

    endpoints: Mapping[str, Endpoint]
    links: tuple[tuple[str, str], ...] = ()
    gbit: Mapping[str, float] = field(default_factory=dict)

    def host(self, address: str) -> str | None:
        """Return the host of an address; None if unknown."""
        found = self.endpoints.get(address)
        return found.host if found else None

    def leaf(self, address: str) -> str | None:
        """Return the leaf switch of an address; None if unknown."""
        found = self.endpoints.get(address)
        return found.leaf if found else None

    def rail(self, address: str) -> int:
        """Return the index of an address among the NICs of its host, from 0; −1 if unknown."""
        found = self.endpoints.get(address)
        return found.rail if found and found.rail is not None else -1

    def hosts(self) -> tuple[str, ...]:
        """List all hosts, sorted."""
        return tuple(sorted({e.host for e in self.endpoints.values() if e.host}))

    @cached_property
    def at(self) -> Mapping[str, tuple[str, ...]]:
        """Map each host to its endpoints."""
        out: dict[str, list[str]] = defaultdict(list)
        for address, place in self.endpoints.items():
            if place.host is not None:
                out[place.host].append(address)
        return {host: tuple(own) for host, own in out.items()}

    @cached_property
    def sizes(self) -> Counter[str | None]:
        """Count the endpoints of each host."""
        return Counter(e.host for e in self.endpoints.values())

    def switches(self) -> tuple[str, ...]:
        """List all leaves and ends of links, sorted."""
        return self._switches

    @cached_property
    def _switches(self) -> tuple[str, ...]:
        leaves = {e.leaf for e in self.endpoints.values() if e.leaf}
        return tuple(sorted(leaves | {end for link in self.links for end in link}))

    def switch_links(self, switch: str) -> tuple[tuple[str, str], ...]:
        """List the links that end at a switch, in the document's order."""
        return tuple(link for link in self.links if switch in link)


def parse(text: str, name: str) -> Topology:
    """Parse a topology. `name`: its file, for the format (.json, .csv, .yaml, else by content) and for errors.

    Raises ValueError, one line with file and position, for invalid content.
    """
    text = text.removeprefix("\ufeff")
    kind = _format(text, name)
    if kind == "csv":
        return Topology(_endpoints(_csv_rows(text, name), name))
    document = load_json(text, name) if kind == "json" else load_yaml(text, name)
    _check_object(document, name, ("endpoints", "links", "gbit"))
    if "endpoints" not in document:
        raise ValueError(f'{name}: "endpoints" is missing')
    return Topology(
        _endpoints(_document_rows(document["endpoints"], name, as_text=kind == "yaml"), name),
        _links(document.get("links", []), name),
        _speeds(document.get("gbit", {}), name),
    )


def is_topology(head: str) -> bool:
    """Check whether a text starts like a topology, for example one given as a capture by mistake."""
    first = head.removeprefix("\ufeff").lstrip()
    columns = [cell.strip().lower() for cell in first.partition("\n")[0].split(",")]
    return bool(_BEGINNING.match(first)) or ("address" in columns and not _FIELDS_SET.isdisjoint(columns))


def _format(text: str, name: str) -> str:
    suffix = name.lower().rpartition(".")[2]
    if suffix in ("json", "csv"):
        return suffix
    if suffix in ("yaml", "yml"):
        return "yaml"
    first = text.lstrip().partition("\n")[0]
    if first.startswith(("{", "[")):
        return "json"
    return "csv" if "address" in first.lower().split(",") else "yaml"


def _check_object(value: Any, where: str, known: tuple[str, ...] | None = None) -> None:
    """Check that the value is an object with unique and known keys. Raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError(f"{where}: must be an object, not {shown(value)}")
    if isinstance(value, Object) and value.twice is not None:
        raise ValueError(f"{where}: {value.twice!r} is given twice")
    stray = next((key for key in value if known and key not in known), None)
    if known and stray is not None:
        raise ValueError(f"{where}: unknown key {stray!r}; known keys: {', '.join(known)}")


_Row = tuple[str, str, dict[str, Any]]  # position, address as written, its fields


def _document_rows(value: Any, name: str, *, as_text: bool) -> Iterator[_Row]:
    _check_object(value, f"{name}: endpoints")
    for address, fields in value.items():
        where = f'{name}: endpoints["{address}"]'
        _check_object(fields, where, _FIELDS)
        yield where, address, _from_text(fields) if as_text else fields


def _csv_rows(text: str, name: str) -> Iterator[_Row]:
    reader = csv.reader(io.StringIO(text), skipinitialspace=True, strict=True)
    header: list[str] = []
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            where = f"{name}:{reader.line_num}"
            if not any(cells):
                continue
            if not header:
                header = _csv_header([cell.lower() for cell in cells], where)
            elif len(cells) != len(header):
                raise ValueError(f"{where}: {len(cells)} cells, but the header names {len(header)} columns")
            else:
                fields = dict(zip(header, cells, strict=True))
                yield where, fields.pop("address"), _from_text(fields)
    except csv.Error as error:
        raise ValueError(f"{name}:{reader.line_num}: {error}") from None


def _csv_header(cells: list[str], where: str) -> list[str]:
    if "address" not in cells:
        raise ValueError(f"{where}: the header lacks the column address; columns: address, {', '.join(_FIELDS)}")
    for cell in cells:
        if cell != "address" and cell not in _FIELDS:
            raise ValueError(f"{where}: unknown column {cell!r}; known columns: address, {', '.join(_FIELDS)}")
        if cells.count(cell) > 1:
            raise ValueError(f"{where}: column {cell!r} is given twice")
    return cells


def _from_text(fields: dict[str, Any]) -> dict[str, Any]:
    """Convert fields of a text-only format: None for unknown values, and a number for the rail."""
    found = {key: None if value in _UNKNOWN else value for key, value in fields.items()}
    rail = found.get("rail")
    if isinstance(rail, str) and rail.isascii() and rail.isdigit() and len(rail) < 10:
        found["rail"] = int(rail)
    return found


def _endpoints(rows: Iterator[_Row], name: str) -> dict[str, Endpoint]:
    found: dict[str, Endpoint] = {}
    spelt: dict[str, str] = {}
    for where, written, fields in rows:
        address = normal_address(written, where)
        if address in found:
            other = f", once as {spelt[address]}" if spelt[address] != written else ""
            raise ValueError(f"{where}: {written} is given twice{other}")
        spelt[address] = written
        host, leaf, rack, port = (_name(fields.get(key), key, where) for key in ("host", "leaf", "rack", "port"))
        found[address] = Endpoint(host, _rail(fields.get("rail"), where), leaf, rack, port)
    if not found:
        raise ValueError(f"{name}: contains no endpoints")
    return found


def normal_address(written: str, context: str) -> str:
    """Normalise an address as `ipaddress` spells it. Raises ValueError with the position."""
    try:
        address = ipaddress.ip_address(written if isinstance(written, str) else "")
    except ValueError:
        raise ValueError(f"{context}: {written!r} is not an IPv4 or IPv6 address") from None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def _name(value: Any, key: str, where: str) -> str | None:
    if value is None or is_name(value):
        return value
    raise ValueError(f"{where}: {key} must be a name, not {shown(value)}")


def is_name(value: Any) -> TypeGuard[str]:
    """Check that a value is a printable, non-empty name, since it will appear in terminals and logs."""
    return isinstance(value, str) and value.isprintable() and bool(value.strip())


def _rail(value: Any, where: str) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31):
        return value
    raise ValueError(f"{where}: rail must be a whole number from 0, not {shown(value)}")


def _links(value: Any, name: str) -> tuple[tuple[str, str], ...]:
    """Parse links as pairs of two switches, each once in either direction."""
    if not isinstance(value, list):
        raise ValueError(f"{name}: links: must be a list of pairs, not {shown(value)}")
    links: dict[frozenset[str], tuple[str, str]] = {}
    for i, link in enumerate(value):
        ends = link if isinstance(link, list) else []
        if len(ends) != 2 or not all(map(is_name, ends)) or ends[0] == ends[1]:
            raise ValueError(f"{name}: links[{i}]: must be a pair of two switches, not {shown(link)}")
        links.setdefault(frozenset(ends), (ends[0], ends[1]))
    return tuple(links.values())


def _speeds(value: Any, name: str) -> dict[str, float]:
    """Parse speeds, Gbit/s, of addresses and of links, written switch|switch."""
    _check_object(value, f"{name}: gbit")
    found: dict[str, float] = {}
    for key, given in value.items():
        where = f'{name}: gbit["{key}"]'
        try:
            number = float(given) if not isinstance(given, bool) else 0.0
        except (TypeError, ValueError):
            number = 0.0
        if not 0 < number <= FASTEST:
            raise ValueError(f"{where}: must be a speed in Gbit/s, not {shown(given)}")
        ends = key.split("|")
        found["|".join(sorted(ends)) if len(ends) == 2 else normal_address(key, where)] = number
    return found


def shown(value: Any) -> str:
    """Quote a value for an error message."""
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
