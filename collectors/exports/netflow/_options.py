"""Read options records: sampling rates and boot times for later flow records, and facts about the exporter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from collectors.columns.grouping import numbered
from collectors.columns.record import Ints, Mask
from collectors.exports import counter_names
from collectors.exports.evidence import Notices
from collectors.exports.netflow.data_sets import RecordSets
from collectors.exports.netflow.exporter_state import Exporter, Source
from collectors.exports.netflow.sampling_rates import ANY, OTHER, Key, Rates, Scope, rate_of
from collectors.exports.records.flow_columns import Members, Numbers, rates
from collectors.exports.records.templates import IPFIX
from collectors.exports.tallies import Accounts


class OptionState:
    """Sampling rates and boot times valid at the arrival of each set.

    `exporters`, `keys` and `sources`: for each source of the batch its exporter, its version and domain, and its state before
    the options of the batch are read.
    """

    def __init__(self, exporters: Sequence[Exporter], keys: Sequence[Key], sources: Sequence[Source]) -> None:
        self.exporters, self.keys, self.sources = exporters, keys, sources
        self._before: dict[str, dict[Key, Rates]] = {}
        self._news: dict[str, list[tuple[int, Key, Scope, int]]] = {}
        self._boots: dict[int, list[tuple[int, int]]] = {}

    @cached_property
    def identities(self) -> Ints:
        """Return a number for each source, constant over batches but not over restarts."""
        names = (hash((exporter.name, *key)) for exporter, key in zip(self.exporters, self.keys, strict=True))
        return np.array(list(names) or [0], np.int64)

    def set_rate(self, position: int, source: int, scope: Scope, rate: int, domain: int | None = None) -> None:
        """Set a rate of a source's domain, or of another domain of its exporter; positions must not decrease."""
        exporter, (version, own) = self.exporters[source], self.keys[source]
        key = (version, own if domain is None else domain)
        if exporter.name not in self._before:
            self._before[exporter.name] = {k: Rates(s.rates.announced) for k, s in exporter.sources.items()}
        if exporter.announce(*key, scope, rate):
            self._news.setdefault(exporter.name, []).append((position, key, scope, rate))

    def boot(self, position: int, source: int, boot_ns: int) -> None:
        """Set a boot time; positions must not decrease."""
        if boot_ns > 0 and boot_ns != self.sources[source].boot_ns:
            self._boots.setdefault(source, [(-1, self.sources[source].boot_ns)]).append((position, boot_ns))
            self.sources[source].boot_ns = boot_ns

    def boots(self, source: Ints, position: Ints) -> Ints:
        """Return the boot time for each set, ns, -1: unknown; that of another domain until a source reports its own."""
        found = np.array([self._boot_of(i) for i in range(len(self.sources))] or [-1], np.int64)[source]
        for i, changes in self._boots.items():
            mine = np.flatnonzero(source == i)
            which = np.searchsorted([at for at, _ in changes], position[mine]) - 1
            times = np.array([boot for _, boot in changes], np.int64)
            found[mine] = np.where(times[which] > 0, times[which], times[1])
        return found

    def _boot_of(self, source: int) -> int:
        own = self.sources[source].boot_ns
        if own > 0:
            return own
        others = {other.boot_ns for other in self.exporters[source].sources.values() if other.boot_ns > 0}
        return others.pop() if len(others) == 1 else -1

    def rates(self, source: Ints, position: Ints, template: Ints, members: Members, numbers: Numbers) -> Ints:
        """Return the rate of each record, 0: unknown.

        `source`, `position` and `template` [sets]; `members`: the records' sets.
        """
        rated = np.array([exporter.rated for exporter in self.exporters] or [False], np.bool_)
        sampler = numbers.count("sampler")
        if not rated[source[members.rows]].any():
            one = np.ones(1, np.int64)
            return np.broadcast_to(one, numbers.n) if sampler is None else np.where(sampler > 0, 0, one)
        known = self._known(rated)
        named = [name for name in ("sampler", "interface", "line_card") if len(known[name]) or name == "sampler"]
        own = {name: column for name in named if (column := _named(numbers, name, known[name])) is not None}
        at = members.of if own else members.rows
        places = self._places(source, position)
        columns = [source[at], places[at], template[at] if len(known["template"]) else np.full(len(at), ANY), *own.values()]
        first, which = _grouped(columns)
        distinct = [column[first].tolist() for column in columns]
        found = np.array(list(self._found(distinct, list(own))), np.int64)[which]
        return found if own else np.repeat(found, members.count)

    def _known(self, rated: Mask) -> dict[str, Ints]:
        """Collect the samplers, interfaces etc. with rates of the batch's exporters."""
        known: dict[str, set[int]] = {name: set() for name in Scope._fields}
        for exporter in {id(e): e for e, own in zip(self.exporters, rated.tolist(), strict=False) if own}.values():
            for rest in (*(s.rates for s in exporter.sources.values()), *self._before.get(exporter.name, {}).values()):
                for scope in rest.announced:
                    for name, value in zip(Scope._fields, scope, strict=True):
                        known[name].add(value)
        return {name: np.array(sorted(values - {ANY}), np.int64) for name, values in known.items()}

    def _places(self, source: Ints, position: Ints) -> Ints:
        """Count the changes of its exporter before each set."""
        places = np.zeros(len(source), np.int64)
        for i, exporter in enumerate(self.exporters) if self._news else ():
            if exporter.name in self._news:
                mine = np.flatnonzero(source == i)
                places[mine] = np.searchsorted([at for at, *_ in self._news[exporter.name]], position[mine], side="left")
        return places

    def _found(self, distinct: list[list[int]], named: list[str]) -> Iterator[int]:
        """Yield the rates of distinct (source, place, template, named values)."""
        found: dict[int, int] = {}
        books: dict[str, tuple[int, dict[Key, Rates]]] = {}
        rows = list(zip(*distinct, strict=True))
        for i in sorted(range(len(rows)), key=lambda i: rows[i][1]):
            source, place, template, *values = rows[i]
            exporter = self.exporters[source]
            done, book = books.get(exporter.name, (0, {}))
            if exporter.name not in books:
                before = self._before.get(exporter.name)
                if before is None:
                    book = {key: s.rates for key, s in exporter.sources.items() if s.rates.announced}
                else:
                    book = {key: Rates(rates.announced) for key, rates in before.items()}
            for _, key, scope, rate in self._news.get(exporter.name, [])[done:place]:
                book.setdefault(key, Rates()).announce(scope, rate)
            books[exporter.name] = place, book
            record = Scope(template=template)._replace(**dict(zip(named, values, strict=True)))
            found[i] = rate_of(book, self.keys[source], record)
        yield from (found[i] for i in range(len(rows)))


