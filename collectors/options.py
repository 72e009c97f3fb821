"""What options records tell of the records that follow them: sampling rates and boot times; and of the exporter itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from collectors import ledger
from collectors.accounts import Accounts
from collectors.evidence import Notices
from collectors.exporters import Source
from collectors.exportrows import Numbers, counts, rates
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

    def rates(self, source: Ints, position: Ints, of: Ints, sampler: Ints | None) -> Ints:
        """The rate of each record. `source` and `position` [sets]; `of`: the set of each record; its `sampler`, if known."""
        if sampler is None:
            each = np.array([known.rate() for known in self.sources] or [1], np.int64)[source]
            for _, rows, past in self._swept(source, position):
                each[rows] = past.rate()
            return each[of] if (each != 1).any() else np.ones(len(of), np.int64)
        found = np.ones(len(of), np.int64)
        sampler = sampler & 0xFFFFFFFF
        distinct, which = np.unique(source[of] << 32 | sampler, return_inverse=True)
        known = [self.sources[key >> 32].rate(key & 0xFFFFFFFF) for key in distinct.tolist()]
        found = np.array(known or [1], np.int64)[which]
        for _, rows, past in self._swept(source, position):
            mine = np.flatnonzero(np.isin(of, rows))
            distinct, which = np.unique(sampler[mine], return_inverse=True)
            found[mine] = np.array([past.rate(key) for key in distinct.tolist()] or [1], np.int64)[which]
        return found

    def _swept(self, source: Ints, position: Ints) -> Iterator[tuple[int, Ints, Source]]:
        """For sources whose rates change in the batch: sets between two changes, and the source as it was then."""
        for s, news in self._news.items():
            rows = np.flatnonzero(source == s)
            past = Source()
            past.rates = dict(self._first[s])
            places = np.searchsorted([at for at, _, _ in news], position[rows], side="left")
            done = 0
            for place in np.unique(places).tolist():
                for _, sampler, rate in news[done:place]:
                    past.told(sampler, rate)
                done = place
                yield s, rows[places == place].astype(np.int64), past


def read_options(records: RecordSets, told: Told, domains: list[int], accounts: Accounts) -> list[Notices]:
    """Read the options records of a batch, in the order of their sets; the notices in them."""
    sets = records.sets
    news: list[tuple[int, int, int, int]] = []
    notices: list[Notices] = []
    for layout in records.options:
        numbers, of = records.numbers(layout)
        accounts.add_all(ledger.counter(ledger.RECORDS, ledger.MERGED), sets.exporter[of])
        rate = rates(numbers, np.zeros(len(of), np.int64))
        sampler = numbers.count("sampler")
        sampler = np.full(len(of), -1, np.int64) if sampler is None else sampler & 0xFFFFFFFF
        known = np.flatnonzero(rate > 0)
        columns = (sets.position[of[known]], sets.source[of[known]], sampler[known], rate[known])
        news += zip(*(column.tolist() for column in columns), strict=True)
        boot = numbers.get("boot")
        if boot is not None:
            boots = np.minimum(counts(boot[0]), (1 << 62) // 1_000_000) * 1_000_000
            for source, boot_ns in zip(sets.source[of].tolist(), boots.tolist(), strict=True):
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
            "value": np.concatenate([counts(numbers.raw[row]) for row in rows]),
        },
        exporters=records.senders,
        elements=tuple(numbers.meanings[row].name for row in rows),
    )
    accounts.add_all("notices", sets.exporter[every])
