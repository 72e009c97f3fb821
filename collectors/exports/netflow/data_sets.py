"""Decode data sets that share a layout: count the records, read their numbers, make flow records."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Protocol

import numpy as np

from collectors.addresses.bounded_address_book import BoundedAddressBook
from collectors.columns.grouping import grouped
from collectors.columns.record import COLUMNS, ROCE_PORT, Flows, Ints, Mask
from collectors.exports import counter_names
from collectors.exports.datagrams import octets_of
from collectors.exports.netflow.template_assignment import Sets
from collectors.exports.records import record_loops
from collectors.exports.records.flow_columns import Column, Context, Members, Numbers, flow_columns, rates, reverse_columns
from collectors.exports.records.running_totals import ADDED, RESET, Increase, Totals, added
from collectors.exports.records.templates import MOST, STORE, UNIT
from collectors.exports.records.time_formats import Clocks, Raw
from collectors.exports.sampled_frames import ETHERNET, RAW_IP, Frames

NO_ADDRESSES, NO_FLOW, NO_INCREASE = "no addresses in the template", "frame not decoded", "running total did not increase"
EMITTED = counter_names.counter(counter_names.RECORDS, counter_names.EMITTED)


class AnnouncedOptions(Protocol):
    """State from options at the arrival of each set (`options.OptionState`)."""

    @property
    def identities(self) -> Ints:
        """Return a number for each source, the same over batches."""

    def rates(self, source: Ints, position: Ints, template: Ints, members: Members, numbers: Numbers) -> Ints:
        """Return the sampling rate of each record; 0: unknown."""

    def boots(self, source: Ints, position: Ints) -> Ints:
        """Return the boot time of the exporter of each set, ns; -1: unknown."""


class RecordSets:
    """The sets of a batch and their records.

    `count` [sets]: number of complete records; `cut`: whether the last one is incomplete. A rest shorter than a record is
    padding (RFC 7011 section 3.3.1). `options`: layouts of options records. The size of a message bounds its values: fields
    without octets are not stored.
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
                record_loops.count_records(self._octets, begin, end, layout.lengths, layout.size, count, cut)
                self.count[rows], self.cut[rows] = count, cut
        self.cut[self.count == 0] = 1
        self.cut[sets.trimmed] = 1

    @property
    def options(self) -> list[int]:
        """List the layouts of options records."""
        return [i for i, layout in enumerate(self.sets.layouts) if layout.options]

    def members(self, number: int) -> Members:
        """Map the records of a layout to their sets."""
        rows = self._rows[number]
        return Members(rows, self.count[rows])

    def numbers(self, number: int) -> tuple[Numbers, Members]:
        """Read the numbers of the records of a layout, with the set of each record."""
        layout, members = self.sets.layouts[number], self.members(number)
        return Numbers(layout, self._read(number, layout.slots), int(members.count.sum())), members

    def raw(self, number: int, slot: int) -> Raw:
        """Read the raw numbers of one slot of a layout, of up to 64 bits."""
        slots = self.sets.layouts[number].slots[:, [slot]]
        slots[STORE], slots[MOST], slots[UNIT] = 8, 0, 1
        return self._read(number, slots)[0]

    def _read(self, number: int, slots: Ints) -> list[Column]:
        """Read the numbers of slots of a layout's records."""
        layout, members = self.sets.layouts[number], self.members(number)
        begin, count = self.sets.begin[members.rows], members.count
        values = record_loops.columns_of(slots, int(count.sum()))
        places = record_loops.addresses_of(values)
        if layout.fixed:
            start = self._octets.ctypes.data
            record_loops.fixed_records(start, begin, count, layout.size, slots, places)
        else:
            end = self.sets.end[members.rows]
            record_loops.varying_records(self._octets, begin, end, count, layout.lengths, slots, places)
        return values

    def flows(
        self, endpoints: BoundedAddressBook, frames: Frames, options: AnnouncedOptions, totals: Totals, clocks: Clocks
    ) -> list[Flows]:
        """Make the flow records of records with addresses, and of records with a frame."""
        parts = _Parts(self, endpoints, frames, options, totals, clocks)
        for number, layout in enumerate(self.sets.layouts):
            if not layout.options:
                parts.read(number)
        return parts.joined()


