"""Assign each set of a batch the template that was valid when the set arrived (`template_sets`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.grouping import grouped, numbered
from collectors.columns.record import Codes, Ints, Mask
from collectors.exports import counter_names
from collectors.exports.counter_names import DATAGRAMS, RECORDS
from collectors.exports.datagrams import Datagrams
from collectors.exports.netflow.exporter_state import Exporter, Source, Template
from collectors.exports.netflow.template_layouts import Layouts
from collectors.exports.netflow.waiting_sets import Ticket, WaitingRoom, WaitingSet
from collectors.exports.records import message_loops
from collectors.exports.records.templates import FIRST_DATA_SET, IPFIX, V5, V9, Layout
from collectors.exports.tallies import Accounts

REASONS = (*message_loops.FAULTS, "bad template", "too many exporters", "too many sets without a template")
BAD_TEMPLATE, TOO_MANY, TOO_MANY_WAIT = range(len(message_loops.FAULTS), len(REASONS))
CUT_RECORD = message_loops.CUT_OFF
_TOLD = np.array(
    [
        fault not in (message_loops.SHORT, message_loops.UNKNOWN, message_loops.MESSAGE)
        for fault in range(len(message_loops.FAULTS))
    ]
)
MAX_WAITING = 64  # sets of one datagram that may wait


@dataclass(frozen=True, eq=False)
class Sets:
    """Sets with their templates, one entry each: `data[begin : end]` contains records of `layouts[layout]`.

    `position`: order among the sets of the batch; earlier options apply. `datagram`: -1 for a set that waited. `template`: its
    number. `rate`: sampling rate in the header of version 5; 0: none.
    """

    data: bytes
    layouts: tuple[Layout, ...]
    layout: Ints
    template: Ints
    begin: Ints
    end: Ints
    trimmed: Mask
    datagram: Ints
    exporter: Codes
    source: Ints
    position: Ints
    export_ns: Ints
    uptime_ms: Ints
    received_ns: Ints
    rate: Ints


class Change(NamedTuple):
    """From `position` in the batch on, a source has this template, or none."""

    position: int
    template: Template | None


class TemplateAssignment:
    """The messages of a batch. `members`: the exporter of each sender; None: it is refused.

    `status` of each datagram is 0 or a code into REASONS; `waits`: a set of it waits. `sources` have sequence numbers and
    templates; `source` is the one of each datagram, or -1; `owners`: their senders; `versions`: their versions.
    """

    def __init__(self, datagrams: Datagrams, members: list[Exporter | None], layouts: Layouts) -> None:
        self.datagrams, self.members, self.layouts = datagrams, members, layouts
        n = len(datagrams)
        octets = datagrams.octets
        many = -1
        self.heads: Ints = np.empty((message_loops.HEADS, n), np.int64)
        for room in (2 * n, int(datagrams.length.sum()) // 4 + n):  # datagrams rarely have more than two sets
            if many < 0:
                table: Ints = np.empty((message_loops.SETS, room + 1), np.int64)
                many = message_loops.unpack_messages(octets, datagrams.offset, datagrams.length, self.heads, table)
        self.sets = table[:, :many].copy()
        self.status: Ints = self.heads[message_loops.FAULT].copy()
        refused = np.array([member is None for member in members], np.bool_)[datagrams.sender]
        if refused.any():
            self.status[refused] = TOO_MANY
            self.sets = self.sets[:, ~refused[self.sets[message_loops.DATAGRAM]]]
        self.waits: Mask = np.zeros(n, np.bool_)
        self.changed: dict[tuple[int, int], list[Change]] = {}
        self.released: list[WaitingSet] = []
        self._without: Ints = np.zeros((message_loops.SETS, 0), np.int64)
        self._find_sources(refused)

    def _find_sources(self, refused: Mask) -> None:
        heads = self.heads
        version = heads[message_loops.VERSION]
        good = np.flatnonzero(_TOLD[heads[message_loops.FAULT]] & ~refused)
        mark = (version == V9).astype(np.int64) + 2 * (version == IPFIX)
        keys = self.datagrams.sender.astype(np.int64) << 34 | mark << 32 | heads[message_loops.DOMAIN]
        distinct, which = numbered(keys[good])
        self.source: Ints = np.full(len(keys), -1, np.int64)
        self.source[good] = which
        self.owners = (distinct >> 34).tolist()
        self.versions = [(V5, V9, IPFIX)[mark] for mark in (distinct >> 32 & 3).tolist()]
        self.domains = (distinct & 0xFFFFFFFF).tolist()
        self.sources: list[Source] = [
            self.member(owner).source(version, domain)
            for owner, version, domain in zip(self.owners, self.versions, self.domains, strict=True)
        ]

    def member(self, sender: int) -> Exporter:
        """Return the exporter of an accepted sender."""
        member = self.members[sender]
        assert member is not None
        return member

    def sorted(self, room: WaitingRoom) -> Sets:
        """Return the sets with a template, including those that had waited; the others wait (`waiters`)."""
        data_sets = np.flatnonzero(
            ((self.sets[message_loops.ID] >= FIRST_DATA_SET) | (self.sets[message_loops.ID] == V5))
            & (self.sets[message_loops.END] > self.sets[message_loops.BEGIN])
        )
        s = self.sets[:, data_sets]
        distinct, which = numbered(self.source[s[message_loops.DATAGRAM]] << 16 | s[message_loops.ID])
        order, bounds = grouped(which, len(distinct))
        book = _Book()
        layout: Ints = np.full(len(data_sets), -1, np.int64)
        position = data_sets.astype(np.int64)
        for group, (source, number) in enumerate(zip((distinct >> 16).tolist(), (distinct & 0xFFFF).tolist(), strict=True)):
            rows = order[bounds[group] : bounds[group + 1]]
            changes = self.changed.get((source, number))
            if number == V5:
                layout[rows] = book.number(self.layouts.v5)
            elif changes is None:
                template = self.member(self.owners[source]).use((self.versions[source], self.domains[source], number))
                layout[rows] = -1 if template is None else self._number(book, source, template)
            else:
                self._settle(rows, position, layout, changes, source, book)
        self._without = s[:, layout < 0]
        return self._table(s, position, layout, self._release(room, book), book)

    def _number(self, book: _Book, source: int, template: Template) -> int:
        return book.number(self.layouts.of(self.versions[source], template))

    def _settle(
        self, rows: NDArray[np.intp], position: Ints, layout: Ints, changes: list[Change], source: int, book: _Book
    ) -> None:
        """Assign templates that change within the batch; before the first definition, the next one."""
        which = np.searchsorted([c.position for c in changes], position[rows]) - 1
        holds: list[int | None] = []  # of each change, the next that is no withdrawal
        for i in reversed(range(len(changes))):
            holds.append(i if changes[i].template is not None else holds[-1] if holds else None)
        holds.reverse()
        for i in np.unique(which).tolist():
            change = holds[i]
            template = None if change is None else changes[change].template
            if change is not None and template is not None:
                here = rows[np.searchsorted(which, i) : np.searchsorted(which, i, side="right")]
                layout[here] = self._number(book, source, template)
                position[here] = np.maximum(position[here], changes[change].position)

    def waiters(self, accounts: Accounts) -> list[tuple[int, WaitingSet]]:
        """Return sets without a template with their senders and tickets, after all errors are known.

        The ticket of a datagram with an error has failed. A datagram with too many such sets has an error.
        """
        s = self._without
        many = np.bincount(s[message_loops.DATAGRAM], minlength=len(self.status)) > MAX_WAITING
        if many.any():
            self.status[many & (self.status == 0)] = TOO_MANY_WAIT
            refused = many[s[message_loops.DATAGRAM]]
            owner = np.array(self.owners, np.int64)[self.source[s[message_loops.DATAGRAM][refused]]]
            accounts.add_all(counter_names.counter(RECORDS, counter_names.RECEIVED), owner)
            accounts.add_all(counter_names.error(RECORDS, REASONS[TOO_MANY_WAIT]), owner)
            s = s[:, ~refused]
        tickets: dict[int, Ticket] = {}
        waiters: list[tuple[int, WaitingSet]] = []
        for datagram, number, begin, end, trimmed in s.T.tolist():
            source = int(self.source[datagram])
            ticket = tickets.setdefault(datagram, Ticket(failed=bool(self.status[datagram])))
            ticket.left += 1
            head = self.heads[:, datagram]
            key = (self.versions[source], self.domains[source], number)
            times = (
                int(head[message_loops.EXPORT_NS]),
                int(head[message_loops.UPTIME_MS]),
                int(self.datagrams.received_ns[datagram]),
            )
            owner = self.owners[source]
            octets = self.datagrams.data[begin:end]
            waiters.append((owner, WaitingSet(self.datagrams.senders[owner], key, octets, *times, ticket, bool(trimmed))))
            self.waits[datagram] = True
        return waiters

    def _release(self, room: WaitingRoom, book: _Book) -> list[tuple[int, ...]]:
        """Take waiting sets for templates of this batch: source, layout, position and template of each."""
        rows: list[tuple[int, ...]] = []
        for (source, number), changes in self.changed.items() if len(room) else ():
            first = next((c for c in changes[1:] if c.template is not None), None)
            if first is None or first.template is None:
                continue
            key = (self.versions[source], self.domains[source], number)
            found = room.take(self.datagrams.senders[self.owners[source]], key)
            layout = self._number(book, source, first.template) if found else -1
            rows += [(source, layout, first.position, number)] * len(found)
            self.released += found
        return rows

    def _table(self, s: Ints, position: Ints, layout: Ints, released: list[tuple[int, ...]], book: _Book) -> Sets:
        kept = layout >= 0
        if not kept.all():
            s, position, layout = s[:, kept], position[kept], layout[kept]
        datagram = s[message_loops.DATAGRAM]
        table = {
            "layout": layout,
            "template": s[message_loops.ID],
            "begin": s[message_loops.BEGIN],
            "end": s[message_loops.END],
            "trimmed": s[message_loops.TRIMMED],
            "datagram": datagram,
            "source": self.source[datagram],
            "position": position,
            "export_ns": self.heads[message_loops.EXPORT_NS][datagram],
            "uptime_ms": self.heads[message_loops.UPTIME_MS][datagram],
            "received_ns": self.datagrams.received_ns[datagram],
            "rate": self.heads[message_loops.RATE][datagram],
        }
        data = self.datagrams.data
        if released:
            more = self._released_table(released, len(data))
            table = {name: np.concatenate([column, more[name]]) for name, column in table.items()}
            data = b"".join([data, *(waiter.octets for waiter in self.released)])  # never in place: the memory is reused
        owner = np.array(self.owners, np.int32)
        return Sets(
            data=data,
            layouts=tuple(book.layouts),
            exporter=owner[table["source"]] if len(owner) else np.zeros(0, np.int32),
            trimmed=table.pop("trimmed") > 0,
            **table,
        )

    def _released_table(self, released: list[tuple[int, ...]], base: int) -> dict[str, Ints]:
        rows = np.array(released, np.int64).T
        sizes = np.array([len(waiter.octets) for waiter in self.released], np.int64)
        none = np.zeros(len(sizes), np.int64)
        said = np.array([waiter[3:6] for waiter in self.released], np.int64).T
        return {
            "source": rows[0],
            "layout": rows[1],
            "position": rows[2],
            "template": rows[3],
            "begin": base + np.cumsum(sizes) - sizes,
            "end": base + np.cumsum(sizes),
            "trimmed": np.array([waiter.trimmed for waiter in self.released], np.int64),
            "datagram": none - 1,
            "export_ns": said[0],
            "uptime_ms": said[1],
            "received_ns": said[2],
            "rate": none,
        }

    def count_datagrams(self, accounts: Accounts) -> None:
        """Count datagrams, and their invalid parts."""
        sender = self.datagrams.sender
        accounts.add_all(counter_names.counter(DATAGRAMS, counter_names.RECEIVED), sender)
        waits = self.waits & (self.status == 0)
        accounts.add_all(counter_names.counter(DATAGRAMS, counter_names.WAITING), sender[waits])
        accounts.add_all(counter_names.counter(DATAGRAMS, counter_names.DECODED), sender[(self.status == 0) & ~waits])
        for code in np.unique(self.status[self.status > 0]).tolist():
            rows = self.status == code
            cut = np.where(rows & (self.heads[message_loops.FAULT] == code), self.heads[message_loops.CUT], 0)
            accounts.add_all(counter_names.error(DATAGRAMS, REASONS[code]), sender[rows])
            accounts.add_all(counter_names.error(RECORDS, REASONS[code]), sender, cut)
            accounts.add_all(counter_names.counter(RECORDS, counter_names.RECEIVED), sender, cut)


class _Book:
    """Numbers the layouts of a batch."""

    def __init__(self) -> None:
        self.layouts: list[Layout] = []
        self._numbers: dict[int, int] = {}

    def number(self, layout: Layout) -> int:
        number = self._numbers.setdefault(id(layout), len(self.layouts))
        if number == len(self.layouts):
            self.layouts.append(layout)
        return number
