"""Buffer incoming records by time, and compute the watermark up to which they are complete.

Records arrive late, out of order, and from wrong clocks. The watermark follows from the usual delay between the end of records
and their arrival: no exporter's clock can move it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows, Ints, Transits, concatenated
from collectors.exports.evidence_store import DELAYS, merge_transits

SECOND = 1_000_000_000
NO_FLOWS = Flows.build({"start_ns": []}, endpoints=())
LOSSES = 1 << 16  # rows that are kept
EXPORTERS = 4096  # exporters by name that are kept; names can be forged
FUTURE, FORGOTTEN = "timestamp in the future", "too old for the window"


class Delays:
    """Delay between the end and the arrival of records: the newest `batches`, weighted by their records."""

    def __init__(self, *, share: float = 0.99, batches: int = 256, most_s: float = 30.0) -> None:
        self._share, self._most = share, int(most_s * SECOND)
        self._seen: deque[tuple[int, int]] = deque(maxlen=batches)

    def add(self, ended_ns: NDArray[np.int64], arrived_ns: int) -> None:
        """Add a batch of records that arrived."""
        if len(ended_ns):
            self._seen.append((int(arrived_ns - np.quantile(ended_ns, 1 - self._share)), len(ended_ns)))

    @property
    def lag_ns(self) -> int:
        """Time after their end within which nearly all records arrive, ns, bounded."""
        if not self._seen:
            return 0
        delay, count = (np.array(column) for column in zip(*self._seen, strict=True))
        order = np.argsort(delay)
        at = int(np.searchsorted(np.cumsum(count[order]), self._share * count.sum()))
        return int(np.clip(delay[order][min(at, len(delay) - 1)], 0, self._most))


class RecordWindow:
    """The newest records, by time, in bounded memory; `skipped` counts rejected records by reason."""

    def __init__(self, *, most_rows: int = 20_000_000, ahead_s: float = 2.0) -> None:
        self.skipped: Counter[str] = Counter()
        self.ahead: dict[str, float] = {}  # exporters whose records are in the future, and by how much, s
        self.heard_ns = 0  # end of the newest record
        self.newest_by: dict[str, int] = {}  # the same per exporter
        self._flows, self._parts = NO_FLOWS, list[Flows]()
        self._transits = Transits.empty()
        self._most, self._ahead = most_rows, int(ahead_s * SECOND)
        self._since = 0

    def __len__(self) -> int:
        return len(self._flows) + sum(map(len, self._parts))

    def add(self, flows: Flows, arrived_ns: int) -> Flows:
        """Add records in any order, and return those that were accepted. Records that end after their arrival have a wrong
        clock.
        """
        future = flows.end_ns > arrived_ns + self._ahead
        forgotten = ~future & (flows.end_ns < self._since)
        self.skipped[FUTURE] += int(future.sum())
        self.skipped[FORGOTTEN] += int(forgotten.sum())
        if future.any():
            for code in np.unique(flows.exporter[future]).tolist():
                own = flows.end_ns[future & (flows.exporter == code)]
                name = flows.exporters[code] if code < len(flows.exporters) else "?"
                self.ahead[name] = float(np.median(own) - arrived_ns) / SECOND
        if future.any() or forgotten.any():
            flows = flows.take(~(future | forgotten))
        if len(flows):
            self._parts.append(flows)
            self.heard_ns = max(self.heard_ns, int(flows.end_ns.max()))
            for name, at in zip(flows.exporters, newest(flows).tolist(), strict=True):
                self.newest_by[name] = max(self.newest_by.get(name, 0), at)
            if len(self.newest_by) > EXPORTERS:
                self.newest_by = dict(sorted(self.newest_by.items(), key=lambda known: -known[1])[:EXPORTERS])
        return flows

    def left_out(self) -> Iterator[str]:
        """Describe the exporters whose records are rejected."""
        for name, ahead in self.ahead.items():
            yield f"the clock of exporter {name} is {ahead:.1f} s ahead, so its records are skipped; synchronise it (NTP)"

    @property
    def newest_ns(self) -> int:
        """End of the newest record, ns; 0 without any."""
        return max((int(part.end_ns.max()) for part in (self._flows, *self._parts) if len(part)), default=0)

    @property
    def since_ns(self) -> int:
        """Records before this time have been dropped, ns."""
        return self._since

    def replace(self, since_ns: int) -> int:
        """Drop all records that start at or after a time; return their number."""
        flows = self._merged()
        kept = int(np.searchsorted(flows.start_ns, since_ns))
        self._flows = flows.take(np.arange(kept))
        return len(flows) - kept

    def add_transits(self, transits: Transits) -> None:
        """Add delays between switches, and losses; the newest `LOSSES` rows of losses are kept."""
        both = merge_transits([self._transits, transits])
        self._transits = replace(both, losses=both.losses.take(slice(-LOSSES, None)))

    def transits(self, start_ns: int, end_ns: int) -> Transits:
        """Return the delays in [start, end), and losses that may have occurred in it."""
        kept, lost = self._transits, self._transits.losses
        rows = (kept.start_ns >= start_ns) & (kept.start_ns + kept.bin_ns <= end_ns)
        return select_transits(kept, rows, (lost.end_ns > start_ns) & (lost.end_ns <= end_ns))

    def between(self, start_ns: int, end_ns: int, *, endpoints: Collection[str] = (), limit: int | None = None) -> Flows:
        """Return records; see `prism.tracking.flow_sources.Records`."""
        flows = self._merged()
        rows = np.arange(*np.searchsorted(flows.start_ns, (start_ns, end_ns)))
        if endpoints:
            selected = np.isin(np.array(flows.endpoints), list(endpoints))
            rows = rows[selected[flows.src[rows]] & selected[flows.dst[rows]]]
        return flows.take(rows[:limit])

    def forget(self, before_ns: int) -> None:
        """Drop records that start before a time, and the oldest ones above the limit."""
        flows = self._merged()
        first = max(int(np.searchsorted(flows.start_ns, before_ns)), len(flows) - self._most)
        if first > len(flows) // 8:  # seldom, so that dropping costs little
            self._flows = trimmed(flows.take(np.arange(first, len(flows))))
            self._since = max(before_ns, int(flows.start_ns[min(first, len(flows) - 1)]))
            kept = self._transits
            self._transits = select_transits(kept, kept.start_ns >= before_ns, kept.losses.end_ns > before_ns)

    def _merged(self) -> Flows:
        if self._parts:
            self._flows, self._parts = concatenated([self._flows, *self._parts]), []
            if np.any(self._flows.start_ns[1:] < self._flows.start_ns[:-1]):
                self._flows = self._flows.take(np.argsort(self._flows.start_ns, kind="stable"))
        return self._flows


def trimmed(flows: Flows) -> Flows:
    """Remove unused names from the records' dictionaries."""
    columns: dict[str, Any] = {}
    for dictionary, used, first in (
        ("endpoints", ("src", "dst"), ()),
        ("exporters", ("exporter",), ()),
        ("paths", ("path",), (0,)),
    ):
        known = getattr(flows, dictionary)
        if not known:
            continue
        kept = np.unique(np.concatenate([np.array(first, np.int32), *(getattr(flows, column) for column in used)]))
        place = np.zeros(max(len(known), int(kept.max(initial=0)) + 1), np.int32)
        place[kept] = np.arange(len(kept), dtype=np.int32)
        columns |= {column: place[getattr(flows, column)] for column in used}
        columns[dictionary] = tuple(known[code] for code in kept.tolist())
    return replace(flows, **columns)


