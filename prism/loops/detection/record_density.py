"""Sum octets of records that last long, or that carry traffic only for a small part of their duration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collectors.columns.record import Flows, Mask
from collectors.compilation.compiled import compiled
from prism.loops.arrays.intervals import Ints


class Weights(NamedTuple):
    """Octets of payload: all; in `long` records; in records with known busy time (`sent`); of these in `sparse` records."""

    whole: int
    long: int
    sent: int
    sparse: int


def weights(flows: Flows, longest: float, dense: float) -> Weights:
    """Sum the payload in records longer than `longest`, ns, and in records busy for less than the share `dense` of
    their duration.
    """
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
