"""Matchers of labels in Alertmanager's syntax, and silences: matchers with a time range."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, cast, get_args

Sign = Literal["=", "!=", "=~", "!~"]
SIGNS: tuple[Sign, ...] = get_args(Sign)
MATCHER_PATTERN = re.compile(r"\s*([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*(.*?)\s*", re.ASCII | re.DOTALL)
MAX_CHARACTERS = 1000  # characters of a matcher: regular expressions may run long


@dataclass(frozen=True)
class Matcher:
    """A condition on one label; a missing label counts as empty. Expressions match whole values."""

    label: str
    sign: Sign
    value: str

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Check whether labels fulfil the condition."""
        own = labels.get(self.label, "")
        same = own == self.value if self.sign in ("=", "!=") else re.fullmatch(self.value, own, re.DOTALL) is not None
        return same == (self.sign in ("=", "=~"))

    def __str__(self) -> str:
        return f'{self.label}{self.sign}"{self.value}"'


@dataclass(frozen=True)
class Silence:
    """A time range [start_ns, end_ns) without notifications for alerts that fit all matchers. `by`, `why`: for people."""

    id: str
    matchers: tuple[Matcher, ...]
    start_ns: int
    end_ns: int
    by: str = ""
    why: str = ""

    def covers(self, labels: Mapping[str, str], now_ns: int) -> bool:
        """Check whether it silences an alert with these labels at `now_ns`."""
        return self.start_ns <= now_ns < self.end_ns and all(m.matches(labels) for m in self.matchers)

    def to_json(self) -> dict[str, Any]:
        """Convert to plain values; inverse of `parse_silence`."""
        return dict(vars(self)) | {"matchers": [str(m) for m in self.matchers]}


def parse_matcher(text: str) -> Matcher:
    """Parse `severity=critical`, `host=~"server1.*"`, `job!=x` or `ids!~"10[.].*"`. Raises ValueError."""
    found = MATCHER_PATTERN.fullmatch(text)
    if found is None or len(text) > MAX_CHARACTERS:
        raise ValueError(
            f"{text[:60]!r} is not a matcher; write LABEL, one of {' '.join(SIGNS)}, and a value: severity=critical"
        )
    label, sign, value = found.groups()
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    if sign in ("=~", "!~"):
        try:
            re.compile(value)
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"{text[:60]!r}: {error}") from None
    return Matcher(label, cast(Sign, sign), value)


def check_labels(matchers: Sequence[Matcher], known_labels: Sequence[str]) -> None:
    """Refuse matchers of unknown labels: such a silence would match nothing or everything. Raises ValueError."""
    for matcher in matchers:
        if matcher.label not in known_labels:
            near = get_close_matches(matcher.label, known_labels, 1, 0.5)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"{matcher}: no alert has a label {matcher.label!r}{hint} (labels: {', '.join(known_labels)})")


def parse_silence(fields: Any) -> Silence:
    """Parse a silence from plain values; inverse of `Silence.to_json`. Raises ValueError if it is not valid."""
    try:
        times = int(fields["start_ns"]), int(fields["end_ns"])
        parsed = tuple(parse_matcher(str(text)) for text in fields["matchers"])
        made = Silence(str(fields["id"]), parsed, *times, str(fields.get("by", "")), str(fields.get("why", "")))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a silence: {error}") from None
    if not made.matchers or made.end_ns <= made.start_ns:
        raise ValueError(f"silence {made.id}: needs at least one matcher, and an end after its start")
    return made


def find_silence(labels: Mapping[str, str], silences: Sequence[Silence], now_ns: int) -> Silence | None:
    """Find the longest silence that covers an alert; None if there is none."""
    covering = [one for one in silences if one.covers(labels, now_ns)]
    return max(covering, key=lambda one: (one.end_ns, one.id), default=None)
