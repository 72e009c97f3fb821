"""Compute how many octets ranks sent beyond those received at the begin of each gap: one compiled pass over all records."""

from __future__ import annotations

import numpy as np

from collectors.columns.record import Mask
from collectors.compilation.compiled import compiled
from prism.loops.arrays.interval_lines import Bytes
from prism.loops.arrays.intervals import Floats, Ints


@compiled
def owed(
    at: Ints, step: Ints, start: Ints, slot: Ints, sends: Mask, octets: Ints, kind: Bytes, name: int, begins: Ints
) -> Floats:
    """Octets sent beyond those received, since the step's begin, at each of some ascending places.

    `step`: step of each place; steps begin at `begins`. `start`, `slot`, `sends` and `octets`: both ends of records in order of
    start; only those whose `kind` is `name` count. Sent octets are scaled to received ones over the step: lost records and
    uneven volumes cancel out.
    """
    gave, took, scale = np.zeros(len(begins)), np.zeros(len(begins)), np.ones(len(begins))
    now, given, taken = -1, 0, 0  # usually the step is that of the record before
    for i in range(len(start)):
        if slot[i] != now:
            if now >= 0:
                gave[now], took[now] = gave[now] + given, took[now] + taken
            now, given, taken = slot[i], 0, 0
        moved = octets[i] * (kind[i] == name)
        given += moved * sends[i]
        taken += moved * (not sends[i])
    if now >= 0:
        gave[now], took[now] = gave[now] + given, took[now] + taken
    for k in range(len(begins)):
        if gave[k] > 0 and took[k] > 0:
            scale[k] = gave[k] / max(took[k], 1.0)
    out, i, level, base = np.empty(len(at)), 0, 0.0, 0.0
    for k in range(len(at)):
        for until, first in ((begins[step[k]] - 1, k == 0 or step[k] != step[k - 1]), (at[k], False)):
            while i < len(start) and start[i] <= until:
                taken = -scale[slot[i]]
                level += (1.0 if sends[i] else taken) * (octets[i] * (kind[i] == name))
                i += 1
            base = level if first else base
        out[k] = level - base
    return out
