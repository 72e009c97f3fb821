"""How much of what moved is in records that last long, or in which it moved only for a small part of their time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collectors.columns.record import Flows, Mask
from collectors.compilation.compiled import compiled
from prism.loops.arrays.intervals import Ints


class Weights(NamedTuple):
    """Octets of payload: all of them, of what lasted `long`, of what tells for how long it `sent`, of that what is `sparse`."""

    whole: int
    long: int
    sent: int
    sparse: int


def weights(flows: Flows, longest: float, dense: float) -> Weights:
    """What of the payload is in records that last for more than `longest`, ns, or sent for less than `dense` of their time."""
    busy = np.ascontiguousarray(flows.busy_ns)
    return Weights(*_weights(flows.control(), flows.start_ns, flows.end_ns, busy, flows.octets, longest, dense))


@compiled
def _weights(
    control: Mask, start: Ints, end: Ints, busy: Ints, octets: Ints, longest: float, dense: float
) -> tuple[int, int, int, int]:
    whole = long = sent = sparse = 0
    for i in range(len(start)):
        if control[i]:
            continue
        lasted = end[i] - start[i]
        whole += octets[i]
        long += octets[i] * (lasted > longest)
        if busy[i] > 0 and lasted > 0:
            sent += octets[i]
            sparse += octets[i] * (busy[i] / lasted < dense)
    return whole, long, sent, sparse
