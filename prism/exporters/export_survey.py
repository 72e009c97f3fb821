"""Infer export settings from the records of each exporter.

Active timeout: an exporter cuts continuing flows at this length, so many records have the same duration. Clock offset: the
minimum delay between the end of a record and its arrival; a negative value means that the clock is ahead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from collectors.columns.record import Flows

S = 1_000_000_000
MIN_CUT_SHARE = 0.1  # minimum share of records near the maximum duration for which a timeout is inferred
DURATION_SPREAD = 0.05  # relative spread of cut durations: exporters check about once a second
MIN_TIMEOUT_NS = S  # shorter timeouts do not matter, because steps take longer
ROCE = 4791


@dataclass(frozen=True)
class Sent:
    """Export settings and counts of one exporter. `offset_ns`: None without arrival times; `timeout_ns`: 0 if none was seen.

    `rates`: number of records by sampling rate, 0 unknown. `roce`: records of RoCE; `queues`: records with a queue pair;
    `packets`: records with a packet count; `paths`: records with the switches on their way.
    """

    records: int = 0
    octets: int = 0
    first_ns: int = 0
    last_ns: int = 0
    timeout_ns: int = 0
    offset_ns: int | None = None
    rates: Mapping[int, int] = field(default_factory=dict)
    roce: int = 0
    queues: int = 0
    packets: int = 0
    pairs: int = 0

    @property
    def rate(self) -> float:
        """Records per second."""
        return self.records / max((self.last_ns - self.first_ns) / S, 1.0)


def survey(flows: Flows, arrived_ns: int | None = None) -> dict[str, Sent]:
    """Survey the exporters of some records; `arrived_ns`: arrival time of the records."""
    names = flows.exporters or ("",)
    out = {}
    for code in np.unique(flows.exporter).tolist() if len(flows) else ():
        own = flows.take(np.flatnonzero(flows.exporter == code))
        rates, counts = np.unique(own.sampling_rate, return_counts=True)
        most = np.argsort(-counts)[:8]
        roce = (own.dst_port == ROCE) | (own.dst_qp > 0)
        out[names[code]] = Sent(
            records=len(own),
            octets=int(own.octets.sum()),
            first_ns=int(own.start_ns.min()),
            last_ns=int(own.end_ns.max()),
            timeout_ns=active_timeout(own),
            offset_ns=None if arrived_ns is None else arrived_ns - int(own.end_ns.max()),
            rates={int(rates[i]): int(counts[i]) for i in most.tolist()},
            roce=int(roce.sum()),
            queues=int((own.dst_qp > 0).sum()),
            packets=int((own.packets > 0).sum()),
            pairs=len(np.unique(own.src.astype(np.int64) * len(own.endpoints) + own.dst)),
        )
    return out


def active_timeout(flows: Flows) -> int:
    """Infer the active timeout from record durations, ns; 0 if none is visible."""
    length = flows.end_ns - flows.start_ns
    if len(length) < 20:
        return 0
    longest = float(np.percentile(length, 99))
    near = np.abs(length - longest) <= DURATION_SPREAD * longest
    return int(np.median(length[near])) if longest >= MIN_TIMEOUT_NS and near.mean() >= MIN_CUT_SHARE else 0


def merge_surveys(before: Sent, now: Sent) -> Sent:
    """Merge two surveys of one exporter."""
    if not before.records:
        return now
    rates = dict(before.rates)
    for rate, count in now.rates.items():
        rates[rate] = rates.get(rate, 0) + count
    known = [one for one in (before.offset_ns, now.offset_ns) if one is not None]
    sums = {name: getattr(before, name) + getattr(now, name) for name in ("records", "octets", "roce", "queues", "packets")}
    return replace(
        now,
        **sums,
        first_ns=min(before.first_ns, now.first_ns),
        last_ns=max(before.last_ns, now.last_ns),
        timeout_ns=max(before.timeout_ns, now.timeout_ns),
        offset_ns=min(known, default=None),
        rates=dict(sorted(rates.items(), key=lambda item: -item[1])[:8]),
        pairs=max(before.pairs, now.pairs),
    )
