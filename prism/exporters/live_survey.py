"""Survey exporters live in bounded memory: their recent traffic, and the counters of their interfaces."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from collectors.columns.record import Flows
from collectors.exports.evidence import Counters
from prism.exporters.export_survey import S, Sent, merge_surveys, survey

SPAN_NS = 300 * S  # length of a span; one of the two kept spans is always complete
MAX_EXPORTERS, MAX_PORTS = 1000, 4096  # exporters, interfaces in total


@dataclass(frozen=True)
class Port:
    """First and last counters of an interface in a span; -1: not counted."""

    interface: int
    speed: int
    up: bool
    since_ns: int
    at_ns: int
    in_octets: int
    out_octets: int
    discards: int
    errors: int
    in_gbit_s: float | None = None
    out_gbit_s: float | None = None


class Survey:
    """Traffic of exporters in the last five to ten minutes. Thread-safe."""

    def __init__(self, *, clock: Callable[[], int] = time.time_ns) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._spans: list[dict[str, Sent]] = [{}, {}]
        self._since = 0
        self._ports: OrderedDict[tuple[str, int], Port] = OrderedDict()

    def add(self, flows: Flows, arrived_ns: int) -> None:
        """Add records that arrived."""
        found = survey(flows, arrived_ns)
        with self._lock:
            if arrived_ns - self._since > SPAN_NS:
                self._spans, self._since = [{}, self._spans[0]], arrived_ns
            now = self._spans[0]
            for name, sent in found.items():
                if name in now or len(now) < MAX_EXPORTERS:
                    now[name] = merge_surveys(now.get(name, Sent()), sent)

    def count(self, rows: Iterable[Counters]) -> None:
        """Add interface counters that arrived."""
        with self._lock:
            for part in rows:
                for i in range(len(part)):
                    self._port(part, i)

    def _port(self, part: Counters, i: int) -> None:
        name, number = part.exporters[int(part.exporter[i])], int(part.interface[i])
        octets = {way: int(getattr(part, f"{way}_octets")[i]) for way in ("in", "out")}
        bad = [sum(max(int(getattr(part, f"{way}_{what}")[i]), 0) for way in ("in", "out")) for what in ("discards", "errors")]
        at = int(part.time_ns[i])
        made = Port(number, int(part.speed[i]), bool(part.up[i]), at, at, octets["in"], octets["out"], *bad)
        before = self._ports.pop((name, number), None)
        if before is not None and at > before.at_ns:
            seconds = (at - before.at_ns) / S
            grown = [(octets["in"], before.in_octets), (octets["out"], before.out_octets)]
            ins, outs = ((now - old) * 8 / seconds / 1e9 if now >= old >= 0 else None for now, old in grown)
            made = replace(made, since_ns=before.since_ns, in_gbit_s=ins, out_gbit_s=outs)
        self._ports[name, number] = made
        if len(self._ports) > MAX_PORTS:
            self._ports.popitem(last=False)

    def sent(self) -> dict[str, Sent]:
        """Return the survey of each exporter by name."""
        with self._lock:
            now, before = self._spans
            every = {**before, **now}
            return {name: merge_surveys(before.get(name, Sent()), now[name]) if name in now else before[name] for name in every}

    def ports(self) -> dict[str, list[Port]]:
        """Return the interfaces of each exporter by number."""
        out: dict[str, list[Port]] = {}
        with self._lock:
            for (name, _), port in self._ports.items():
                out.setdefault(name, []).append(port)
        return {name: sorted(own, key=lambda port: port.interface) for name, own in out.items()}
