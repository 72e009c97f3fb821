"""Convert increases of interface counters to lost packets."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from collectors.columns.losses import DISCARDS, ERRORS, Losses
from collectors.exports.evidence import Counters

COUNTED = (("in_errors", ERRORS), ("in_discards", DISCARDS), ("out_errors", ERRORS), ("out_discards", DISCARDS))
Place = tuple[str, int]  # exporter, ifIndex


class _Stood(NamedTuple):
    time_ns: int
    counts: tuple[int, ...]  # in the order of COUNTED


class Growth:
    """Last counters of at most `most` interfaces; the one unused for longest is dropped."""

    def __init__(self, *, most: int = 1 << 16) -> None:
        self.most = most
        self._stood: OrderedDict[Place, _Stood] = OrderedDict()

    def losses(self, counters: Counters) -> Losses:
        """Compute the growth of errors and discards since the last counters of each interface; a decrease is a restart."""
        columns = (counters.time_ns, counters.exporter, counters.interface, counters.neighbour)
        counts = zip(*(getattr(counters, name).tolist() for name, _ in COUNTED), strict=True)
        rows: list[dict[str, int]] = []
        for (time_ns, code, interface, end), now in zip(zip(*(c.tolist() for c in columns), strict=True), counts, strict=True):
            place = counters.exporters[code], interface
            before = self._stood.pop(place, None)
            self._stood[place] = _Stood(time_ns, now)
            if before is not None and before.time_ns < time_ns and before.counts != now:
                seen = {"start_ns": before.time_ns, "end_ns": time_ns, "exporter": code}
                rows += [seen | one for one in _grown(before.counts, now, interface, end)]
        while len(self._stood) > self.most:
            self._stood.popitem(last=False)
        if not rows:
            return Losses.empty()
        return Losses.build({name: [row[name] for row in rows] for name in rows[0]}, counters.exporters, counters.endpoints)


def _grown(before: tuple[int, ...], now: tuple[int, ...], interface: int, end: int) -> Iterator[dict[str, int]]:
    """Yield columns of losses of packets from an endpoint through an interface, and to it."""
    for (name, reason), was, counted in zip(COUNTED, before, now, strict=True):
        if 0 <= was < counted:
            place = {"in_interface": -1, "out_interface": -1, "src": -1, "dst": -1}
            way = (
                {"in_interface": interface, "src": end} if name.startswith("in_") else {"out_interface": interface, "dst": end}
            )
            yield place | way | {"reason": reason, "packets": counted - was}
