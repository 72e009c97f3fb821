"""Unwrap log lines from journald's export and JSON formats, JSON Lines of container runtimes, and answers of Loki.

Each message becomes `TIME HOST PROGRAM: text`, which `line_prefixes` and `timestamps` read. References: systemd, Journal Export
Formats; Grafana Loki HTTP API, query_range.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import Any

MAX_OCTETS = 1 << 20  # octets of one field
_KEPT = ("MESSAGE", "_HOSTNAME", "SYSLOG_IDENTIFIER", "__REALTIME_TIMESTAMP", "_COMM")


def unwrap(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Convert blocks of lines to plain lines. The first line decides the format; plain lines stay unchanged."""
    blocks = iter(blocks)
    first = next(blocks, b"")
    head = first[:4096].lstrip()
    whole = chain((first,), blocks)
    if head.startswith((b"__CURSOR=", b"__REALTIME_TIMESTAMP=")):
        yield from _journal_export(whole)
    elif head.startswith(b"{") and (b'"__REALTIME_TIMESTAMP"' in head or (b'"log"' in head and b'"stream"' in head)):
        yield from _json_lines(whole)
    else:
        yield from whole


def plain(time_ns: int, host: str, program: str, message: str) -> str:
    """Format the lines of one message, each with its writer as a prefix."""
    try:
        moment = datetime.fromtimestamp(time_ns // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    except (ValueError, OverflowError, OSError):
        moment = "1970-01-01T00:00:00"
    head = f"{moment}.{time_ns % 1_000_000_000 // 1000:06d}Z {_word(host)} {_word(program)}: "
    return "".join(f"{head}{line}\n" for line in message.splitlines() or [""])


def _word(text: str) -> str:
    return "".join(c if c.isalnum() or c in "._-/" else "-" for c in text)[:48] or "unknown"


def _json_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    for block in blocks:
        out = []
        for line in block.splitlines():
            try:
                fields = json.loads(line)
            except (ValueError, RecursionError):
                fields = None
            out.append(_of_fields(fields) if isinstance(fields, dict) else line.decode("utf-8", "replace") + "\n")
        yield "".join(out).encode()


def _of_fields(fields: dict[str, Any]) -> str:
    if "log" in fields:  # container runtimes
        text = str(fields["log"])[:MAX_OCTETS].rstrip()
        return f"{fields.get('time', '')!s:.40} {fields.get('stream', 'stdout')!s:.6} F {text}\n"
    message = fields.get("MESSAGE", "")
    if isinstance(message, list):  # octets that are not text
        message = bytes(one & 255 for one in message[:MAX_OCTETS] if isinstance(one, int)).decode("utf-8", "replace")
    program = fields.get("SYSLOG_IDENTIFIER") or fields.get("_COMM") or "journal"
    return plain(_micros(fields.get("__REALTIME_TIMESTAMP")), str(fields.get("_HOSTNAME", "")), str(program), str(message))


def _micros(value: Any) -> int:
    text = str(value)
    return int(text) * 1000 if text.isascii() and text.isdigit() and len(text) < 18 else 0


def _journal_export(blocks: Iterable[bytes]) -> Iterator[bytes]:
    fields: dict[str, str] = {}
    rest = b""
    for block in blocks:
        data, at, out = rest + block, 0, []
        while (end := data.find(b"\n", at)) >= 0:
            line = data[at:end]
            if not line:
                if fields:
                    out.append(_of_fields(fields))
                fields, at = {}, end + 1
                continue
            name, equals, value = line.partition(b"=")
            if equals:
                at = end + 1
            else:  # a binary field: its name, a length of 64 bits, the octets
                size = int.from_bytes(data[end + 1 : end + 9], "little")
                if size > MAX_OCTETS or (len(data) < end + 10 + size and len(data) - at > 2 * MAX_OCTETS):
                    at = end + 1  # damaged: no length
                    continue
                if len(data) < end + 10 + size:
                    break
                value, at = data[end + 9 : end + 9 + size], end + 10 + size
            if (key := name.decode("ascii", "replace")) in _KEPT:
                fields[key] = value.decode("utf-8", "replace")
        rest = data[at:]
        yield "".join(out).encode()
    if fields:
        yield _of_fields(fields).encode()


def of_loki(document: Any) -> list[tuple[dict[str, str], list[tuple[int, str]]]]:
    """Parse an answer of query_range: labels and (time_ns, line) of each stream. Raises ValueError if it is not valid."""
    try:
        data = document["data"]
        if data["resultType"] != "streams":
            raise ValueError("the query must select log lines, not compute numbers of them")
        return [
            ({str(k): str(v) for k, v in one["stream"].items()}, [(int(value[0]), str(value[1])) for value in one["values"]])
            for one in data["result"]
        ]
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"not an answer of Loki's query_range: {error!r:.80}") from None
