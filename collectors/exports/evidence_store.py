"""Store evidence from the decoders until it is read, and convert it to delays and losses for the analysis.

Delays in switches have the same form as delays between them; drops and counters become losses.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from collectors.columns.losses import Losses, concatenate_losses
from collectors.columns.record import Ints, Transits
from collectors.exports._counter_growth import Growth
from collectors.exports.evidence import Counters, Delays, Drops, Evidence, Notices, Rows

KINDS: Mapping[type[Rows], str] = {Counters: "counters", Delays: "delays", Drops: "drops", Notices: "notices"}
DELAYS = ("start_ns", "sender", "receiver", "packets", "delay_ns", "max_delay_ns", "depth")
BIN_NS = 50_000_000


class EvidenceBuffer:
    """Evidence until it is taken: at most the newest `most` rows. `told` counts rows by kind, `gone` counts dropped rows."""

    def __init__(self, *, most: int = 1 << 18) -> None:
        self.most, self.told, self.gone = most, Counter[str](), 0
        self._parts, self._held, self._lock = deque[Rows](), 0, threading.Lock()

    def add(self, evidence: Iterable[Rows]) -> None:
        """Add rows. Thread-safe."""
        with self._lock:
            for rows in evidence:
                self.told[KINDS[type(rows)]] += len(rows)
                self._parts.append(rows)
                self._held += len(rows)
            while self._held > self.most:
                rows = self._parts.popleft()
                self._held -= len(rows)
                self.gone += len(rows)

    def drain(self) -> Evidence:
        """Take all rows since the last call, in order of arrival. Thread-safe."""
        with self._lock:
            parts, self._parts, self._held = self._parts, deque[Rows](), 0
        found = Evidence()
        for rows in parts:
            found.add(rows, self.most + len(found))
        return found


class EvidenceConverter:
    """Converts evidence over time: it remembers switches, and the last counters."""

    def __init__(self) -> None:
        self._exporters: list[str] = []
        self._growth = Growth()

    def transits(self, evidence: Evidence) -> Transits:
        """Compute delays and losses in switches from new evidence."""
        losses = [*map(drop_losses, evidence.drops), *map(self._growth.losses, evidence.counters)]
        return replace(switch_delays(evidence.delays, self._exporters), losses=concatenate_losses(losses))


def merge_transits(parts: Iterable[Transits]) -> Transits:
    """Concatenate delays and losses, with one dictionary of switches; all parts with delays have the same time bins."""
    parts, code = list(parts), dict[str, int]()
    columns: dict[str, list[Ints]] = {name: [np.zeros(0, np.int64)] for name in DELAYS}
    for part in parts:
        place = np.array([*(code.setdefault(name, len(code)) for name in part.exporters), -1], np.int64)
        for name, column in columns.items():
            own = getattr(part, name)
            column.append(place[own] if name in ("sender", "receiver") else own)
    whole: dict[str, Any] = {name: np.concatenate(own) for name, own in columns.items()}
    whole |= {name: whole[name].astype(np.int32) for name in ("sender", "receiver")}
    bin_ns = max((part.bin_ns for part in parts), default=0)
    return Transits(**whole, exporters=tuple(code), bin_ns=bin_ns, losses=concatenate_losses([part.losses for part in parts]))


def drop_losses(drops: Drops, *, bin_ns: int = BIN_NS) -> Losses:
    """Count dropped packets by switch, interfaces, endpoints, reason and time bin."""
    names = ("exporter", "src", "dst", "in_interface", "out_interface", "reason")
    keys = np.stack([drops.time_ns // bin_ns, *(getattr(drops, name).astype(np.int64) for name in names)])
    (bins, *rest), packets = np.unique(keys, axis=1, return_counts=True)
    columns = dict(zip(names, rest, strict=True)) | {
        "start_ns": bins * bin_ns,
        "end_ns": (bins + 1) * bin_ns,
        "packets": packets,
    }
    return Losses.build(columns, drops.exporters, drops.endpoints)


def switch_delays(delays: Iterable[Delays], exporters: list[str], *, bin_ns: int = BIN_NS) -> Transits:
    """Compute delays inside switches and queue depths by switch and time bin, as hops from a switch to itself.

    `exporters` are the switches so far and grow; rows without a delay describe the queue alone.
    """
    code, columns = {name: i for i, name in enumerate(exporters)}, []
    for part in delays:
        names = [code.setdefault(name, len(code)) for name in part.exporters]
        known = (part.delay_ns >= 0) | (part.depth >= 0)
        switch = np.array(names or [0], np.int64)[part.exporter[known]]
        columns.append(np.stack([part.time_ns[known] // bin_ns, switch, part.delay_ns[known], part.depth[known]]))
    exporters[:] = list(code)
    whole = np.concatenate([np.zeros((4, 0), np.int64), *columns], axis=1)
    bins, switch, delay, depth = whole[:, np.lexsort((whole[1], whole[0]))]
    if not len(bins):
        return replace(Transits.empty(tuple(exporters)), bin_ns=bin_ns)
    starts = np.flatnonzero(np.r_[True, (np.diff(bins) != 0) | (np.diff(switch) != 0)])
    packets = np.add.reduceat((delay >= 0).astype(np.int64), starts)
    delay = np.maximum(delay, 0)
    mean = np.rint(np.add.reduceat(delay.astype(float), starts) / np.maximum(packets, 1)).astype(np.int64)
    longest, deepest = np.maximum.reduceat(delay, starts), np.maximum.reduceat(depth, starts)
    hop = switch[starts].astype(np.int32)
    return Transits(bins[starts] * bin_ns, hop, hop, packets, mean, longest, tuple(exporters), bin_ns, deepest)
