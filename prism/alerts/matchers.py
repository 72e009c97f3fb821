"""Matchers of labels, as Alertmanager writes them, and silences: matchers with a time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, cast, get_args

Sign = Literal["=", "!=", "=~", "!~"]
SIGNS: tuple[Sign, ...] = get_args(Sign)
WRITTEN = re.compile(r"\s*([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*(.*?)\s*", re.ASCII | re.DOTALL)
LONGEST = 1000  # of a matcher: Python's expressions may take long


@dataclass(frozen=True)
class Matcher:
    """A label and what it should (not) be; a label that is not there is empty. Expressions match whole values."""

    label: str
    sign: Sign
    value: str

    def fits(self, labels: Mapping[str, str]) -> bool:
        """Whether labels fit."""
        own = labels.get(self.label, "")
        same = own == self.value if self.sign in ("=", "!=") else re.fullmatch(self.value, own, re.DOTALL) is not None
        return same == (self.sign in ("=", "=~"))

    def __str__(self) -> str:
        return f'{self.label}{self.sign}"{self.value}"'


@dataclass(frozen=True)
class Silence:
    """What is not told in [start_ns, end_ns): alerts that fit all matchers. `by` and `why` are for people."""

    id: str
    matchers: tuple[Matcher, ...]
    start_ns: int
    end_ns: int
    by: str = ""
    why: str = ""

    def covers(self, labels: Mapping[str, str], now_ns: int) -> bool:
        """Whether it silences such an alert now."""
        return self.start_ns <= now_ns < self.end_ns and all(m.fits(labels) for m in self.matchers)

    def to_json(self) -> dict[str, Any]:
        """As plain values; `silence` is its twin."""
        return dict(vars(self)) | {"matchers": [str(m) for m in self.matchers]}


def parse_matcher(text: str) -> Matcher:
    """`severity=critical`, `host=~"server1.*"`, `job!=x`, `ids!~"10[.].*"`. Raises ValueError."""
    found = WRITTEN.fullmatch(text)
    if found is None or len(text) > LONGEST:
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


def check(matchers: Sequence[Matcher], known: Sequence[str]) -> None:
    """Refuse matchers of labels that no alert has: such a silence would silence nothing, or all. Raises ValueError."""
    for matcher in matchers:
        if matcher.label not in known:
            near = get_close_matches(matcher.label, known, 1, 0.5)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"{matcher}: no alert has a label {matcher.label!r}{hint} (labels: {', '.join(known)})")


def silence(fields: Any) -> Silence:
    """The silence that `to_json` made plain. Raises ValueError where it is none."""
    try:
        times = int(fields["start_ns"]), int(fields["end_ns"])
        parsed = tuple(parse_matcher(str(text)) for text in fields["matchers"])
        made = Silence(str(fields["id"]), parsed, *times, str(fields.get("by", "")), str(fields.get("why", "")))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a silence: {error}") from None
    if not made.matchers or made.end_ns <= made.start_ns:
        raise ValueError(f"silence {made.id}: needs at least one matcher, and an end after its start")
    return made


def silenced(labels: Mapping[str, str], silences: Sequence[Silence], now_ns: int) -> Silence | None:
    """The silence that covers an alert, the longest lasting; None where none does."""
    covering = [one for one in silences if one.covers(labels, now_ns)]
    return max(covering, key=lambda one: (one.end_ns, one.id), default=None)
