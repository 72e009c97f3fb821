"""Keep sampling rates that options records announce, each with its scope, and find the rate that applies to a record.

A rate applies to the records that its scope names: of one sampler, interface, line card or template, or of the whole
observation domain. 0 stands for an unknown rate: the exporter samples, but no rate that it announced applies.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

UNKNOWN = 0
ANY, OTHER = -1, -2  # of a field of a scope: absent; present, but without an announced rate
MAX_RATES = 256  # of one observation domain
Key = tuple[int, int]  # version, observation domain


class Scope(NamedTuple):
    """Scope of a rate, or the properties of a record; `ANY`: absent."""

    sampler: int = ANY
    interface: int = ANY
    line_card: int = ANY
    template: int = ANY


ALL = Scope()
_SHAPES = sorted(product((True, False), repeat=len(ALL)), key=lambda shape: (-sum(shape), [not given for given in shape]))


class Rates:
    """The rates of one observation domain; at most `MAX_RATES`, oldest dropped first."""

    def __init__(self, announced: Mapping[Scope, int] | None = None) -> None:
        self.announced: dict[Scope, int] = dict(announced or {})

    def announce(self, scope: Scope, rate: int) -> bool:
        """Store a rate; return whether it is new."""
        if self.announced.get(scope) == rate:
            return False
        if scope not in self.announced and len(self.announced) >= MAX_RATES:
            del self.announced[next(iter(self.announced))]
        self.announced[scope] = rate
        return True

    def find(self, record: Scope) -> int:
        """Return the rate of the narrowest scope that matches the record; if none does, see `_common`."""
        if not self.announced:
            return UNKNOWN
        for shape in _SHAPES:
            scope = Scope(*(value if given else ANY for value, given in zip(record, shape, strict=True)))
            if scope in self.announced:
                return self.announced[scope]
        return self._common(record)

    def _common(self, record: Scope) -> int:
        """Return the common rate of all scopes that do not contradict the record; UNKNOWN if they differ or there are none.

        A sampler without an announced rate has the rate that all samplers share.
        """
        rest = record._replace(sampler=ANY)
        found = {
            rate
            for scope, rate in self.announced.items()
            if all(own in (ANY, value) or value == ANY for own, value in zip(scope[1:], rest[1:], strict=True))
        }
        return found.pop() if len(found) == 1 else UNKNOWN


def rate_of(book: Mapping[Key, Rates], key: Key, record: Scope) -> int:
    """Return the rate of a record of an observation domain, by the rates of all domains of its exporter.

    Rates of other domains apply if the own domain announces none for the record and the others agree. Template numbers are
    valid in one domain. Without an announced rate above 1 the exporter does not sample, unless the record names a sampler.
    """
    own = book.get(key)
    if own is not None and (rate := own.find(record)):
        return rate
    foreign = record._replace(template=OTHER if record.template != ANY else ANY)
    others = {rates.find(foreign) for other, rates in book.items() if other != key} - {UNKNOWN}
    if len(others) == 1:
        return others.pop()
    samples = any(rate > 1 for rates in book.values() for rate in rates.announced.values())
    return UNKNOWN if samples or record.sampler > 0 or record.sampler == OTHER else 1
