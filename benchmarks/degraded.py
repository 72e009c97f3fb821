"""Degrade recorded flows as an imperfect collection would: sampling, lost records, sums over time, no topology."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from collectors.columns.record import Flows, Transits
from prism.synth.capture.collection_losses import Collection, window
from prism.synth.scenario.specification import Degradation
from prism.topology import Topology

MTU = 4096  # octets per packet of records without a number of packets: the largest of InfiniBand and RoCE
WAYS: Mapping[str, Degradation] = {
    "sampled": Degradation(sampling=1000),
    "sampled16": Degradation(sampling=16),
    "lost": Degradation(loss=0.05),
    "summed": Degradation(aggregate_s=1.0),
    "skewed": Degradation(skew_ms=2.0),
    "cut": Degradation(keep=0.6),
    "unplaced": Degradation(),
}


def degrade(flows: Flows, transits: Transits, topology: Topology | None, way: str) -> tuple[Flows, Transits, Topology | None]:
    """Return what a collection would deliver that is imperfect in one of the `WAYS`; the same at each call."""
    asked, life = WAYS[way], flows.window
    counted = np.where(flows.packets > 0, flows.packets, -(-flows.octets // MTU))
    flows = replace(flows, packets=counted.astype(np.int64)) if asked.sampling > 1 else flows
    seen = window(life, asked.keep) if asked.keep < 1 else life
    flows, transits = Collection(asked, seen, np.random.default_rng(1)).degrade(flows, transits)
    return flows, transits, None if way == "unplaced" else topology
