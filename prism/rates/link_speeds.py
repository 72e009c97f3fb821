"""Determine the speed of NICs and links, Gbit/s, from the topology, else from their traffic.

A record cannot be faster than the slowest link of its path, and a large RDMA message alone on the path is nearly as fast. So
the speed is the lowest standard one that large records do not exceed. The result is too low if traffic never fills the link.
Sampled or aggregated records give no speed.
"""

from __future__ import annotations

import numpy as np

from collectors.columns.record import Flows
from prism.topology import Topology

STANDARD = (1.0, 2.5, 5.0, 10.0, 25.0, 40.0, 50.0, 100.0, 200.0, 400.0, 800.0, 1600.0)  # Ethernet, IEEE 802.3
LARGE = 1 << 18  # octets: 5 µs at 400 Gbit/s, much longer than clock errors of captures
ENOUGH = 20  # fewest records that show a speed
OVER = 1.02  # factor by which clock errors of captures may speed up a record: 0.1 µs of 5 µs


def speed(topology: Topology | None, name: str) -> float | None:
    """Return the speed of an address, or of a link a>b, from the topology."""
    if topology is None:
        return None
    return topology.gbit.get(name) or topology.gbit.get("|".join(sorted(name.split(">"))))


def observed_speeds(flows: Flows) -> dict[str, float]:
    """Estimate the speed of each endpoint from its traffic; endpoints without a result are left out."""
    size, took = flows.octets, flows.end_ns - flows.start_ns
    rows = np.flatnonzero((size >= LARGE) & (took > 0) & (flows.sampling_rate == 1) & (flows.messages <= 1))
    rate = size[rows] * 8.0 / took[rows]
    out: dict[str, float] = {}
    for ends in (flows.src, flows.dst):
        own = ends[rows]
        for code in np.unique(own).tolist():
            mine = rate[own == code]
            if len(mine) >= ENOUGH:
                most = float(np.percentile(mine, 99)) / OVER
                fits = next((one for one in STANDARD if one >= most), None)
                name = flows.endpoints[code]
                if fits is not None:
                    out[name] = max(fits, out.get(name, 0.0))
    return out
