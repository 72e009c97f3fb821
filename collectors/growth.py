"""What counters of interfaces grew by, as packets lost, and whose interface it is."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from collectors.evidence import Counters, Delays, Drops
from collectors.losses import DISCARDS, ERRORS, Losses

MANY = ""  # behind an interface
COUNTED = (("in_errors", ERRORS), ("in_discards", DISCARDS), ("out_errors", ERRORS), ("out_discards", DISCARDS))
Place = tuple[str, int]  # exporter, ifIndex


class _Stood(NamedTuple):
    time_ns: int
    counts: tuple[int, ...]  # as COUNTED


class Growth:
    """Counters as they stood last, and the one address whose packets come in by an interface; of `most` interfaces."""

    def __init__(self, *, most: int = 1 << 16) -> None:
        self.most = most
        self._stood: OrderedDict[Place, _Stood] = OrderedDict()
        self._behind: OrderedDict[Place, str] = OrderedDict()

    def learn(self, seen: Iterable[Delays | Drops]) -> None:
        """Whose packets came in where."""
        for part in seen:
            known = (part.src >= 0) & (part.in_interface >= 0)
            rows = np.stack([part.exporter[known], part.in_interface[known], part.src[known]])
            for code, interface, src in np.unique(rows, axis=1).T.tolist():
                place, name = (part.exporters[code], interface), part.endpoints[src]
                if self._behind.setdefault(place, name) != name:
                    self._behind[place] = MANY
                self._behind.move_to_end(place)
        while len(self._behind) > self.most:
            self._behind.popitem(last=False)

    def losses(self, counters: Counters) -> Losses:
        """What errors and discards grew by since the same interface was told of before; one that fell has started anew."""
        columns = (counters.time_ns, counters.exporter, counters.interface, *(getattr(counters, name) for name, _ in COUNTED))
        rows: list[dict[str, int]] = []
        endpoints = dict[str, int]()
        for time_ns, code, interface, *counts in zip(*(column.tolist() for column in columns), strict=True):
            place = counters.exporters[code], interface
            before = self._stood.pop(place, None)
            self._stood[place] = _Stood(time_ns, tuple(counts))
            if before is None or before.time_ns >= time_ns or before.counts == tuple(counts):
                continue
            owner = self._behind.get(place, MANY)
            end = endpoints.setdefault(owner, len(endpoints)) if owner else -1
            for (name, reason), was, now in zip(COUNTED, before.counts, counts, strict=True):
                if 0 <= was < now:
                    came_in = name.startswith("in_")
                    ways = {"in_interface": interface, "src": end} if came_in else {"out_interface": interface, "dst": end}
                    row = {
                        "start_ns": before.time_ns,
                        "end_ns": time_ns,
                        "exporter": code,
                        "reason": reason,
                        "packets": now - was,
                    }
                    rows.append(dict.fromkeys(("in_interface", "out_interface", "src", "dst"), -1) | row | ways)
        while len(self._stood) > self.most:
            self._stood.popitem(last=False)
        if not rows:
            return Losses.empty()
        return Losses.build({name: [row[name] for row in rows] for name in rows[0]}, counters.exporters, tuple(endpoints))
