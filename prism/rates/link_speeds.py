"""How fast ends and links are, Gbit/s: as the topology says, else as their traffic shows.

A record cannot move faster than the slowest link of its path, and a large message of RDMA alone on it moves nearly as fast.
So the speed is the least standard one that large records do not exceed. Wrong (too low) where nothing ever fills the link. Of
sampled or summed records no speed is learnt.
"""

from __future__ import annotations

import numpy as np

from collectors.columns.record import Flows
from prism.topology import Topology

STANDARD = (1.0, 2.5, 5.0, 10.0, 25.0, 40.0, 50.0, 100.0, 200.0, 400.0, 800.0, 1600.0)  # Ethernet, IEEE 802.3
LARGE = 1 << 18  # octets: at 400 Gbit/s 5 µs, much longer than clocks of captures are wrong by
ENOUGH = 20  # records that show a speed
OVER = 1.02  # clocks of captures may make a record look that much faster: 0.1 µs of 5 µs


def speed(topology: Topology | None, name: str) -> float | None:
    """The speed of an address, or of a link a>b, that the topology gives."""
    if topology is None:
        return None
    return topology.gbit.get(name) or topology.gbit.get("|".join(sorted(name.split(">"))))


def learnt(flows: Flows) -> dict[str, float]:
    """The speed of each endpoint that its traffic shows; those that show none are left out."""
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
