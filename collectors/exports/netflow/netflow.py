"""Decode NetFlow v5, v9 (RFC 3954) and IPFIX (RFC 7011, 5103) datagrams to flow records, many at once.

A batch is decoded in five steps: find messages and sets (`message_loops`); read template sets in order (`template_sets`); give
every other set the template valid at its arrival, or let it wait; read options; convert the records of all sets of one layout
to columns at once (`flow_columns`).
"""

from __future__ import annotations

import struct
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.addresses.bounded_address_book import MOST_ADDRESSES, BoundedAddressBook
from collectors.columns.record import Flows, Ints, concatenated
from collectors.exports import counter_names
from collectors.exports.counter_names import DATAGRAMS, RECORDS
from collectors.exports.datagrams import Datagrams
from collectors.exports.evidence import Evidence
from collectors.exports.netflow._options import OptionState, read_options
from collectors.exports.netflow._template_sets import read_templates
from collectors.exports.netflow.data_sets import RecordSets
from collectors.exports.netflow.exporter_state import Exporter, Exporters
from collectors.exports.netflow.template_assignment import CUT_RECORD, Sets, TemplateAssignment
from collectors.exports.netflow.template_layouts import Layouts
from collectors.exports.netflow.waiting_sets import WaitingRoom, WaitingSet
from collectors.exports.records import message_loops, running_totals
from collectors.exports.records.elements import DEFAULT, Elements
from collectors.exports.records.running_totals import Totals
from collectors.exports.records.templates import IPFIX, V9
from collectors.exports.records.time_formats import Clocks
from collectors.exports.sampled_frames import Frames
from collectors.exports.sequence_gaps import follow
from collectors.exports.tallies import Accounts

NO_TEMPLATE, NO_ROOM, FORGOTTEN = "template did not arrive", "too many records wait for a template", "exporter forgotten"

# An IPFIX message of two templates, of fixed and of variable record size, and a record of each.
_FIELDS = struct.pack(">HHHH", 8, 4, 12, 4)
_SETS = (
    *(struct.pack(">HHHH", 2, 32, 256, 2), _FIELDS, struct.pack(">HH", 257, 3), _FIELDS, struct.pack(">HH", 82, 65535)),
    *(struct.pack(">HH", 256, 12), bytes(8), struct.pack(">HH", 257, 13), bytes(9)),
)
_SMALL = struct.pack(">HHIII", IPFIX, 16 + sum(map(len, _SETS)), 1, 0, 0) + b"".join(_SETS)


def warm() -> None:
    """Compile all loops of decoding before datagrams arrive, because the first compilation takes seconds."""
    NetflowDecoder().decode(Datagrams.of([("::", _SMALL, 0)]))
    running_totals.warm()


