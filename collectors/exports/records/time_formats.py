"""Detect times in another format than the template announces, over many records of an exporter.

Vendors write milliseconds into a field of seconds, the epoch of 1970 into an NTP time, nanoseconds into its fraction word (RFC
7011 section 6.1.9: units of 2^-32 s). A format is detected if nearly all times are near the export time in it, and far from it
in the announced format; a fraction by values that never occur. Times are ns since the epoch, int64.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from collectors.columns.grouping import grouped
from collectors.columns.record import Codes, Ints, Mask
from collectors.exports.tallies import Accounts

Raw = NDArray[np.uint64]
Rows = NDArray[np.intp] | Ints
Formats = Mapping[str, Callable[[Rows], Ints]]

SECOND = 1_000_000_000
SINCE_1900 = 2_208_988_800  # seconds from NTP's epoch to 1970, RFC 7011 section 6.1.10
WRAP_NS = (1 << 32) * 1_000_000  # of a 32-bit count of milliseconds
MOST_NS = (1 << 62) - 1
FAR_NS, NEAR_NS = 86_400 * SECOND, 6 * 3_600 * SECOND  # distance to the export time: implausible; plausible in another format
MIN_TIMES, MIN_SHARE = 16, 0.9  # number of times for a decision, and required share
MIN_ROUND_TIMES = 8  # sufficient number if each is a round number
SAMPLED_TIMES = 64  # times to check per exporter, field and batch
MAX_VOTES = 4096  # number of times after which older ones count half
BINS = 8  # tenths of a second, of 10, that nanoseconds must cover

S, MS, US, NS = (f"{name} since 1970" for name in ("seconds", "milliseconds", "microseconds", "nanoseconds"))
NTP_S, WORDS, SHORT_MS = "seconds since 1900", "NTP times since 1970", "milliseconds since 1970, 32 bits of them"
SINCE_BOOT = {"hundredths of seconds since boot": 10, "seconds since boot": 1_000}  # factor to milliseconds
_COUNTS = {S: SECOND, MS: 1_000_000, US: 1_000, NS: 1}
_CANDIDATES: dict[str, tuple[str, ...]] = {
    "s": (MS, US, NS, NTP_S),
    "ms": (S, US, NS, NTP_S, SHORT_MS),
    "us": (WORDS, S, MS, NS),
    "ns": (WORDS, S, MS, US),
}
_CANDIDATES["delta_us"] = ()
FRACTIONS = {name: f"{name} in the fraction of NTP times" for name in ("milliseconds", "microseconds", "nanoseconds")}
_SCALES = dict(zip(FRACTIONS.values(), (1_000_000, 1_000, 1), strict=True))
NTP_UNITS, LOW = ("us", "ns"), np.uint64(0xFFFFFFFF)  # units that are NTP times; their lower word
FRACTION = " fraction"  # suffix of a unit: the format of fractions
KNOWN = {*_COUNTS, NTP_S, WORDS, SHORT_MS, *SINCE_BOOT, *_SCALES}
CORRECTED = "times corrected: "  # followed by a format


class Clock:
    """Time formats of an exporter: votes by unit of the field, and the detected formats."""

    def __init__(self) -> None:
        self.votes: dict[str, Counter[str]] = {}
        self.formats: dict[str, str] = {}

    def vote(self, unit: str, tried: int, plain: int, found: Mapping[str, int]) -> None:
        """Count times that are plausible in the announced format, and those plausible only in other formats."""
        votes = self.votes.setdefault(unit, Counter())
        votes.update({"": plain, "tried": tried, **found})
        if votes["tried"] >= MIN_TIMES:
            best = max(found, key=lambda name: votes[name], default="")
            if votes[""] >= (1 - MIN_SHARE) * votes["tried"]:
                self.formats.pop(unit, None)
            elif votes[best] >= MIN_SHARE * votes["tried"]:
                self.formats[unit] = best
        _fade(votes, "tried")

    def see(self, unit: str, fraction: Ints) -> None:
        """Count nonzero fractions of seconds."""
        votes = self.votes.setdefault(unit + FRACTION, Counter())
        small = fraction[fraction < SECOND]
        votes["n"] += len(fraction)
        for name, most in (("ms", 1_000), ("us", 1_000_000), ("ns", SECOND)):
            votes[name] += int(np.count_nonzero(fraction < most))
        votes["round"] += int(np.count_nonzero(small % 1_000 == 0))
        votes["binary"] += int(np.count_nonzero(((fraction * SECOND + (1 << 31) >> 32) + 1) % 1_000 <= 2))
        for tenth in np.unique(small // (SECOND // 10)).tolist():
            votes[f"tenth {tenth}"] = 1
        found = _fraction(votes)
        if found:
            self.formats[unit + FRACTION] = found
        elif votes["n"] >= MIN_TIMES and (votes["ns"] < MIN_SHARE * votes["n"] or votes["binary"] >= MIN_SHARE * votes["n"]):
            self.formats.pop(unit + FRACTION, None)
        _fade(votes, "n")


def _fraction(votes: Counter[str]) -> str:
    """Return the format of fractions; empty if they are, or may be, correct."""
    most = MIN_SHARE * votes["n"]
    if votes["n"] < MIN_ROUND_TIMES or votes["binary"] >= most:
        return ""
    spread = sum(name.startswith("tenth") for name in votes) >= BINS
    if votes["ns"] >= most and votes["round"] >= most:
        return FRACTIONS["nanoseconds"]
    if votes["n"] < MIN_TIMES:
        return ""
    if votes["ms"] >= most:
        return FRACTIONS["milliseconds"]
    if votes["us"] >= most:
        return FRACTIONS["microseconds"]
    return FRACTIONS["nanoseconds"] if votes["ns"] >= most and spread else ""


def _fade(votes: Counter[str], total: str) -> None:
    if votes[total] > MAX_VOTES:
        for name in votes:
            votes[name] -= 0 if name.startswith("tenth") else votes[name] // 2


class Around(Protocol):
    """Messages of the records: sending time and exporter, for all records and for the first of each set."""

    @property
    def firsts(self) -> Ints:
        """Return the first record of each set."""

    @property
    def first_sent(self) -> Ints:
        """Return the sending time of each set's message, ns."""

    @property
    def first_exporter(self) -> Codes:
        """Return the exporter of each set."""

    @property
    def sent(self) -> Ints:
        """Return the sending time of each record's message, ns."""

    @property
    def exporters(self) -> Codes:
        """Return the exporter of each record."""