def _named(numbers: Numbers, name: str, known: Ints) -> Ints | None:
    """Return the scope value of each record; None if no record has one. An interface is the input one, else the output one."""
    if name != "interface":
        value = numbers.count(name)
        return None if value is None else np.where(np.isin(value, known), value, np.where(value > 0, OTHER, ANY))
    found: Ints | None = None
    for column in ("out_interface", "in_interface"):
        value = numbers.count(column)
        if value is not None:
            before = np.full(numbers.n, ANY, np.int64) if found is None else found
            unknown = np.where(before != ANY, before, np.where(value > 0, OTHER, ANY))
            found = np.where(np.isin(value, known), value, unknown)
    return found


def _grouped(columns: list[Ints]) -> tuple[Ints, Ints]:
    """Return the first row of each distinct combination, and the index of each row's combination."""
    which: Ints = np.zeros(len(columns[0]), np.int64)
    many = 0
    for column in columns:
        distinct, which = numbered(which << 32 | numbered(column)[1])
        many = len(distinct)
    first = np.empty(many, np.int64)
    first[which[::-1]] = np.arange(len(which) - 1, -1, -1)
    return first, which


def read_options(records: RecordSets, state: OptionState, domains: list[int], accounts: Accounts) -> list[Notices]:
    """Read the options records of a batch in the order of their sets; return their notices."""
    sets = records.sets
    news: list[tuple[int, int, int, int, Scope]] = []
    boots: list[tuple[int, int, int]] = []
    notices: list[Notices] = []
    for layout in records.options:
        numbers, members = records.numbers(layout)
        of = members.of
        accounts.add_all(counter_names.counter(counter_names.RECORDS, counter_names.MERGED), sets.exporter[of])
        rate = rates(numbers, np.zeros(len(of), np.int64))
        known = np.flatnonzero(rate > 0)
        where = (sets.position[of], sets.source[of])
        scopes = [Scope(*row) for row in zip(*(column[known].tolist() for column in _scopes(numbers)), strict=True)]
        plain = (*where, rate, _domains(numbers))
        news += zip(*(column[known].tolist() for column in plain), scopes, strict=True)
        boot = numbers.count("boot")
        if boot is not None:
            boots += zip(*(column.tolist() for column in (*where, boot)), strict=True)
        notices += _notices(records, numbers, of, domains, accounts)
    for position, source, one_in, domain, scope in sorted(news, key=lambda event: event[0]):
        other = domain > 0 and state.keys[source][0] == IPFIX
        state.set_rate(position, source, scope, one_in, domain if other else None)
    for position, source, boot_ns in sorted(boots, key=lambda event: event[0]):
        state.boot(position, source, boot_ns)
    return notices


def _scopes(numbers: Numbers) -> list[Ints]:
    """Return the scopes of options records, a column per field of `Scope`."""
    names = (("sampler",), ("interface", "in_interface", "out_interface"), ("line_card",), ("template",))
    columns: list[Ints] = []
    for choices in names:
        found = next((value for name in choices if (value := numbers.count(name)) is not None), None)
        columns.append(np.full(numbers.n, ANY, np.int64) if found is None else found & 0xFFFFFFFF)
    return columns


def _domains(numbers: Numbers) -> Ints:
    """Return the observation domain of options records; 0: that of their message."""
    found = numbers.count("domain")
    return np.zeros(numbers.n, np.int64) if found is None else found & 0xFFFFFFFF


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