class NetflowDecoder:
    """Decodes batches of datagrams; stores templates, sampling rates and waiting sets between them.

    `elements`: meaning of elements. `exporters`, `waiting`: bounded state. `most_endpoints`: addresses before renumbering.
    `most_evidence`: rows of evidence stored until they are taken. `tally`: see `counter_names`.
    """

    def __init__(
        self,
        *,
        elements: Elements = DEFAULT,
        exporters: Exporters | None = None,
        waiting: WaitingRoom | None = None,
        most_endpoints: int = MOST_ADDRESSES,
        most_evidence: int = 1 << 20,
        state: Any = None,
    ) -> None:
        self.tally: Counter[str] = Counter()
        self.waiting = WaitingRoom() if waiting is None else waiting
        self.known = Exporters() if exporters is None else exporters
        self._layouts = Layouts(elements)
        self._endpoints, self._frames = BoundedAddressBook(most=most_endpoints), Frames()
        self._totals = Totals()
        self._evidence, self._most_evidence = Evidence(), most_evidence
        if state is not None:
            self.known.from_state(state)

    @property
    def exporters(self) -> dict[str, Counter[str]]:
        """Return the tally of each known exporter."""
        return {name: exporter.tally for name, exporter in self.known.known.items()}

    @property
    def state(self) -> dict[str, Any]:
        """Return the state that should survive a restart, as a plain value of texts and numbers."""
        return self.known.to_state()

    def take_evidence(self) -> Evidence:
        """Take the notices from options since the last call."""
        taken, self._evidence = self._evidence, Evidence()
        return taken

    def decode(self, datagrams: Datagrams) -> Flows:
        """Decode a batch to flow records, in no particular order. Raises nothing: invalid input is counted.

        The exporter of a record is the address of its sender, a code into the senders of the batch.
        """
        self._endpoints.refresh()
        self._frames.refresh()
        members = self._admitted(datagrams)
        accounts = Accounts(self.tally, [None if e is None else e.tally for e in members])
        sorter = TemplateAssignment(datagrams, members, self._layouts)
        self._expire(datagrams)
        read_templates(sorter, accounts)
        self.tally["templates forgotten"] += self.known.drop_templates() if sorter.changed else 0
        sets = sorter.sorted(self.waiting)
        records = RecordSets(sets, datagrams.senders)
        keys = list(zip(sorter.versions, sorter.domains, strict=True))
        told = OptionState([sorter.member(owner) for owner in sorter.owners], keys, sorter.sources)
        for rows in read_options(records, told, sorter.domains, accounts):
            self.tally[counter_names.EVIDENCE_DROPPED] += self._evidence.add(rows, self._most_evidence)
        clocks = Clocks([None if e is None else e.clock for e in members], accounts)
        parts = records.flows(self._endpoints, self._frames, told, self._totals, clocks)
        self.tally[counter_names.FORGOTTEN_TOTALS] = self._totals.forgotten
        self._count(sorter, sets, records, accounts)
        self._wait(sorter, accounts)
        self._follow(sorter, sets, records, accounts)
        sorter.count_datagrams(accounts)
        return concatenated(parts) if len(parts) > 1 else parts[0]

    def _admitted(self, datagrams: Datagrams) -> list[Exporter | None]:
        """Return the exporter of each sender of the batch; None if there are too many, or if it sent nothing."""
        firsts = np.unique(datagrams.sender, return_index=True)
        order = firsts[0][np.argsort(firsts[1])].tolist()
        found, gone = self.known.admit(datagrams.senders[code] for code in order)
        for exporter in gone:
            self._dismiss(self.waiting.forget(exporter.name), FORGOTTEN)
            self.tally["exporters forgotten"] += 1
        return [found.get(name) for name in datagrams.senders]

    def _expire(self, datagrams: Datagrams) -> None:
        if len(datagrams) and len(self.waiting):
            self._dismiss(self.waiting.expire(int(datagrams.received_ns.max())), NO_TEMPLATE)

    def _dismiss(self, waiters: list[WaitingSet], reason: str) -> None:
        """Count sets whose template never arrived."""
        for waiter in waiters:
            exporter = self.known.known.get(waiter.exporter)
            accounts = Accounts(self.tally, [exporter.tally if exporter else None])
            accounts.add(counter_names.counter(RECORDS, counter_names.WAITING), -1, 0)
            accounts.add(counter_names.error(RECORDS, reason), 1, 0)
            self._served(waiter, accounts, 0, reason)

    def _served(self, waiter: WaitingSet, accounts: Accounts, exporter: int, reason: str = "") -> None:
        """Count the datagram of a set that no longer waits.

        With a reason it is an error; otherwise it is decoded with its last set.
        """
        ticket = waiter.ticket
        ticket.left -= 1
        if not ticket.failed and (reason or not ticket.left):
            ticket.failed = bool(reason)
            accounts.add(counter_names.counter(DATAGRAMS, counter_names.WAITING), -1, exporter)
            outcome = (
                counter_names.error(DATAGRAMS, reason) if reason else counter_names.counter(DATAGRAMS, counter_names.DECODED)
            )
            accounts.add(outcome, 1, exporter)

    def _count(self, sorter: TemplateAssignment, sets: Sets, records: RecordSets, accounts: Accounts) -> None:
        """Count the records of sets; a released set was received as one record, and waited."""
        whole, bad = records.count, (records.cut > 0).astype(np.int64)
        waited = sets.datagram < 0
        hurt = sets.datagram[(bad > 0) & ~waited]
        sorter.status[hurt] = np.where(sorter.status[hurt] == 0, CUT_RECORD, sorter.status[hurt])
        accounts.add_all(counter_names.counter(RECORDS, counter_names.RECEIVED), sets.exporter, whole + bad - waited)
        accounts.add_all(counter_names.counter(RECORDS, counter_names.DECODED), sets.exporter, whole)
        accounts.add_all(counter_names.error(RECORDS, message_loops.FAULTS[message_loops.CUT_OFF]), sets.exporter, bad)
        accounts.add_all(counter_names.counter(RECORDS, counter_names.WAITING), sets.exporter, -waited.astype(np.int64))
        for row, waiter in zip(np.flatnonzero(waited).tolist(), sorter.released, strict=True):
            self._served(
                waiter, accounts, int(sets.exporter[row]), message_loops.FAULTS[message_loops.CUT_OFF] if bad[row] else ""
            )

    def _wait(self, sorter: TemplateAssignment, accounts: Accounts) -> None:
        """Store sets that wait for their template."""
        waiters = sorter.waiters(accounts)
        owners = np.array([owner for owner, _ in waiters], np.int64)
        accounts.add_all(counter_names.counter(RECORDS, counter_names.RECEIVED), owners)
        accounts.add_all(counter_names.counter(RECORDS, counter_names.WAITING), owners)
        for _, waiter in waiters:
            self._dismiss(self.waiting.put(waiter), NO_ROOM)

    def _follow(self, sorter: TemplateAssignment, sets: Sets, records: RecordSets, accounts: Accounts) -> None:
        """Follow sequence numbers, which count datagrams in v9, records in v5 and IPFIX."""
        heads, sources = sorter.heads, sorter.sources
        version = heads[message_loops.VERSION]
        own = sets.datagram >= 0
        n = np.bincount(sets.datagram[own], records.count[own], len(version)).astype(np.int64)
        unsure = (sorter.status != 0) | sorter.waits
        count: Ints = np.where(version == V9, 1, np.where(unsure, -1, n))
        expected = np.array([source.expected for source in sources], np.int64)
        found: NDArray[np.int64] = np.zeros((3, len(sources)), np.int64)
        follow(sorter.source, heads[message_loops.SEQUENCE], count, expected, found)
        for i, known in enumerate(sources):
            known.expected = int(expected[i])
        for i in np.flatnonzero(found.any(axis=0)).tolist():
            unit = DATAGRAMS if sorter.versions[i] == V9 else RECORDS
            names = (counter_names.counter(unit, counter_names.LOST), counter_names.LATE, counter_names.RESTARTED)
            for name, many in zip(names, found[:, i].tolist(), strict=True):
                accounts.add(name, many, sorter.owners[i])