class Field(NamedTuple):
    """A time field: unit, times in the announced format, raw numbers, times in other formats."""

    unit: str
    time_ns: Ints
    value: Raw
    formats: Callable[[], Formats]


class Clocks:
    """Clocks of a batch's exporters; None for an unknown one. Corrected times are counted by format."""

    def __init__(self, clocks: Sequence[Clock | None], accounts: Accounts) -> None:
        self.clocks, self.accounts = clocks, accounts
        self._busy = {i for i, clock in enumerate(clocks) if clock is not None and (clock.votes or clock.formats)}

    def corrected(self, fields: Sequence[Field], around: Around) -> list[Ints]:
        """Return the times of fields of the same records, in the formats of their exporters."""
        for field in fields:
            self._look(field, around)
            self._look_at_fractions(field, around)
        return [self._with_fractions(field, self._corrected(field, around), around) for field in fields]

    def _look(self, field: Field, around: Around) -> None:
        """Let exporters with implausible times, now or earlier, vote."""
        odd = np.abs(field.time_ns[around.firsts] - around.first_sent) > FAR_NS
        if field.unit == "uptime":  # times since an unknown boot are never far away
            odd |= np.abs(scaled(field.value[around.firsts], SECOND) - around.first_sent) <= NEAR_NS
        suspects = {*around.first_exporter[odd].tolist(), *self._busy_with(field.unit)}
        formats = field.formats() if suspects else {}
        for clock, _, rows in self._rows(suspects, around):
            some = rows[:: len(rows) // SAMPLED_TIMES + 1]
            sent = around.sent[some]
            plain = np.abs(field.time_ns[some] - sent) <= FAR_NS
            found = {name: np.abs(made(some) - sent) <= NEAR_NS for name, made in formats.items()}
            if field.unit == "uptime":
                plain &= ~found[S]
                found |= {name: found[name] & ~found[S] for name in SINCE_BOOT}
            fits = {name: int((good & ~plain).sum()) for name, good in found.items()}
            clock.vote(field.unit, len(some), int(plain.sum()), fits)

    def _look_at_fractions(self, field: Field, around: Around) -> None:
        """Let exporters check the second word of NTP times that may be another fraction, now or earlier."""
        if field.unit not in NTP_UNITS:
            return
        low = (field.value[around.firsts] & LOW).astype(np.int64)
        known = around.first_exporter[low > 0]
        n = np.bincount(known, minlength=len(self.clocks))
        below = np.bincount(known[low[low > 0] < SECOND], minlength=len(self.clocks))
        odd = np.flatnonzero((n > 0) & (below >= MIN_SHARE * n))
        for clock, _, rows in self._rows({*odd.tolist(), *self._busy_with(field.unit + FRACTION)}, around):
            some = rows[:: len(rows) // SAMPLED_TIMES + 1]
            low = (field.value[some] & LOW).astype(np.int64)
            clock.see(field.unit, low[_has_words(field.value[some], around.sent[some]) & (low > 0)])

    def _corrected(self, field: Field, around: Around) -> Ints:
        time_ns = field.time_ns
        wrong = {i for i in self._busy_with(field.unit) if self._format(i, field.unit)}
        formats = field.formats() if wrong else {}
        for _, i, rows in self._rows(wrong, around):
            name = self._format(i, field.unit)
            if name not in formats:
                continue
            made, sent = formats[name](rows), around.sent[rows]
            off = np.abs(made - sent)
            better = (off <= FAR_NS) | (off < np.abs(time_ns[rows] - sent))
            time_ns = np.array(time_ns)
            time_ns[rows[better]] = made[better]
            self.accounts.add(CORRECTED + name, int(better.sum()), i)
        return time_ns

    def _with_fractions(self, field: Field, time_ns: Ints, around: Around) -> Ints:
        unit = field.unit + FRACTION
        for _, i, rows in self._rows({i for i in self._busy_with(unit) if self._format(i, unit)}, around):
            name = self._format(i, unit)
            low = (field.value[rows] & LOW).astype(np.int64)
            mine = _has_words(field.value[rows], around.sent[rows]) & (low > 0) & (low < SECOND // _SCALES[name])
            time_ns = np.array(time_ns)
            time_ns[rows[mine]] = time_ns[rows[mine]] // SECOND * SECOND + low[mine] * _SCALES[name]
            self.accounts.add(CORRECTED + name, int(mine.sum()), i)
        return time_ns

    def _format(self, i: int, unit: str) -> str:
        clock = self.clocks[i]
        return "" if clock is None else clock.formats.get(unit, "")

    def _busy_with(self, unit: str) -> set[int]:
        """List the exporters with votes on a unit, or with a known format."""
        return {i for i in self._busy if (c := self.clocks[i]) is not None and (unit in c.votes or unit in c.formats)}

    def _rows(self, suspects: set[int], around: Around) -> Iterator[tuple[Clock, int, Ints]]:
        """Yield the clocks of exporters, and the records of each."""
        if not suspects:
            return
        order, bounds = grouped(around.exporters.astype(np.int64), len(self.clocks))
        for i in sorted(suspects):
            clock, rows = self.clocks[i], order[bounds[i] : bounds[i + 1]]
            if clock is not None and len(rows):
                self._busy.add(i)
                yield clock, i, rows


def _has_words(value: Raw, sent_ns: Ints) -> Mask:
    """Check whether the upper word counts seconds since 1900 or 1970, up to about the sending time."""
    since = (value >> np.uint64(32)).astype(np.int64) - sent_ns // SECOND
    far = FAR_NS // SECOND
    return np.asarray((np.abs(since) <= far) | (np.abs(since - SINCE_1900) <= far), np.bool_)


def formats_of(unit: str, raw: Raw, sent_ns: Ints) -> Formats:
    """Return the numbers of a unit's field in other formats."""
    return {name: _maker(name, raw, sent_ns) for name in _CANDIDATES[unit]}


def _maker(name: str, raw: Raw, sent_ns: Ints) -> Callable[[Rows], Ints]:
    def make(rows: Rows) -> Ints:
        value, sent = raw[rows], sent_ns[rows]
        if name == NTP_S:
            return (np.minimum(value, np.uint64(1 << 32)).astype(np.int64) - SINCE_1900) * SECOND
        if name == WORDS:
            return scaled(value >> np.uint64(32), SECOND) + binary(value)
        if name == SHORT_MS:
            return np.where(value >> np.uint64(32) == 0, nearest(scaled(value, 1_000_000), sent), 0)
        return scaled(value, _COUNTS[name])

    return make


def scaled(value: Raw, unit: int) -> Ints:
    """Convert a count of a unit to ns, at most `MOST_NS`."""
    return np.minimum(value, np.uint64(MOST_NS // unit)).astype(np.int64) * unit


def binary(value: Raw) -> Ints:
    """Convert the fraction word of an NTP time to ns."""
    return ((value & np.uint64(0xFFFFFFFF)) * np.uint64(SECOND) >> np.uint64(32)).astype(np.int64)


def nearest(time_ns: Ints, sent_ns: Ints) -> Ints:
    """Unwrap times that wrap like 32 bits of milliseconds, nearest to the sending time."""
    found: Any = time_ns + (sent_ns - time_ns + WRAP_NS // 2) // WRAP_NS * WRAP_NS
    return np.asarray(found, np.int64)


def uptimes(formats: Mapping[str, Callable[[], Ints]]) -> Formats:
    """Unwrap formats whose times are made all at once."""
    return {name: lambda rows, made=made: made()[rows] for name, made in formats.items()}  # type: ignore[misc]
