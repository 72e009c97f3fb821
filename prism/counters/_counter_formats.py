"""Parse the output of counter collectors: gNMI (gnmic events, Notifications), SNMP walks, Prometheus and telegraf JSON.

References: openconfig-interfaces (state/counters); RFC 2863 (ifHCInOctets, ifHCOutOctets, ifName); Prometheus HTTP API
(query_range); gnmic's event format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prism.counters.counter_samples import Gathering

_IN, _OUT = "in_octets", "out_octets"
_NAMES = {
    "in-octets": _IN,
    "out-octets": _OUT,
    "ifhcinoctets": _IN,
    "ifhcoutoctets": _OUT,
    "ifinoctets": _IN,
    "ifoutoctets": _OUT,
    "node_network_receive_bytes_total": _IN,
    "node_network_transmit_bytes_total": _OUT,
}
_OIDS = {"1.3.6.1.2.1.31.1.1.1.6": _IN, "1.3.6.1.2.1.31.1.1.1.10": _OUT}
_NAME_OID = "1.3.6.1.2.1.31.1.1.1.1"
_WALK = re.compile(
    r"^(?:IF-MIB::(ifHCInOctets|ifHCOutOctets|ifInOctets|ifOutOctets|ifName)|\.?(?:iso\.|1\.)?(3\.6\.1\.2\.1\.31\.1\.1\.1\.(?:1|6|10)))"
    r"\.(\d{1,10}) = (?:(?:Counter64|Counter32|STRING): )?\"?(.*?)\"?\s*$"
)
_POLL = re.compile(r"^# *(\d{10})(?:\.(\d{1,9}))? +(\S{1,255})\s*$")
_KEY = re.compile(r"\[name=([^\]]{1,128})\]")
_PORT_TAGS = ("interface_name", "ifName", "ifDescr", "name", "device", "interface", "ifIndex", "port")
_SWITCH_TAGS = ("source", "agent_host", "instance", "host", "hostname", "switch", "target", "device_name")


def parse(text: str, into: Gathering) -> bool:
    """Parse a text into `into`; return whether its format is known."""
    head = text.lstrip()[:1]
    if head in ("{", "["):
        return _documents(text, into)
    return _walk(text.split("\n"), into)


def _documents(text: str, into: Gathering) -> bool:
    before = len(into)
    for document in _decoded(text):
        for one in document if isinstance(document, list) else [document]:
            if isinstance(one, Mapping):
                _document(one, into)
    return len(into) > before


def _decoded(text: str) -> Iterator[Any]:
    """Yield consecutive JSON documents, also on one line; stops at the first damage."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if at == len(text):
            return
        try:
            document, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield document


def _document(one: Mapping[str, Any], into: Gathering) -> None:
    data = one.get("data")
    if isinstance(data, Mapping) and isinstance(data.get("result"), list):
        _prometheus(data["result"], into)
    elif isinstance(one.get("values"), Mapping) and "timestamp" in one:
        _flat(one.get("tags"), one["values"], one["timestamp"], into)  # gnmic events
    elif isinstance(one.get("fields"), Mapping) and "timestamp" in one:
        _flat(one.get("tags"), one["fields"], one["timestamp"], into)  # telegraf
    elif isinstance(one.get("updates") or one.get("update"), list):
        _notification(one, into)


def _prometheus(result: Iterable[Any], into: Gathering) -> None:
    for series in result:
        labels = series.get("metric") if isinstance(series, Mapping) else None
        if not isinstance(labels, Mapping):
            continue
        kind = _NAMES.get(str(labels.get("__name__", "")).lower())
        where = _where(labels)
        values = series.get("values")
        if not kind or not where or not isinstance(values, list):
            continue
        for row in values:
            if isinstance(row, list) and len(row) == 2:
                _add(into, where, _time(row[0]), kind, row[1])


def _flat(tags: Any, values: Mapping[str, Any], time: Any, into: Gathering) -> None:
    where = _where(tags if isinstance(tags, Mapping) else {})
    for name, value in values.items():
        kind = _NAMES.get(str(name).rsplit("/", 1)[-1].lower())
        if kind and where:
            _add(into, where, _time(time), kind, value)


def _notification(one: Mapping[str, Any], into: Gathering) -> None:
    switch = str(one.get("source") or one.get("target") or "")
    prefix = str(one.get("prefix") or "")
    for update in one.get("updates") or one.get("update") or ():
        if not isinstance(update, Mapping):
            continue
        path = f"{prefix}/{update.get('Path') or update.get('path') or ''}"
        kind, name = _NAMES.get(path.rsplit("/", 1)[-1].lower()), _KEY.search(path)
        values = update.get("values")
        value = next(iter(values.values()), None) if isinstance(values, Mapping) else update.get("val")
        if isinstance(value, Mapping):
            value = next(iter(value.values()), None)
        if kind and name:
            _add(into, (switch, name[1]), _time(one.get("timestamp")), kind, value)


def _where(tags: Mapping[str, Any]) -> tuple[str, str] | None:
    port = next((str(tags[name]) for name in _PORT_TAGS if tags.get(name)), "")
    switch = next((str(tags[name]) for name in _SWITCH_TAGS if tags.get(name)), "")
    return (switch[:255], port[:255]) if port else None


def _time(value: Any) -> int:
    """Convert seconds, milliseconds, microseconds or nanoseconds to ns since the epoch, by magnitude; 0 if invalid."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return 0
    if not 0 < number < 1e20:
        return 0
    if isinstance(value, int) and number >= 1e17:
        return value
    scale = next(scale for low, scale in ((1e17, 1), (1e14, 1e3), (1e11, 1e6), (0, 1e9)) if number >= low)
    return round(number * scale)


def _add(into: Gathering, where: tuple[str, str], time_ns: int, kind: str, value: Any) -> None:
    try:
        number = int(value) if isinstance(value, int) or str(value).isdigit() else round(float(value))
    except (TypeError, ValueError, OverflowError):
        return
    if time_ns and 0 <= number < 1 << 63:
        into.add(*where, time_ns, in_octets=number if kind == _IN else -1, out_octets=number if kind == _OUT else -1)


def _walk(lines: Iterable[str], into: Gathering) -> bool:
    """Parse walks of SNMP tables, each after a line `# SECONDS SWITCH` with time and switch."""
    before = len(into)
    time_ns, switch = 0, ""
    names: dict[tuple[str, str], str] = {}
    for line in lines:
        if found := _POLL.match(line):
            time_ns = int(found[1]) * 10**9 + int((found[2] or "0").ljust(9, "0"))
            switch = found[3]
        elif (row := _WALK.match(line)) and time_ns:
            kind = _NAMES.get((row[1] or "").lower()) or _OIDS.get(f"1.{row[2]}")
            if row[1] == "ifName" or f"1.{row[2]}" == _NAME_OID:
                names[switch, row[3]] = row[4][:128]
            elif kind:
                _add(into, (switch, names.get((switch, row[3]), row[3])), time_ns, kind, row[4])
    return len(into) > before
