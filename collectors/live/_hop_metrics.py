"""Count the delays between switches for the metrics."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.columns.record import Transits
from collectors.operations.metrics import PREFIX, Count

LABELS = ("sender", "receiver")
NS = 1_000_000_000


class Hops:
    """Sums by hop; there are few, because switches are bounded. Their quotient over an interval is the mean delay."""

    def __init__(self) -> None:
        self._packets: dict[tuple[str, ...], float] = {}
        self._seconds: dict[tuple[str, ...], float] = {}
        self._longest: dict[tuple[str, ...], float] = {}

    def add(self, transits: Transits) -> None:
        """Add delays; the maximum is reset to that of these delays for their hops."""
        t, longest = transits, dict[tuple[str, ...], int]()
        columns = (t.sender, t.receiver, t.packets, t.delay_ns, t.max_delay_ns)
        for sender, receiver, packets, delay_ns, most_ns in zip(*(column.tolist() for column in columns), strict=True):
            hop = t.exporters[sender], t.exporters[receiver]
            self._packets[hop] = self._packets.get(hop, 0) + packets
            self._seconds[hop] = self._seconds.get(hop, 0.0) + packets * delay_ns / NS
            longest[hop] = max(longest.get(hop, most_ns), most_ns)
        self._longest.update({hop: ns / NS for hop, ns in longest.items()})

    def counts(self) -> Iterator[Count]:
        """Return all counters. Clocks of switches may disagree: only changes of a delay are meaningful."""
        yield Count(PREFIX + "hop_packets", "packets seen by one switch and then another", dict(self._packets), LABELS)
        seconds = dict(self._seconds)
        yield Count(PREFIX + "hop_delay_seconds", "delay between the two switches, summed over these packets", seconds, LABELS)
        longest = dict(self._longest)
        yield Count(PREFIX + "hop_longest_seconds", "longest delay in the last interval", longest, LABELS, level=True)
