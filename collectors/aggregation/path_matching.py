"""Match packets that several switches captured: count each once, with its path and the delay of each hop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.columns.partial_records import Pieces, hash_columns, run_sizes, run_starts
from collectors.columns.record import Codes, Ints, Mask, Packets, Transits

FAR = np.iinfo(np.int64).max
COLUMNS = tuple(f.name for f in fields(Packets))
IDENTITY = (
    "src",
    "dst",
    "src_port",
    "dst_port",
    "protocol",
    "ip_id",
    "sequence",
    "acknowledgment",
    "tcp_flags",
    "octets",
    "opcode",
    "dst_qp",
)


@dataclass(frozen=True, eq=False)
class Seen:
    """Unique packets by time at the counting switch, with that switch and the path (code into `Sightings.paths`)."""

    packets: Packets
    exporter: Codes
    path: Ints

    def take(self, rows: NDArray[np.intp] | Mask) -> Seen:
        """Select rows in the given order."""
        return Seen(self.packets.take(rows), self.exporter[rows], self.path[rows])


class Sightings:
    """Matches sightings of a packet by identity, first with first; stores one window of packets.

    A sighting joins the oldest packet of its identity that was first seen at most `horizon_ns` ago and not yet by this switch.
    Packets come out by time once no open switch can add to them.

    Parameters
    ----------
    exporters : sequence of str
        Names of the switches.
    home : mapping of str to str, optional
        Switch of each address. The time at the sender's own switch counts, else the earliest.
    horizon_ns : int
        Maximum time between sightings of a packet, ns.
    bin_ns : int
        Time bins of the hop delays, ns.
    least : int
        Number of packets for which a `take` is worth its cost.
    """

    def __init__(
        self, exporters: Sequence[str], home: Mapping[str, str] | None, *, horizon_ns: int, bin_ns: int, least: int = 1 << 16
    ) -> None:
        self.exporters = tuple(exporters)
        self.number = {name: i for i, name in enumerate(self.exporters)}
        self.home = home or {}
        self.homes = np.zeros(0, np.int32)
        self.horizon_ns, self.bin_ns, self.least = horizon_ns, bin_ns, least
        self.clock = dict.fromkeys(self.exporters, -FAR)
        self.cut = -FAR
        self.parts: list[tuple[int, Packets]] = []
        self.fresh = self.held = 0
        self.paths: list[tuple[int, ...]] = [()]
        self.path_of: dict[tuple[int, ...], int] = {(): 0}
        self.hops = Pieces(
            {"sender": "first", "receiver": "first", "bin": "first", "packets": "sum", "total": "sum", "longest": "max"}
        )
        self.hop_of: dict[tuple[int, int, int], int] = {}
        self.tally: Counter[str] = Counter()

    def behind(self) -> str | None:
        """Return the open switch that is least advanced in time, to be read next. None when all are closed."""
        return min(self.clock, key=lambda name: self.clock[name], default=None)

    def open(self, exporter: str) -> None:
        """Add a switch."""
        if exporter not in self.number:
            self.number[exporter] = len(self.exporters)
            self.exporters += (exporter,)
        self.clock.setdefault(exporter, self.cut)

    def advance(self, now: int) -> None:
        """Declare that all packets of open switches before `now` were added."""
        self.clock = {exporter: max(clock, now) for exporter, clock in self.clock.items()}

    def close(self, exporter: str) -> None:
        """Mark a switch as complete."""
        self.clock.pop(exporter, None)

    def add(self, exporter: str, packets: Packets) -> None:
        """Add packets of one switch, in the order of its capture."""
        if not len(packets):
            return
        late = int(np.count_nonzero(packets.time_ns < self.cut))
        if late:
            self.tally["clock went back"] += late
        self.clock[exporter] = max(self.clock.get(exporter, -FAR), int(packets.time_ns.max()))
        self.parts.append((self.number[exporter], packets))
        self.fresh += len(packets)

    def due(self) -> bool:
        """Check whether enough packets arrived since the last `take`."""
        return self.fresh >= max(self.least, self.held)

    def take(self, addresses: Sequence[str], *, last: bool = False) -> Seen | None:
        """Take the complete packets, by time; all of them in the `last` call."""
        if not self.parts:
            return None
        cut = FAR if last else min(self.clock.values(), default=FAR)
        cut = max(self.cut, cut - self.horizon_ns if cut < FAR else FAR)
        if cut == -FAR:
            return None
        self.cut = cut
        self.parts.sort(key=lambda part: part[0])
        columns = {name: np.concatenate([getattr(p, name) for _, p in self.parts]) for name in COLUMNS}
        exporter = np.repeat([e for e, _ in self.parts], [len(p) for _, p in self.parts]).astype(np.int32)
        packets = Packets(**columns)
        home = self.homes_of(packets.src, addresses)
        done, kept = self.match(packets, exporter, home)
        self.parts = [(int(e), packets.take(kept[exporter[kept] == e])) for e in np.unique(exporter[kept])]
        self.held, self.fresh = len(kept), 0
        return done

    def homes_of(self, src: Codes, addresses: Sequence[str]) -> Codes:
        """Return the switch of each sender, -1 if unknown."""
        known = len(self.homes)
        if len(addresses) > known:
            new = np.full(len(addresses) - known, -1, np.int32)
            if self.home:
                new[:] = [self.number.get(self.home.get(a, ""), -1) for a in addresses[known:]]
            self.homes = np.concatenate([self.homes, new])
        return self.homes[src]

    def match(self, packets: Packets, exporter: Codes, home: Codes) -> tuple[Seen, NDArray[np.intp]]:
        """Match sightings; return the packets complete before `self.cut`, and the rows to keep for later."""
        key = hash_columns(*(getattr(packets, name) for name in IDENTITY))
        time = packets.time_ns
        order = np.argsort(time, kind="stable")
        group = np.arange(len(order))
        if len(self.exporters) > 1:
            order = order[np.argsort(key[order], kind="stable")]
            group = self.groups(key[order], time[order], exporter[order])
            # rows by packet, the home switch first, then by time
            away = exporter[order] != home[order]
            by_packet = np.argsort(2 * group + away, kind="stable")
            order, group = order[by_packet], group[by_packet]
        starts = run_starts(group)
        ready = time[order[starts]] < self.cut
        in_ready = np.repeat(ready, run_sizes(starts, len(order)))
        kept = np.sort(order[~in_ready])
        order, group = order[in_ready], group[in_ready]
        starts = run_starts(group)
        path = self.path_codes(exporter[order], starts)
        self.note_hops(exporter[order], time[order], group)
        first = order[starts]
        by_time = np.lexsort((first, time[first]))  # packets with equal time stamps in order of capture
        first = first[by_time]
        return Seen(packets.take(first), exporter[first], path[by_time]), kept

    def groups(self, key: NDArray[np.uint64], time: Ints, exporter: Codes) -> Ints:
        """Assign sightings (sorted by identity, then time) to packet numbers."""
        n = len(key)
        starts = run_starts(key)
        sizes = run_sizes(starts, n)
        run = np.repeat(np.arange(len(starts)), sizes)
        span = time[starts + sizes - 1] - time[starts]
        # an identity is simple if no switch saw it twice and all saw it within the horizon
        pair = np.sort((run << 20) | exporter)
        twice = np.zeros(len(starts), np.bool_)
        twice[pair[1:][pair[1:] == pair[:-1]] >> 20] = True
        group = starts[run].astype(np.int64)
        for i in np.flatnonzero(twice | (span > self.horizon_ns)):
            lo, hi = int(starts[i]), int(starts[i] + sizes[i])
            group[lo:hi] = self.oldest_first(time[lo:hi].tolist(), exporter[lo:hi].tolist(), lo)
        return group

    def oldest_first(self, times: list[int], exporters: list[int], base: int) -> list[int]:
        """Assign the sightings of one identity that needs an individual match."""
        waiting: list[tuple[int, int, set[int]]] = []  # first time, number, switches
        out = []
        for i, (time, exporter) in enumerate(zip(times, exporters, strict=True)):
            while waiting and waiting[0][0] < time - self.horizon_ns:
                waiting.pop(0)
            mine = next((packet for packet in waiting if exporter not in packet[2]), None)
            if mine is None:
                mine = (time, base + i, set())
                waiting.append(mine)
            mine[2].add(exporter)
            out.append(mine[1])
        return out

    def path_codes(self, exporter: Codes, starts: NDArray[np.intp]) -> Ints:
        """Return the path code of each run of sightings."""
        sizes = run_sizes(starts, len(exporter))
        code = np.zeros(len(starts), np.int64)
        for hop in range(int(sizes.max(initial=0))):
            longer = np.flatnonzero(sizes > hop)
            pair = code[longer] * len(self.exporters) + exporter[starts[longer] + hop]
            values, inverse = np.unique(pair, return_inverse=True)
            codes = [self.path_code((*self.paths[v // len(self.exporters)], v % len(self.exporters))) for v in values.tolist()]
            code[longer] = np.asarray(codes, np.int64)[inverse]
        return code

    def path_code(self, path: tuple[int, ...]) -> int:
        """Return the code of a path; a new path gets a new code."""
        if path not in self.path_of:
            self.path_of[path] = len(self.paths)
            self.paths.append(path)
        return self.path_of[path]

    def note_hops(self, exporter: Codes, time: Ints, group: Ints) -> None:
        """Add the delays between consecutive sightings to their link and time bin."""
        hop = np.flatnonzero(group[1:] == group[:-1])
        if not len(hop):
            return
        sender, receiver = exporter[hop].astype(np.int64), exporter[hop + 1].astype(np.int64)
        delay, number = time[hop + 1] - time[hop], time[hop] // self.bin_ns
        order = np.lexsort((number, receiver, sender))
        link = (sender * len(self.exporters) + receiver)[order]
        starts = np.flatnonzero(np.r_[True, (link[1:] != link[:-1]) | (np.diff(number[order]) != 0)])
        columns: dict[str, NDArray[Any]] = {
            "sender": sender[order][starts],
            "receiver": receiver[order][starts],
            "bin": number[order][starts],
        }
        keys = zip(*(c.tolist() for c in columns.values()), strict=True)
        columns["record"] = np.asarray([self.hop_of.setdefault(k, len(self.hop_of)) for k in keys])
        columns["packets"] = run_sizes(starts, len(order))
        columns["total"] = np.add.reduceat(delay[order], starts)
        columns["longest"] = np.maximum.reduceat(delay[order], starts)
        self.hops.add(columns)

    def expired(self) -> Transits:
        """Take all delays since the last call; they are removed. Delays of one link and time bin may come in parts."""
        transits = self.transits()
        self.hops.take(np.ones(len(self.hops.joined()["record"]), np.bool_))
        self.hop_of.clear()
        return transits

    def transits(self) -> Transits:
        """Return all delays so far, by time, then link."""
        t = self.hops.joined()
        order = np.lexsort((t["receiver"], t["sender"], t["bin"]))
        t = {name: column[order] for name, column in t.items()}
        mean = np.rint(t["total"] / np.maximum(t["packets"], 1)).astype(np.int64)
        sender, receiver = t["sender"].astype(np.int32), t["receiver"].astype(np.int32)
        return Transits(t["bin"] * self.bin_ns, sender, receiver, t["packets"], mean, t["longest"], self.exporters, self.bin_ns)
