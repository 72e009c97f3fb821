"""Simulate imperfect collection: sampling, lost records, clock offsets, aggregation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from collectors.columns.record import COLUMNS, Flows, Ints, Transits
from collectors.exports.evidence_store import DELAYS
from prism.synth.scenario.specification import Degradation

KEY = ("src", "dst", "src_port", "dst_port", "protocol", "dst_qp", "exporter", "path")
SUMS = ("octets", "packets", "messages", "retransmits", "ecn", "cnp", "busy_ns")


class Collection:
    """An imperfect collection that ran during `seen`, ns; records may be added in parts, by start."""

    def __init__(self, asked: Degradation, seen: tuple[int, int], rng: np.random.Generator) -> None:
        self.asked, self.seen, self.rng = asked, seen, rng
        self.off: Ints | None = None

    def degrade(self, flows: Flows, transits: Transits) -> tuple[Flows, Transits]:
        """Return the records and transits that this collection would deliver."""
        asked, rng = self.asked, self.rng
        if asked.keep < 1:
            flows, transits = _cut(flows, transits, *self.seen)
        if asked.sampling > 1:
            flows, transits = _sampled(flows, asked.sampling, rng), Transits.empty(transits.exporters)
        if asked.loss:
            flows = flows.take(rng.random(len(flows)) >= asked.loss)
        if asked.aggregate_s:
            flows = _summed(flows, round(asked.aggregate_s * 1e9))
        if asked.skew_ms:
            if self.off is None:  # each switch has a constant clock offset
                off = rng.uniform(-asked.skew_ms, asked.skew_ms, max(len(flows.exporters), 1))
                self.off = np.rint(off * 1e6).astype(np.int64)
            shift = self.off[flows.exporter]
            flows = replace(flows, start_ns=flows.start_ns + shift, end_ns=flows.end_ns + shift)
        return flows.take(np.argsort(flows.start_ns, kind="stable")), transits


def window(life: tuple[int, int], keep: float) -> tuple[int, int]:
    """Compute the middle part of a time range with the share `keep`, ns."""
    edge = round((life[1] - life[0]) * (1 - keep) / 2)
    return life[0] + edge, life[1] - edge


def _cut(flows: Flows, transits: Transits, low: int, high: int) -> tuple[Flows, Transits]:
    """Select the records that started in a time range."""
    inside = (flows.start_ns >= low) & (flows.start_ns < high)
    seen = (transits.start_ns >= low) & (transits.start_ns < high)
    return flows.take(inside), replace(transits, **{name: getattr(transits, name)[seen] for name in DELAYS})


def _sampled(flows: Flows, rate: int, rng: np.random.Generator) -> Flows:
    """Sample one packet in `rate`: unsampled records vanish, the others start and end with their samples.

    Counts are those of the samples, as exporters report them; `sampling_rate` is the number of packets per sample.
    """
    packets = rng.binomial(np.maximum(flows.packets, 1), 1 / rate)
    rows = np.flatnonzero(packets > 0)
    flows, packets = flows.take(rows), packets[rows]
    size = flows.octets / np.maximum(flows.packets, 1)
    length = flows.end_ns - flows.start_ns
    first, last = rng.beta(1, packets), 1 - rng.beta(1, packets)
    early, late = np.minimum(first, last), np.where(packets > 1, np.maximum(first, last), np.minimum(first, last))
    return replace(
        flows,
        start_ns=flows.start_ns + (early * length).astype(np.int64),
        end_ns=flows.start_ns + (late * length).astype(np.int64),
        octets=np.rint(size * packets).astype(np.int64),
        packets=packets.astype(np.int64),
        retransmits=rng.binomial(flows.retransmits, 1 / rate),
        busy_ns=np.zeros(len(flows), np.int64),
        sampling_rate=np.full(len(flows), rate, np.int64),
    )


def _summed(flows: Flows, bin_ns: int) -> Flows:
    """Sum the records of a connection that started in one bin."""
    bins: Ints = flows.start_ns // bin_ns
    columns = [getattr(flows, name).astype(np.int64) for name in KEY] + [bins]
    order = np.lexsort(columns)
    sorted_columns = [column[order] for column in columns]
    fresh = np.zeros(len(order), np.bool_)
    fresh[:1] = True
    for column in sorted_columns:
        fresh[1:] |= column[1:] != column[:-1]
    firsts = np.flatnonzero(fresh)
    if not len(firsts):
        return flows
    out = {c.name: getattr(flows, c.name)[order][firsts] for c in COLUMNS}
    out |= {name: np.add.reduceat(getattr(flows, name)[order], firsts) for name in SUMS}
    out["start_ns"] = np.minimum.reduceat(flows.start_ns[order], firsts)
    out["end_ns"] = np.maximum.reduceat(flows.end_ns[order], firsts)
    out["tcp_flags"] = np.bitwise_or.reduceat(flows.tcp_flags[order], firsts)
    return replace(flows, **out)
