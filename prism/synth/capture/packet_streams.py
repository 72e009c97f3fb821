"""Convert trains to packets in order of time, with the sender's numbers: TCP sequence, acknowledgment, PSN, IP identification.

Memory holds one chunk of packets and the trains that continue after it, however long the trains are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.columns.partial_records import Table, hash_columns, run_sizes, run_starts, running_max
from collectors.columns.record import ACK, FIN, SYN, TCP
from collectors.packets.headers import CNP
from prism.synth.capture.packet_trains import take_rows
from prism.synth.scenario.cluster import Ints
from prism.synth.training.fabric import SEGMENT
from prism.synth.training.job_run import FAR_NS

FIRST, MIDDLE, LAST, ONLY, ACKNOWLEDGE = 6, 7, 8, 10, 17  # RC WRITEs, IBTA volume 1 table "OpCode field"
LONG = 4096  # packets of a train that are expanded at once
KEPT = ("src", "dst", "src_port", "dst_port", "protocol", "dst_qp", "link", "way", "first", "second", "third", "up", "down")


class Packets:
    """Expands trains to packets. `ends_only`: only first and last packets of RDMA messages; `most` packets at once.

    A table of packets has a row per packet: the columns of its train in `KEPT`, `time` at the first switch (ns since the
    simulation's start), at the `second` and `third`, `octets` of payload, `total` of its message, `opcode` (−1 for TCP),
    `flags`, `sequence`, `acknowledgment` (of an RDMA acknowledgment: number of messages), `ip_id`.
    """

    def __init__(self, *, ends_only: bool = False, most: int = 1 << 17) -> None:
        self.ends_only, self.most = ends_only, most
        self.waiting: Table = {}
        self.begun: Table = {}
        self.numbering = _Numbering()

    def add(self, trains: Table, until: float = FAR_NS) -> Iterator[tuple[Table, float]]:
        """Add trains, sorted by start; later trains start at `until` or later.

        Yields packets by time, complete up to a time.
        """
        fresh = _cut(trains, self.ends_only)
        waiting = {name: np.concatenate([self.waiting[name], fresh[name]]) for name in fresh} if self.waiting else fresh
        waiting = take_rows(waiting, np.argsort(waiting["start"], kind="stable"))
        while True:
            ready = int(np.searchsorted(waiting["start"], until))
            take = min(ready, int(np.searchsorted(np.cumsum(waiting["count"]), self.most)) + 1)
            edge = min(until, float(waiting["start"][take])) if take < len(waiting["start"]) else until
            laid = _laid(take_rows(waiting, slice(take)))
            waiting = take_rows(waiting, slice(take, None))
            rows = {name: np.concatenate([self.begun[name], laid[name]]) for name in laid} if self.begun else laid
            over = rows["time"] < edge
            self.begun = take_rows(rows, ~over)
            rows = take_rows(rows, over)
            if len(rows["time"]):
                yield self.numbering.numbered(take_rows(rows, np.argsort(rows["time"], kind="stable"))), edge
            if take == ready:
                break
        self.waiting = waiting


def _cut(t: Table, ends_only: bool) -> Table:
    """Cut trains into pieces of at most `LONG` packets.

    Adds `at`, the position of a piece's first packet in the train, and `count`, its number of packets.
    """
    many = t["packets"]
    brief = (t["protocol"] != TCP) & (many > 2) if ends_only else np.zeros(len(many), np.bool_)
    parts = np.where(brief, 1, -(-many // LONG))
    row = np.repeat(np.arange(len(many)), parts)
    part = np.arange(len(row)) - np.repeat(np.cumsum(parts) - parts, parts)
    out = take_rows(t, row)
    out["pace"] = (out["end"] - out["start"]) / np.maximum(out["packets"] - 1, 1)
    out["at"] = part * LONG
    out["brief"] = brief[row]
    out["count"] = np.where(out["brief"], 2, np.minimum(out["packets"] - out["at"], LONG))
    again, parts = out["again"], parts[row]
    out["again"] = np.where(out["brief"], 0, np.minimum(again * (part + 1) // parts - again * part // parts, out["count"]))
    out["start"] = out["start"] + out["at"] * out["pace"]
    out["count"] = out["count"] + out["again"]
    return out


def _laid(t: Table) -> Table:
    """Expand trains to a row per packet; a retransmitted packet follows the original."""
    count, again = t["count"], t["again"]
    row = np.repeat(np.arange(len(count)), count)
    slot = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    out = {name: t[name][row] for name in KEPT}
    behind = slot * again[row] // count[row]  # retransmissions up to this slot
    repeat = (slot + 1) * again[row] // count[row] > behind
    place = t["at"][row] + slot - behind - repeat
    brief, many = t["brief"][row], t["packets"][row]
    skipped = np.where(brief & (slot == 1), many - 2, 0)
    place = place + skipped
    since = place - t["at"][row] + np.where(repeat, 0.5, 0.0)
    out["time"] = np.rint(t["start"][row] + since * t["pace"][row]).astype(np.int64)
    tcp, total, last = out["protocol"] == TCP, t["octets"][row], place == many - 1
    size = np.where(tcp, SEGMENT["tcp"], SEGMENT["rdma"])
    out["octets"] = np.clip(total - place * size, 0, size)
    out["total"] = total
    out["repeat"], out["skipped"] = repeat, skipped
    opcode = np.where(last, np.where(place == 0, ONLY, LAST), np.where(place == 0, FIRST, MIDDLE))
    flags = t["flags"][row]
    opcode = np.where(total > 0, opcode, np.where(flags == CNP, CNP, ACKNOWLEDGE))
    out["opcode"] = np.where(tcp, -1, opcode).astype(np.int16)
    out["flags"] = np.where(tcp, np.where(last, flags, ACK), 0).astype(np.uint8)
    return out


class _Numbering:
    """Counters of each connection; arrays over (connection, direction)."""

    def __init__(self) -> None:
        self.known: dict[int, int] = {}
        names = ("sent", "acknowledged", "packets", "second", "third")
        self.state = {name: np.zeros((0, 2), np.int64) for name in names}

    def numbered(self, t: Table) -> Table:
        """Number packets (sorted by time), and compute their times at later switches."""
        link, way = self.codes(t["link"]), t["way"].astype(np.int64)
        tcp, opens = t["protocol"] == TCP, t["flags"] & (SYN | FIN) > 0
        acknowledges, notifies = t["opcode"] == ACKNOWLEDGE, t["opcode"] == CNP
        advance = np.where(tcp, t["octets"] + opens, np.where(acknowledges | notifies, 0, 1 + t["skipped"]))
        advance[t["repeat"]] = 0
        order = np.argsort(link, kind="stable")
        own, other = self._counted("sent", advance, link, way, order)
        before = own - advance
        first = hash_columns(t["link"], way) & np.uint64(0xFFFFFFFF)
        begin = first.astype(np.int64)
        far = (hash_columns(t["link"], 1 - way) & np.uint64(0xFFFFFFFF)).astype(np.int64)
        sequence = np.where(t["repeat"], before - np.where(tcp, t["octets"], 1), before + t["skipped"])
        t["sequence"] = np.where(acknowledges, far + other - 1, begin + sequence) & np.where(tcp, 0xFFFFFFFF, 0xFFFFFF)
        t["sequence"][notifies] = 0
        messages, _ = self._counted("acknowledged", acknowledges.astype(np.int64), link, way, order)
        known = np.where(t["flags"] & ACK > 0, (far + other) & 0xFFFFFFFF, 0)
        t["acknowledgment"] = np.where(tcp, known, messages & 0xFFFFFF)
        t["ip_id"] = self._counted("packets", np.ones(len(link), np.int64), link, way, order)[0] & 0xFFFF
        return t | self._times(t, link, way)

    def codes(self, key: NDArray[np.uint64]) -> Ints:
        """Map connections to numbers."""
        keys, place = np.unique(key, return_inverse=True)
        codes = np.array([self.known.setdefault(k, len(self.known)) for k in keys.tolist()], np.int64)
        room = len(self.state["sent"])
        if len(self.known) > room:
            more = max(len(self.known), 2 * room) - room
            self.state = {name: np.concatenate([a, np.zeros((more, 2), np.int64)]) for name, a in self.state.items()}
        return np.asarray(codes[place.ravel()])

    def _counted(self, name: str, advance: Ints, link: Ints, way: Ints, order: NDArray[np.intp]) -> tuple[Ints, Ints]:
        """Count along each packet's connection, in its own direction and in the other."""
        state, n = self.state[name], len(link)
        sums = np.empty((2, n), np.int64)
        sorted_link = link[order]
        starts = run_starts(sorted_link)
        lasts = starts + run_sizes(starts, n) - 1
        for w in (0, 1):
            mine = np.where(way[order] == w, advance[order], 0)
            along = np.cumsum(mine)
            along += np.repeat(state[sorted_link[starts], w] - (along - mine)[starts], lasts + 1 - starts)
            state[sorted_link[starts], w] = along[lasts]
            sums[w, order] = along
        rows = np.arange(n)
        return sums[way, rows], sums[1 - way, rows]

    def _times(self, t: Table, link: Ints, way: Ints) -> Table:
        """Compute the times at the second and third switch; packets of one connection keep their order."""
        flow = link * 2 + way
        order = np.argsort(flow, kind="stable")
        starts = run_starts(flow[order])
        flows, lasts = flow[order][starts], starts + run_sizes(starts, len(flow)) - 1
        out: dict[str, NDArray[Any]] = {}
        before, base = t["time"], int(t["time"].min())
        for name, queue in (("second", "up"), ("third", "down")):
            state = self.state[name].reshape(-1)
            arrival = (before + np.rint(t[queue]).astype(np.int64))[order] - base
            known = np.maximum(state[flows] - base, 0)
            seen = np.maximum(arrival, running_max(arrival, starts, known))
            state[flows] = seen[lasts] + base
            before = np.empty(len(flow), np.int64)
            before[order] = seen + base
            out[f"{name}_time"] = before
        return out
