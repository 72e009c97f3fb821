"""Read the template sets of a batch of messages in order of arrival."""

from __future__ import annotations

import numpy as np

from collectors.exports.netflow.exporter_state import Template
from collectors.exports.netflow.template_assignment import BAD_TEMPLATE, Change, TemplateAssignment
from collectors.exports.netflow.template_layouts import templates_of
from collectors.exports.records import message_loops
from collectors.exports.records.templates import FIRST_DATA_SET, IPFIX, OPTIONS, TEMPLATES, V5, TemplateError
from collectors.exports.tallies import Accounts

MAX_CHANGES = 2000  # changes of templates of one exporter in one batch: twice its maximum number


def read_templates(sorter: TemplateAssignment, accounts: Accounts) -> None:
    """Store the templates of a batch in their exporters; changes within the batch are noted in `sorter.changed`."""
    _Reader(sorter, accounts).read()


class _Reader:
    def __init__(self, sorter: TemplateAssignment, accounts: Accounts) -> None:
        self.sorter, self.accounts = sorter, accounts
        self._changes: dict[int, int] = {}  # number by sender

    def read(self) -> None:
        """Read all template sets."""
        for s in np.flatnonzero(
            (self.sorter.sets[message_loops.ID] < FIRST_DATA_SET) & (self.sorter.sets[message_loops.ID] != V5)
        ).tolist():
            datagram, number, begin, end = self.sorter.sets[:4, s].tolist()
            source = int(self.sorter.source[datagram])
            version = self.sorter.versions[source]
            options = number == OPTIONS[version]
            octets = bytes(self.sorter.datagrams.data[begin:end])
            if not self._may_read(octets, datagram, version, options):
                self.accounts.add("templates refused: too many new ones", 1, self.sorter.owners[source])
                # it is unknown which ones this set changes
                self._withdraw(s, source, (OPTIONS if options else TEMPLATES)[IPFIX])
                continue
            try:
                found = self.sorter.layouts.read(octets, version, options=options)
            except TemplateError as error:
                found = templates_of(error.good)
                self.sorter.status[datagram] = self.sorter.status[datagram] or BAD_TEMPLATE
                self.accounts.add(f"bad templates: {error}", 1, self.sorter.owners[source])
            for which, template in found:
                if template is not None:
                    self._define(s, source, which, template)
                else:
                    self._withdraw(s, source, which)

    def _may_read(self, octets: bytes, datagram: int, version: int, options: bool) -> bool:
        """Check whether a template set is known, or its exporter may define more."""
        if self.sorter.layouts.has_read(octets, version, options=options):
            return True
        exporter = self.sorter.member(self.sorter.owners[int(self.sorter.source[datagram])])
        return exporter.may_define(len(octets), int(self.sorter.datagrams.received_ns[datagram]))

    def _define(self, position: int, source: int, number: int, template: Template) -> None:
        exporter = self.sorter.member(self.sorter.owners[source])
        key = (self.sorter.versions[source], self.sorter.domains[source], number)
        before = exporter.use(key)
        if before == template:
            return
        owner = self.sorter.owners[source]
        self._changes[owner] = self._changes.get(owner, 0) + 1
        if self._changes[owner] > MAX_CHANGES:
            self.accounts.add("templates refused: too many changes", 1, owner)
            self._withdraw(position, source, number)  # later sets do not belong to the previous template
            return
        self.accounts.add("templates changed" if before else "templates new", 1, owner)
        self.accounts.add("templates forgotten", exporter.define(key, template), owner)
        self._changed(source, number, position, before, template)

    def _withdraw(self, position: int, source: int, number: int) -> None:
        """Forget a template, or all of its kind (RFC 7011 section 8.1)."""
        exporter, version, domain = (
            self.sorter.member(self.sorter.owners[source]),
            self.sorter.versions[source],
            self.sorter.domains[source],
        )
        numbers = [number]
        if number in (TEMPLATES[IPFIX], OPTIONS[IPFIX]):
            options = number == OPTIONS[IPFIX]
            known = exporter.templates.items()
            numbers = [key[2] for key, t in known if key[:2] == (version, domain) and (t.scope >= 0) == options]
        for gone in numbers:
            before = exporter.use((version, domain, gone))
            if before is not None:
                exporter.withdraw((version, domain, gone))
                self._changed(source, gone, position, before, None)

    def _changed(self, source: int, number: int, position: int, before: Template | None, after: Template | None) -> None:
        self.sorter.changed.setdefault((source, number), [Change(-1, before)]).append(Change(position, after))
