"""Convert times in requests and answers: nanoseconds since the epoch, and RFC 3339 text."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

LAST = 2**63 - 1
NS, TIME = "_ns", "_time"  # a time NAME_ns of an answer has a companion NAME_time
DURATIONS = ("busy_ns",)
EXAMPLE = "2026-11-25T07:00:00Z"
_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def add_time_texts(value: Any) -> Any:
    """Add to every time `NAME_ns` a companion `NAME_time`: RFC 3339 in UTC, or null if there is none."""
    if isinstance(value, list | tuple):
        return [add_time_texts(one) for one in value] if value and isinstance(value[0], dict) else value
    if not isinstance(value, dict):
        return value
    out: dict[str, Any] = {}
    for name, one in value.items():
        out[name] = add_time_texts(one)
        if is_time(name) and (one is None or re.fullmatch(r"[0-9]{1,19}", str(one))):
            out[name.removesuffix(NS) + TIME] = rfc3339(int(one or 0))
    return out


def is_time(name: str) -> bool:
    """Check whether a field is a time and not a duration."""
    return name.endswith(NS) and name not in DURATIONS


def rfc3339(time_ns: int) -> str | None:
    """Format a time with nine decimals; None for 0 (no time) and after 2262."""
    seconds, rest = divmod(time_ns, 10**9)
    return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}.{rest:09}Z" if 0 < time_ns <= LAST else None


def parse_time(value: Any) -> Any:
    """Parse a time to nanoseconds since the epoch; other types are returned unchanged.

    Times before 1970 become 0, times after 2262 the last one. A "+" of an offset that a client did not encode arrives as a
    space; it is read as "+". Raises ValueError with an example.
    """
    if not isinstance(value, str):
        return value
    if re.fullmatch(r"[0-9]{1,19}", value) and int(value) <= LAST:
        return int(value)
    found = _RFC3339.fullmatch(re.sub(r" (?=\d\d:\d\d$)", "+", value))
    try:
        if found is None:
            raise ValueError
        text, fraction, offset = found.groups()
        since = datetime.fromisoformat(f"{text.upper()}{offset.upper()}") - _EPOCH
    except (ValueError, OverflowError):
        raise ValueError(
            f"{value[:60]!r} is not a time: use RFC 3339 with an offset, for example {EXAMPLE}, or nanoseconds since 1970"
        ) from None
    whole = since.days * 86_400 + since.seconds
    return min(max(whole * 10**9 + int((fraction or "")[:9].ljust(9, "0")), 0), LAST)