def newest(flows: Flows) -> Ints:
    """End of the newest record of each exporter, ns; 0 without any. int64[exporters]."""
    out = np.zeros(len(flows.exporters), np.int64)
    if len(out):
        np.maximum.at(out, flows.exporter, flows.end_ns)
    return out


def steps_back(step_ns: float, *, steps: int = 24, max_steps: int = 64, least_s: float = 10.0) -> int:
    """Number of steps in a window: `steps`, more if that is less than `least_s`, at most `max_steps`."""
    return int(np.clip(np.ceil(least_s * SECOND / max(step_ns, 1.0)), steps, max_steps))


def hop_ns(steps_ns: Iterable[float], *, urgent: bool = False, least_s: float = 1.0, most_s: float = 4.0) -> int:
    """Time between windows: the shortest step of the jobs, within bounds; `urgent`: at most 0.5 s."""
    hop = int(np.clip(min(steps_ns, default=0.0), least_s * SECOND, most_s * SECOND))
    return min(hop, 2 * SECOND) // 4 if urgent else hop


def rest_ns(steps_ns: Iterable[float], *, least_s: float = 1.0) -> int:
    """Minimum time between windows without an urgent reason, even if a step has ended."""
    return max(hop_ns(steps_ns) // 2, int(least_s * SECOND))


Rows = NDArray[np.bool_] | NDArray[np.intp]


def select_transits(transits: Transits, rows: Rows, losses: Rows | slice = slice(None)) -> Transits:
    """Select rows of delays and of losses; all losses by default."""
    columns: dict[str, Any] = {name: getattr(transits, name)[rows] for name in DELAYS}
    return replace(transits, losses=transits.losses.take(losses), **columns)
