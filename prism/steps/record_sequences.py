"""Group the records of a job into sequences: records of one directed pair and one kind, in order of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import FIN, RST, TCP, Flows
from prism.loops.arrays.group_sums import by_group, numbered, numbered_pairs
from prism.loops.arrays.orders import in_order
from prism.steps import constants as c

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Sequences:
    """Payload records by sequence, then by start. Times in ns from the first record.

    RDMA: a sequence is the messages of one size between two endpoints, `weight` counts them. TCP: a sequence is one connection,
    `weight` is octets, because TCP cuts bursts at will (`bursts`).
    """

    rows: NDArray[np.intp]  # indices in the flows
    of: Ints  # sequence of each record
    begins: Ints  # first record of each sequence, and the end of the last: int64[sequences + 1]
    start: Ints
    end: Ints
    weight: Floats
    octets: Floats
    src: Ints  # of each sequence: its sender and receiver
    dst: Ints
    kind: Ints  # of each sequence: its class; sequences of one class move messages of one size
    reduces: Mask  # of each sequence: whether it is labelled as gradient reduction
    bursts: bool
    signals: Mask  # of each sequence: whether it carries no payload but may reduce scalars
    labelled: bool  # whether gradient reductions are labelled
    origin: int  # ns since the epoch
    closed: bool = False  # whether connections close after the last payload
    tcp: bool = False  # whether most records are TCP's

    def __len__(self) -> int:
        return len(self.src)

    @property
    def count(self) -> Ints:
        """Records of each sequence."""
        return np.diff(self.begins)

    @property
    def life(self) -> int:
        """Time from the first start to the last end, ns."""
        return int(self.end.max(initial=0)) + 1

    @cached_property
    def small(self) -> Mask:
        """Sequences of classes with few octets: reductions of scalars, and signals."""
        octets = np.bincount(self.kind, np.bincount(self.of, self.octets, len(self)))
        return np.asarray((octets < c.SMALL * octets.sum())[self.kind])

    @cached_property
    def in_time(self) -> NDArray[np.intp]:
        """Order of the records by start, stable."""
        return in_order(self.start)

    @cached_property
    def recurring(self) -> Mask:
        """Sequences that recur through the job; broadcasts at the start do not."""
        return recurs(self.of, self.start * c.PARTS_OF_LIFE // self.life, self.octets, len(self))

    @cached_property
    def scalars(self) -> Mask:
        """Recurring sequences without payload that may reduce scalars. By TCP they serve a library's own purposes."""
        return self.recurring & self.signals & (not self.tcp)

    @property
    def lasting(self) -> Mask:
        """Recurring sequences with payload."""
        return self.recurring & ~self.signals


def recurs(of: Ints, part: Ints, octets: Floats, n: int) -> Mask:
    """Select those of `n` sequences whose records lie in several of the `PARTS_OF_LIFE` and not nearly all in one of them."""
    moved = np.bincount(of * c.PARTS_OF_LIFE + part, octets, n * c.PARTS_OF_LIFE).reshape(-1, c.PARTS_OF_LIFE)
    return np.asarray(((moved > 0).sum(1) >= c.LEAST_PARTS) & (moved.max(1) <= c.ONE_PART * moved.sum(1)))


def sequences_of(flows: Flows, rows: NDArray[np.intp], reduces: Mask | None = None) -> Sequences:
    """Group the payload records of a job, `rows` of the flows, into sequences.

    `reduces`: the records that reduce gradients, bool[flows], if labelled.
    """
    closing = rows[(flows.tcp_flags[rows] & (FIN | RST)) != 0]
    rows = rows[_relevant(flows, rows)]
    tcp = bool(2 * np.count_nonzero(flows.protocol[rows] == TCP) > len(rows))
    messages = flows.messages.take(rows)
    bursts = tcp or bool(2 * np.count_nonzero((messages > 1) | (messages < 0)) > len(rows))
    messages = np.maximum(messages, 1)
    octets = flows.octets.take(rows).astype(np.float64)
    known, of = numbered_pairs(flows.src.take(rows), flows.dst.take(rows), len(flows.endpoints))
    if tcp:
        kind = numbered_pairs(flows.src_port[rows].astype(np.int32), flows.dst_port[rows].astype(np.int32), 1 << 16)[1]
    elif bursts:
        kind = flows.control().take(rows).astype(np.int64)
    else:
        kind = classes(octets / messages, c.ONE_SIZE)
        if reduces is not None:  # chunks of one size may still belong to different operations
            kind = numbered_pairs(kind, reduces[rows].astype(np.int64), 2)[1]
    if kind.any():
        known, of = numbered_pairs(of, kind, int(kind.max()) + 1)
    start = flows.sent_ns.take(rows)
    order, _ = by_group(of.astype(np.int32), len(known), start)
    origin = int(start.min()) if len(rows) else 0
    ended = int(flows.end_ns[rows[~flows.control().take(rows)]].max(initial=1))
    of, rows, octets = of.take(order), rows.take(order), octets.take(order)
    begins = np.searchsorted(of, np.arange(len(known) + 1))
    first = begins[:-1]
    volume = np.bincount(of, octets, len(known)).astype(np.float64)
    own = classes(volume, c.ONE_VOLUME) if bursts else kind[order[first]]
    is_reduction = np.zeros(len(known), np.bool_)
    if reduces is not None:
        is_reduction = 2 * np.bincount(of, reduces[rows], len(known)) > np.diff(begins)
    return Sequences(
        rows, of, begins, start.take(order) - origin, flows.end_ns.take(rows) - origin,
        octets if bursts else messages.take(order).astype(np.float64), octets,
        flows.src[rows[first]].astype(np.int64), flows.dst[rows[first]].astype(np.int64), own, is_reduction, bursts,
        ~(np.bincount(of, ~flows.control().take(rows), len(known)) > 0), reduces is not None, origin,
        bool(flows.start_ns[closing].max(initial=0) >= ended), tcp,
    )  # fmt: skip


