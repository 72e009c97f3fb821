"""Complete a topology with neighbours that hosts and switches report: `lldpctl -f json`.

https://lldpd.github.io/usage.html. The document does not name its device: the caller does. A list with one entry may be an
object instead. An entry may have its name as key (`json`) or as a field (`json0`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from collectors.files.documents import load_json
from prism.inventory.job_matching import short_host
from prism.topology import Endpoint, Topology, is_name, shown

MOST = 100_000  # maximum neighbours of a document


@dataclass(frozen=True)
class Neighbour:
    """Port `port` of `device` is connected to port `other_port` of `other`."""

    device: str
    port: str
    other: str
    other_port: str


def parse(text: str, name: str, device: str) -> tuple[Neighbour, ...]:
    """Parse the neighbours of `device` from the output of lldpctl. Raises ValueError, one line with file and place."""
    document = load_json(text.removeprefix("\ufeff"), name)
    if not isinstance(document, dict) or "lldp" not in document:
        raise ValueError(f'{name}: is not the output of lldpctl -f json: "lldp" is missing')
    found: list[Neighbour] = []
    for at, port, fields in _named(_unlisted(document["lldp"]), "interface", f"{name}: lldp"):
        for there, other, about in _named(fields, "chassis", at):
            other = other or _value(about.get("name"), f"{there}.name") or _value(about.get("id"), f"{there}.id")
            far = _unlisted(fields.get("port", {}))
            if not isinstance(far, dict):
                raise ValueError(f"{at}.port: must be an object, not {shown(far)}")
            far_port = _value(far.get("id"), f"{at}.port.id") or _value(far.get("descr"), f"{at}.port.descr")
            if not is_name(other) or not is_name(port):
                raise ValueError(f"{there}: the neighbour has no name; give the switch or host a system name")
            found.append(Neighbour(device, port, other, far_port))
            if len(found) > MOST:
                raise ValueError(f"{name}: more than {MOST:,} neighbours")
    return tuple(found)


def _named(parent: Any, key: str, where: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield entries of one kind with their place and name, in either form of lldpctl."""
    if not isinstance(parent, dict):
        raise ValueError(f"{where}: must be an object, not {shown(parent)}")
    value = parent.get(key, [])
    for i, one in enumerate(value if isinstance(value, list) else [value]):
        at = f"{where}.{key}[{i}]"
        if not isinstance(one, dict):
            raise ValueError(f"{at}: must be an object, not {shown(one)}")
        if "id" in one or "name" in one:
            yield at, _value(one.get("name"), f"{at}.name"), one
            continue
        for name, fields in one.items():
            if not isinstance(fields, dict):
                raise ValueError(f"{at}.{name}: must be an object, not {shown(fields)}")
            yield f"{at}.{name}", name, fields


def _unlisted(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _value(value: Any, where: str) -> str:
    """Return a text in any of its forms: plain, {"value": …}, [{"value": …}]; empty if there is none."""
    value = _unlisted(value)
    if isinstance(value, dict):
        value = value.get("value", "")
    if value in (None, "", []):
        return ""
    if not is_name(value):
        raise ValueError(f"{where}: must be a name, not {shown(value)}")
    return str(value)


def completed(topology: Topology, neighbours: Sequence[Neighbour]) -> tuple[Topology, tuple[str, ...]]:
    """Add leaves and ports of endpoints, and links between switches, to a topology; also return messages about what did not
    fit.

    An endpoint gets its host's neighbour at the same position: NICs by rail, ports by name (eth2 before eth10). If their
    numbers differ, only a leaf that is the host's only one is used. Existing entries of the topology stay.
    """
    hosts = {short_host(host): host for host in topology.hosts()}
    ports: dict[str, dict[str, tuple[str, str]]] = {}
    links: dict[frozenset[str], tuple[str, str]] = {frozenset(link): link for link in topology.links}
    for one in neighbours:
        for near, port, far, far_port in (
            (one.device, one.port, one.other, one.other_port),
            (one.other, one.other_port, one.device, one.port),
        ):
            if short_host(near) in hosts and short_host(far) not in hosts:
                ports.setdefault(hosts[short_host(near)], {})[port or far_port] = far, far_port
        if short_host(one.device) not in hosts and short_host(one.other) not in hosts and one.device != one.other:
            links.setdefault(frozenset((one.device, one.other)), (one.device, one.other))
    endpoints, words = dict(topology.endpoints), []
    for host, own in ports.items():
        addresses = sorted(topology.at[host], key=lambda address: (topology.rail(address), address))
        seen = [own[port] for port in sorted(own, key=_natural)]
        if len(addresses) == len(seen):
            places = dict(zip(addresses, seen, strict=True))
        elif len({leaf for leaf, _ in seen}) == 1:
            places = dict.fromkeys(addresses, (seen[0][0], ""))
        else:
            words.append(f"{host} has {len(addresses)} endpoints but {len(seen)} ports to switches: its leaves stay unknown")
            continue
        for address, (leaf, port) in places.items():
            before = endpoints[address]
            if before.leaf is not None and before.leaf != leaf:
                words.append(f"{address} ({host}) is at {before.leaf} in the topology, at {leaf} by LLDP: the topology is kept")
                continue
            endpoints[address] = replace(before, leaf=leaf, port=before.port or port or None)
    return replace(topology, endpoints=endpoints, links=tuple(links.values())), tuple(words)


def _natural(text: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", text)]


def to_json(topology: Topology) -> dict[str, Any]:
    """Convert the topology to the document that `prism.topology.parse` reads."""
    endpoints = {address: _known(place) for address, place in topology.endpoints.items()}
    speeds = {"gbit": dict(topology.gbit)} if topology.gbit else {}
    return {"endpoints": endpoints, "links": [list(link) for link in topology.links], **speeds}


def _known(place: Endpoint) -> dict[str, Any]:
    return {name: value for name, value in vars(place).items() if value is not None}


def devices(files: Iterable[str]) -> dict[str, str]:
    """Device of each file: from DEVICE=FILE, else from the file name (leaf0.json, server3.lldp.json)."""
    out = {}
    for text in files:
        device, given, path = text.partition("=")
        out[path if given else text] = device if given else text.replace("\\", "/").rpartition("/")[2].partition(".")[0]
    return out
