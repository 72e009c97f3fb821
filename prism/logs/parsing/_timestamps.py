"""Find the time of a log line, in the formats that training stacks print."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

SECOND = 1_000_000_000
MONTHS = {
    name: i for i, name in enumerate(("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1)
}

_ISO = re.compile(r"(?<!\d)(20\d\d)[-/](\d\d)[-/](\d\d)[T _](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\s?(Z|[+-]\d\d:?\d\d(?!\d))?")
_GLOG = re.compile(r"(?:^|[ \]:])\[?[IWEFDV](\d\d?)(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?=[ \]])")
_SYSLOG = re.compile(r"^(?:<\d{1,3}>)?([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))? ")
_CTIME = re.compile(r"\[[A-Z][a-z]{2} ([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d) (20\d\d)\]")
_EPOCH_MS = re.compile(r'"time_ms": ?(1\d{12})\b')
_EPOCH = re.compile(r'(?:^|"(?:ts|time|timestamp)": ?)"?(1\d{9})(?:\.(\d{1,9}))?\b')
_BOOT = re.compile(r"^\[ {0,8}(\d{1,9})\.(\d{6})\] ")
MAX_OFFSET = 160  # a time must start within these characters: later ones are quoted


def parse_timestamp(line: str, year: int) -> int | None:
    """Parse the time of a line to ns since the epoch, or None.

    Times without a zone count as UTC (see `clock_offsets`); without a year, as `year`.
    """
    head = line[:MAX_OFFSET]
    if found := _ISO.search(head):
        y, mo, d, h, mi, s, fraction, zone = found.groups()
        return _ns(int(y), int(mo), int(d), int(h), int(mi), int(s), fraction, zone)
    if found := _GLOG.search(head):
        mo, d, h, mi, s, fraction = found.groups()
        return _ns(year, int(mo), int(d), int(h), int(mi), int(s), fraction)
    if found := _EPOCH_MS.search(head):
        return int(found[1]) * 1_000_000
    if found := _SYSLOG.match(head) or _CTIME.search(head):
        name, d, h, mi, s = found.groups()[:5]
        own = int(found[6]) if found.re is _CTIME else year
        fraction = found[6] if found.re is _SYSLOG else None
        return _ns(own, MONTHS.get(name.lower(), 0), int(d), int(h), int(mi), int(s), fraction)
    if found := _EPOCH.search(head):
        return int(found[1]) * SECOND + int((found[2] or "0").ljust(9, "0"))
    return None


def parse_boot_time(line: str) -> int | None:
    """Parse the time since boot of a kernel line (`[  123.456789] …`), ns, or None."""
    found = _BOOT.match(line)
    return int(found[1]) * SECOND + int(found[2]) * 1000 if found else None


def _ns(y: int, mo: int, d: int, h: int, mi: int, s: int, fraction: str | None, zone: str | None = None) -> int | None:
    try:
        moment = datetime(y, mo, d, h, mi, min(s, 59), tzinfo=_zone(zone))
    except ValueError:
        return None
    return int(moment.timestamp()) * SECOND + int((fraction or "0").ljust(9, "0"))


def _zone(text: str | None) -> timezone:
    if not text or text == "Z":
        return UTC
    digits = text[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)
