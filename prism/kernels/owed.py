"""What ranks had given more than they were given when each of their silences began: one pass over all talk, compiled."""

from __future__ import annotations

import numpy as np

from collectors.compiled import compiled
from collectors.record import Mask
from prism.kernels.intervals import Floats, Ints


@compiled
def owed(at: Ints, step: Ints, start: Ints, slot: Ints, sends: Mask, octets: Ints, own: Mask, begins: Ints) -> Floats:
    """By how many octets a rank had given more than it was given, since its step began, at each of some ascending places.

    `step` is that of each place, of those that begin at `begins`. `start`, `slot`, `sends` and `octets` are of talk in order of
    start; of it only one's `own` counts. What is given is scaled to what is taken over the step: lost records and uneven
    volumes cancel out.
    """
    gave, took = np.zeros(len(begins)), np.zeros(len(begins))
    for i in range(len(start)):
        if slot[i] >= 0 and own[i]:
            (gave if sends[i] else took)[slot[i]] += octets[i]
    scale = np.ones(len(begins))
    for k in range(len(begins)):
        if gave[k] > 0 and took[k] > 0:
            scale[k] = gave[k] / max(took[k], 1.0)
    out, i, level, base = np.empty(len(at)), 0, 0.0, 0.0
    for k in range(len(at)):
        for until, first in ((begins[step[k]] - 1, k == 0 or step[k] != step[k - 1]), (at[k], False)):
            while i < len(start) and start[i] <= until:
                if own[i]:
                    level += (1.0 if sends[i] else -scale[slot[i]]) * octets[i]
                i += 1
            base = level if first else base
        out[k] = level - base
    return out
