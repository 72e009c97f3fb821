"""Parse times: RFC 3339, nanoseconds since the epoch, or an age (`-1h`, `now`)."""

from __future__ import annotations

import re
from datetime import UTC, datetime

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
S = 1_000_000_000
LATEST = (1 << 63) - 1
_AGO = re.compile(r"(?:now)?\s*-\s*(\d{1,9})\s*([smhd])")


def moment(text: str, now_ns: int) -> int:
    """Parse a time, ns since the epoch; UTC without an offset. Raises ValueError."""
    text = text.strip()
    if text == "now":
        return now_ns
    if found := _AGO.fullmatch(text):
        return now_ns - int(found[1]) * UNITS[found[2]] * S
    if text.isascii() and text.isdigit() and len(text) >= 16:  # 16 digits are 1970-01-12: seconds would have ten
        return _within(int(text), text)
    try:
        found_at = datetime.fromisoformat(text)
        at = found_at if found_at.tzinfo else found_at.replace(tzinfo=UTC)
        whole = int((at.replace(microsecond=0) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    except (ValueError, OverflowError):
        raise ValueError(f"{text[:60]!r} is not a time; write 2026-11-20T22:42:00Z, -1h, now, or nanoseconds") from None
    return _within(whole * S + at.microsecond * 1000, text)


def _within(time_ns: int, text: str) -> int:
    if not 0 <= time_ns <= LATEST:
        raise ValueError(f"{text[:60]!r} is not between 1970 and 2262")
    return time_ns


def span(begin: str, end: str, now_ns: int) -> tuple[int, int]:
    """Parse two times in order. Raises ValueError."""
    first, last = moment(begin, now_ns), moment(end, now_ns)
    if last <= first:
        raise ValueError(f"the end {end!r} is not after the start {begin!r}")
    return first, last


def title(start_ns: int, end_ns: int) -> str:
    """Format a span as a file name without special characters."""
    return "_".join(f"{datetime.fromtimestamp(ns // S, UTC):%Y-%m-%dT%H-%M-%SZ}" for ns in (start_ns, end_ns))