class _Parts:
    """Columns of flow records, layout by layout."""

    def __init__(
        self,
        records: RecordSets,
        endpoints: BoundedAddressBook,
        frames: Frames,
        told: AnnouncedOptions,
        totals: Totals,
        clocks: Clocks,
    ) -> None:
        self.records, self.sets, self.told, self.totals = records, records.sets, told, totals
        self.endpoints, self.frames, self.clocks, self.accounts = endpoints, frames, clocks, clocks.accounts
        self.plain: list[dict[str, Column]] = []
        self.framed: list[dict[str, Column]] = []

    def read(self, number: int) -> None:
        """Make the flow records of one layout."""
        sets = self.sets
        known = {meaning.column for meaning in sets.layouts[number].meanings}
        if not {"src", "dst"} <= known and "frame" not in known:
            members = self.records.members(number)
            self.accounts.add_all(counter_names.dropped(NO_ADDRESSES), sets.exporter[members.rows], members.count)
            return
        numbers, members = self.records.numbers(number)
        since_boot = any(meaning.unit == "uptime" for meaning in sets.layouts[number].meanings)
        boot_ns = self.told.boots(sets.source, sets.position) if since_boot else np.zeros(0, np.int64)
        said = (sets.export_ns, sets.received_ns, sets.uptime_ms, boot_ns)
        context = Context(members, *said, sets.exporter, self.clocks, partial(self.records.raw, number))
        columns = flow_columns(numbers, context, self.endpoints)
        columns["exporter"] = members.spread(sets.exporter)
        columns["sampling_rate"] = self.rates(numbers, members)
        if "dst_qp" in columns and {"src_port", "dst_port"} <= set(columns):
            rdma = (columns["dst_qp"] > 0) & (columns["dst_port"] == ROCE_PORT)
            columns["src_port"] = np.where(rdma, 0, columns["src_port"])
        if "frame" in known:
            columns, rows = self.read_frames(numbers, columns)
            if not {"src", "dst"} <= set(columns):
                self.accounts.add_all(counter_names.dropped(NO_FLOW), sets.exporter[members.of[rows]])
                return
            self.emit(self.plain, columns)
        else:
            self.add(numbers, members, columns)
            back = reverse_columns(numbers, columns, context)
            if back is not None:
                self.add_back(numbers, members, back)

    def add(self, numbers: Numbers, members: Members, columns: dict[str, Column]) -> None:
        """Add records with addresses."""
        increase = added(self.totals, numbers, columns, lambda: self.told.identities[self.sets.source[members.of]])
        if increase is None:
            self.plain.append(columns)
            self.accounts.add_all(EMITTED, self.sets.exporter[members.rows], members.count)
            return
        columns = self.increased(columns, increase)
        more = _any(columns)
        self.accounts.add_all(counter_names.dropped(NO_INCREASE), columns["exporter"][~more])
        self.emit(self.plain, {name: column[more] for name, column in columns.items()})

    def add_back(self, numbers: Numbers, members: Members, columns: dict[str, Column]) -> None:
        """Add the reverse direction of biflows with traffic in it."""
        of = self.sets.source
        increase = added(self.totals, numbers, columns, lambda: self.told.identities[of[members.of]], prefix="reverse_")
        if increase is not None:
            columns = self.increased(columns, increase)
        some = _any(columns)
        if some.any():
            reverse = {name: column[some] for name, column in columns.items()}
            self.accounts.add_all(counter_names.counter(counter_names.RECORDS, counter_names.RECEIVED), reverse["exporter"])
            self.accounts.add_all(counter_names.counter(counter_names.RECORDS, counter_names.DECODED), reverse["exporter"])
            self.emit(self.plain, reverse)

    def increased(self, columns: dict[str, Column], increase: Increase) -> dict[str, Column]:
        """Replace running totals by their growth, since the end of the flow's previous record."""
        self.accounts.add_all(counter_names.TOTALS_RESTARTED, columns["exporter"], increase.found == RESET)
        goes_on = (increase.found == ADDED) | (increase.found == RESET)
        counts = {name: increase.counts[k] for k, name in enumerate(("octets", "packets")) if increase.bits[k]}
        return {**columns, **counts, "start_ns": np.where(goes_on, increase.start_ns, columns["start_ns"])}

    def rates(self, numbers: Numbers, members: Members) -> Ints:
        """Return the sampling rate (one packet in so many); 0: unknown."""
        sets = self.sets
        told = self.told.rates(sets.source, sets.position, sets.template, members, numbers)
        if sets.rate.any():
            header = members.spread(sets.rate)
            told = np.where(header > 0, header, told)
        found = rates(numbers, told)
        if len(found) and (found[0] == 0 or (found.strides != (0,) and found.min() == 0)):
            self.accounts.add_all(counter_names.UNRATED, sets.exporter[members.of], found == 0)
        return found

    def read_frames(self, numbers: Numbers, columns: dict[str, Column]) -> tuple[dict[str, Column], Ints]:
        """Decode the frames in records; return the columns of the other records, and their rows."""
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
        """Join the parts to at most two, because they have different dictionaries of addresses."""
        books = ((self.plain, self.endpoints.texts), (self.framed, self.frames.endpoints))
        return [_flows(parts, texts, self.records.senders) for parts, texts in books if parts or texts is books[0][1]]


def _any(columns: dict[str, Column]) -> Mask:
    """Mark the records with any traffic."""
    found: Mask = np.zeros(len(columns["start_ns"]), np.bool_)
    for name in ("octets", "packets"):
        found |= columns[name] > 0 if name in columns else False
    return found


def _flows(parts: list[dict[str, Column]], endpoints: Sequence[str], exporters: tuple[str, ...]) -> Flows:
    if not parts:
        return Flows.build({"start_ns": np.zeros(0, np.int64)}, endpoints=endpoints, exporters=exporters)
    whole = [Flows.build(columns, endpoints=endpoints, exporters=exporters) for columns in parts]
    if len(whole) == 1:
        return whole[0]
    joined = {c.name: np.concatenate([getattr(part, c.name) for part in whole]) for c in COLUMNS}
    return Flows.build(joined, endpoints=endpoints, exporters=exporters)
