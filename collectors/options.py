"""What options records tell of the records that follow them: sampling rates and boot times; and of the exporter itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from collectors import ledger
from collectors.accounts import Accounts
from collectors.evidence import Notices
from collectors.exporters import Source
from collectors.exportrows import Members, Numbers, rates
from collectors.pieces import run_sizes, run_starts
from collectors.record import Ints
from collectors.recordsets import RecordSets


class Told:
    """Sampling rates as they held when each set came. `sources`: as they are before the options of the batch are read."""

    def __init__(self, sources: list[Source]) -> None:
        self.sources = sources
        self._first: dict[int, dict[int, int]] = {}
        self._news: dict[int, list[tuple[int, int, int]]] = {}

    def tell(self, position: int, source: int, sampler: int, rate: int) -> None:
        """Take a rate; positions must not go back."""
        before = dict(self.sources[source].rates) if source not in self._first else None
        if self.sources[source].told(sampler, rate):
            if before is not None:
                self._first[source] = before
            self._news.setdefault(source, []).append((position, sampler, rate))

    def rates(self, source: Ints, position: Ints, members: Members, sampler: Ints | None) -> Ints:
        """The rate of each record. `source` and `position` [sets]; `members`: the records' sets; their `sampler`."""
        if sampler is None:
            each = np.array([known.rate() for known in self.sources] or [1], np.int64)[source]
            if not self._news:
                return members.spread(each)
            found = each[members.of]
            for mine, past in self._swept(source, position, members.of):
                found[mine] = past.rate()
            return found
        found = _looked_up(self.sources, source[members.of] << 32 | (sampler & 0xFFFFFFFF))
        for mine, past in self._swept(source, position, members.of):
            found[mine] = _looked_up([past], sampler[mine] & 0xFFFFFFFF)
        return found

    def _swept(self, source: Ints, position: Ints, of: Ints) -> Iterator[tuple[Ints, Source]]:
        """For sources whose rates change in the batch: records between two changes, and the source as it was then."""
        if not self._news or not len(of):
            return
        starts = run_starts(of)
        used, sizes = of[starts], run_sizes(starts, len(of))
        order = np.argsort(source[used], kind="stable")
        owners = source[used[order]]
        for s in np.unique(owners).tolist():
            news = self._news.get(s, [])
            rows = order[np.searchsorted(owners, s) : np.searchsorted(owners, s, side="right")]
            places = np.searchsorted([at for at, _, _ in news], position[used[rows]], side="left")
            turn = np.argsort(places, kind="stable")
            rows, places = rows[turn], places[turn]
            past = Source()
            past.rates, done = dict(self._first.get(s, {})), 0
            for begin, end in pairwise([*run_starts(places).tolist(), len(places)]) if news else ():
                for _, sampler, rate in news[done : places[begin]]:
                    past.told(sampler, rate)
                done, here = int(places[begin]), rows[begin:end]
                yield np.concatenate([np.arange(starts[k], starts[k] + sizes[k]) for k in here]), past


def _looked_up(sources: Sequence[Source], keys: Ints) -> Ints:
    """Rates by source and sampler, in the upper and lower 32 bits of the keys."""
    distinct, which = np.unique(keys, return_inverse=True)
    rates = [sources[key >> 32].rate(key & 0xFFFFFFFF) for key in distinct.tolist()]
    return np.array(rates or [1], np.int64)[which]


def read_options(records: RecordSets, told: Told, domains: list[int], accounts: Accounts) -> list[Notices]:
    """Read the options records of a batch, in the order of their sets; the notices in them."""
    sets = records.sets
    news: list[tuple[int, int, int, int]] = []
    notices: list[Notices] = []
    for layout in records.options:
        numbers, members = records.numbers(layout)
        of = members.of
        accounts.add_all(ledger.counter(ledger.RECORDS, ledger.MERGED), sets.exporter[of])
        rate = rates(numbers, np.zeros(len(of), np.int64))
        sampler = numbers.count("sampler")
        sampler = np.full(len(of), -1, np.int64) if sampler is None else sampler & 0xFFFFFFFF
        known = np.flatnonzero(rate > 0)
        columns = (sets.position[of[known]], sets.source[of[known]], sampler[known], rate[known])
        news += zip(*(column.tolist() for column in columns), strict=True)
        boot = numbers.count("boot")
        if boot is not None:
            for source, boot_ns in zip(sets.source[of].tolist(), boot.tolist(), strict=True):
                told.sources[source].boot_ns = boot_ns
        notices += _notices(records, numbers, of, domains, accounts)
    for position, source, number, one_in in sorted(news, key=lambda event: event[0]):
        told.tell(position, source, number, one_in)
    return notices


def _notices(records: RecordSets, numbers: Numbers, of: Ints, domains: list[int], accounts: Accounts) -> Iterator[Notices]:
    sets = records.sets
    rows = [row for row, meaning in enumerate(numbers.meanings) if meaning.column == "evidence"]
    if not rows or not len(of):
        return
    every = np.tile(of, len(rows))
    yield Notices.build(
        {
            "time_ns": np.where(sets.export_ns > 0, sets.export_ns, sets.received_ns)[every],
            "exporter": sets.exporter[every],
            "domain": np.array(domains, np.int64)[sets.source[every]],
            "element": np.repeat(np.arange(len(rows)), len(of)),
            "value": np.concatenate([numbers.values[row] for row in rows]),
        },
        exporters=records.senders,
        elements=tuple(numbers.meanings[row].name for row in rows),
    )
    accounts.add_all("notices", sets.exporter[every])