def _relevant(flows: Flows, rows: NDArray[np.intp]) -> Mask:
    """Select payload, and small records that may be a scalar reduction: those of a TCP connection without payload, and, by
    RDMA, of two ranks without any or with at least twice as many of payload. Credits, one per message, are more.
    """
    payload = ~flows.control().take(rows)
    small = ~payload & (flows.octets[rows] > 0)
    if not small.any():
        return payload
    tcp = flows.protocol[rows] == TCP
    ends = [(side[rows].astype(np.int64) << 16) | np.where(tcp, port[rows], 0) for side, port in
            ((flows.src, flows.src_port), (flows.dst, flows.dst_port))]  # fmt: skip
    line = numbered(np.minimum(*ends), np.maximum(*ends))[0]
    large = np.bincount(line, payload)
    alone = small & (large == 0)[line]
    few = small & ~tcp & (2 * np.bincount(line, small) <= large)[line]
    alike = np.isin(flows.octets[rows], np.unique(flows.octets[rows[alone & ~tcp]]))  # those of the same reduction elsewhere
    return np.asarray(payload | alone | few | (small & ~tcp & alike))


def classes(sizes: Floats, max_distance: float) -> Ints:
    """Number the class of each size, smallest 0: consecutive sizes within the share `max_distance` share a class."""
    place = np.round(np.log(np.maximum(sizes, 1)) / max_distance * c.CLASS_CELLS).astype(np.int64)
    seen = np.bincount(place - place.min()) > 0 if len(place) else np.zeros(0, np.bool_)
    at = np.flatnonzero(seen)
    number = np.zeros(len(seen), np.int64)
    number[at] = np.cumsum(np.diff(at, prepend=at[:1]) > c.CLASS_CELLS)
    return number.take(place - place.min()) if len(place) else place


def chosen(sequences: Sequences, of: Mask | None = None) -> Ints:
    """Choose sequences that represent all: an equal number per class, spread evenly over its pairs; of long bursts fewer.

    Of connections, all between the same endpoints: a restarted job opens new ones, of another volume, thus of another class.
    `of`: those to choose from, bool[sequences]; else all `lasting` ones.
    """
    lasting = np.flatnonzero(sequences.lasting if of is None else of)
    kinds = np.unique(sequences.kind[lasting])
    enough = max(c.PAIRS_OF_CLASS, c.RECORDS * len(sequences) // max(len(sequences.of) * len(kinds), 1))
    each = max(2, c.SEQUENCES // max(len(kinds), 1))
    each = min(each, enough) if sequences.bursts else each
    picked: Sequence[Ints] = [_throughout(sequences, lasting[sequences.kind[lasting] == k]) for k in kinds.tolist()]
    spread = [_spread(sequences, own, each) for own in picked]
    found = np.sort(np.concatenate(spread)) if spread else np.zeros(0, np.int64)
    pair = (sequences.src << 32) + sequences.dst
    return lasting[np.isin(pair[lasting], pair[found])] if sequences.bursts else found


def _spread(sequences: Sequences, own: Ints, number: int) -> Ints:
    """Choose about so many, all those of some senders. At equal distances they might be those to one partner of each rank: half
    of a pipeline's traffic.
    """
    if len(own) <= number:
        return own
    src, of = np.unique(sequences.src[own], return_inverse=True)
    each = max(number * len(src) // len(own), 1)
    some = np.linspace(0, len(src) - 1, each).astype(np.int64)
    return own[np.isin(of, some)]


def _throughout(sequences: Sequences, own: Ints) -> Ints:
    """Select the sequences of a class that are there from the first quarter of a job's life to the last, if any are.

    After a restart others may join the same ranks; the clock of both advances by another amount per step than before.
    """
    part = sequences.life * c.LEAST_PARTS / c.PARTS_OF_LIFE
    first, last = sequences.start[sequences.begins[own]], sequences.start[sequences.begins[own + 1] - 1]
    spans = (first <= part) & (last >= sequences.life - part)
    return own[spans] if spans.any() else own
