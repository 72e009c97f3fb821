"""The records of sets, all of one layout at once: how many there are, their numbers, their flow records."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from collectors import ledger, recordwalks
from collectors.accounts import Accounts
from collectors.datagrams import octets_of
from collectors.endpoints import Endpoints
from collectors.exportrows import Column, Context, Members, Numbers, flow_columns, rates, reverse_columns
from collectors.exportsets import Sets
from collectors.framed import ETHERNET, RAW_IP, Frames
from collectors.grouping import grouped
from collectors.record import COLUMNS, ROCE_PORT, Flows, Ints, Mask

NO_ADDRESSES, NO_FLOW = "no addresses", "no flow in the frame"
EMITTED = ledger.counter(ledger.RECORDS, ledger.EMITTED)
Rates = Callable[[Ints, Ints, Members, Ints | None], Ints]


class RecordSets:
    """The sets of a batch and the records in them.

    `count` [sets] is how many whole records each has; `cut` whether the last one is not whole; what is left and has fewer
    octets than a record needs is padding (RFC 7011 section 3.3.1). `options` are the layouts of options records. A message's
    65,535 octets bound the values in it: a field without octets is none.
    """

    def __init__(self, sets: Sets, senders: tuple[str, ...]) -> None:
        self.sets, self.senders = sets, senders
        n = len(sets.begin)
        self.count: Ints = np.zeros(n, np.int64)
        self.cut: Ints = np.zeros(n, np.int64)
        self._octets = octets_of(sets.data)
        order, bounds = grouped(sets.layout, len(sets.layouts))
        self._rows = [order[begin:end] for begin, end in pairwise(bounds.tolist())]
        for layout, rows in zip(sets.layouts, self._rows, strict=True):
            begin, end = sets.begin[rows], sets.end[rows]
            if layout.fixed:
                self.count[rows] = (end - begin) // layout.size
            else:
                count, cut = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
                recordwalks.count_records(self._octets, begin, end, layout.lengths, layout.size, count, cut)
                self.count[rows], self.cut[rows] = count, cut
        self.cut[self.count == 0] = 1
        self.cut[sets.trimmed] = 1

    @property
    def options(self) -> list[int]:
        """The layouts of options records."""
        return [i for i, layout in enumerate(self.sets.layouts) if layout.options]

    def members(self, number: int) -> Members:
        """Which sets have the records of a layout."""
        rows = self._rows[number]
        return Members(rows, self.count[rows])

    def numbers(self, number: int) -> tuple[Numbers, Members]:
        """The numbers of the records of a layout, and which set each is of."""
        layout, members = self.sets.layouts[number], self.members(number)
        begin, count = self.sets.begin[members.rows], members.count
        values = recordwalks.columns_of(layout.slots, int(count.sum()))
        places = recordwalks.addresses_of(values)
        if layout.fixed:
            start = self._octets.ctypes.data
            recordwalks.fixed_records(start, begin, count, layout.size, layout.slots, places)
        else:
            end = self.sets.end[members.rows]
            recordwalks.varying_records(self._octets, begin, end, count, layout.lengths, layout.slots, places)
        return Numbers(layout, values, int(count.sum())), members

    def flows(self, endpoints: Endpoints, frames: Frames, told: Rates, boot_ns: Ints, accounts: Accounts) -> list[Flows]:
        """The flow records: of those with addresses of their own, and of those with a frame."""
        parts = _Parts(self, endpoints, frames, told, boot_ns, accounts)
        for number, layout in enumerate(self.sets.layouts):
            if not layout.options:
                parts.read(number)
        return parts.joined()


class _Parts:
    """Columns of flow records, layout by layout."""

    def __init__(
        self, records: RecordSets, endpoints: Endpoints, frames: Frames, told: Rates, boot_ns: Ints, accounts: Accounts
    ) -> None:
        self.records, self.sets, self.told, self.boot_ns = records, records.sets, told, boot_ns
        self.endpoints, self.frames, self.accounts = endpoints, frames, accounts
        self.plain: list[dict[str, Column]] = []
        self.framed: list[dict[str, Column]] = []

    def read(self, number: int) -> None:
        """The flow records of one layout."""
        sets = self.sets
        known = {meaning.column for meaning in sets.layouts[number].meanings}
        if not {"src", "dst"} <= known and "frame" not in known:
            members = self.records.members(number)
            self.accounts.add_all(ledger.dropped(NO_ADDRESSES), sets.exporter[members.rows], members.count)
            return
        numbers, members = self.records.numbers(number)
        context = Context(members, sets.export_ns, sets.received_ns, sets.uptime_ms, self.boot_ns[sets.source])
        columns = flow_columns(numbers, context, self.endpoints)
        columns["exporter"] = members.spread(sets.exporter)
        columns["sampling_rate"] = self.rates(numbers, members)
        if "dst_qp" in columns and {"src_port", "dst_port"} <= set(columns):
            rdma = (columns["dst_qp"] > 0) & (columns["dst_port"] == ROCE_PORT)
            columns["src_port"] = np.where(rdma, 0, columns["src_port"])
        if "frame" in known:
            columns, rows = self.read_frames(numbers, columns)
            if not {"src", "dst"} <= set(columns):
                self.accounts.add_all(ledger.dropped(NO_FLOW), sets.exporter[members.of[rows]])
                return
            self.emit(self.plain, columns)
        else:
            self.plain.append(columns)
            self.accounts.add_all(EMITTED, sets.exporter[members.rows], members.count)
        back = reverse_columns(numbers, columns, context) if "frame" not in known else None
        if back is not None and back[1].any():
            reverse = {name: column[back[1]] for name, column in back[0].items()}
            self.accounts.add_all(ledger.counter(ledger.RECORDS, ledger.RECEIVED), reverse["exporter"])
            self.accounts.add_all(ledger.counter(ledger.RECORDS, ledger.DECODED), reverse["exporter"])
            self.emit(self.plain, reverse)

    def rates(self, numbers: Numbers, members: Members) -> Ints:
        """One packet in so many."""
        sets = self.sets
        told = self.told(sets.source, sets.position, members, numbers.count("sampler"))
        if sets.rate.any():
            header = members.spread(sets.rate)
            told = np.where(header > 0, header, told)
        return rates(numbers, told)

    def read_frames(self, numbers: Numbers, columns: dict[str, Column]) -> tuple[dict[str, Column], Ints]:
        """Records whose frame says what the packet was; the columns of the others, and which they are."""
        place, length = (numbers.values[row] for row in numbers.rows["frame", ""])
        kind = numbers.get("frame")
        link = ETHERNET if kind is not None and kind[1].unit == "ethernet" else RAW_IP
        whole = numbers.count("frame_octets")
        wire = length if whole is None else np.maximum(whole, length)
        found = self.frames.decode(self.sets.data, place, length, wire, np.full(len(place), link, np.int64))
        own = {name: column[found.rows] for name, column in columns.items()}
        for name in ("src", "dst", "src_port", "dst_port", "protocol", "tcp_flags"):
            own.pop(name, None)
        self.emit(self.framed, {**found.columns, **own})
        for reason, count in found.reasons.items():
            self.accounts.tally[f"frames: {reason}"] += count
        rest: Mask = np.ones(len(place), np.bool_)
        rest[found.rows] = False
        return {name: column[rest] for name, column in columns.items()}, np.flatnonzero(rest).astype(np.int64)

    def emit(self, parts: list[dict[str, Column]], columns: dict[str, Column]) -> None:
        parts.append(columns)
        self.accounts.add_all(EMITTED, columns["exporter"])

    def joined(self) -> list[Flows]:
        """At most two: they have dictionaries of addresses of their own."""
        books = ((self.plain, self.endpoints.texts), (self.framed, self.frames.endpoints))
        return [_flows(parts, texts, self.records.senders) for parts, texts in books if parts or texts is books[0][1]]


def _flows(parts: list[dict[str, Column]], endpoints: tuple[str, ...], exporters: tuple[str, ...]) -> Flows:
    if not parts:
        return Flows.build({"start_ns": np.zeros(0, np.int64)}, endpoints=endpoints, exporters=exporters)
    whole = [Flows.build(columns, endpoints=endpoints, exporters=exporters) for columns in parts]
    if len(whole) == 1:
        return whole[0]
    joined = {c.name: np.concatenate([getattr(part, c.name) for part in whole]) for c in COLUMNS}
    return Flows.build(joined, endpoints=endpoints, exporters=exporters)
