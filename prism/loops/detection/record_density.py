"""Sum octets of records that last long, or that carry traffic only for a small part of their duration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collectors.columns.record import Flows


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
    own = ~flows.control()
    octets, busy, lasted = flows.octets[own], flows.busy_ns[own], flows.end_ns[own] - flows.start_ns[own]
    known = (busy > 0) & (lasted > 0)
    parts = np.ones(len(octets), np.bool_), lasted > longest, known, known & (busy < dense * lasted)
    return Weights(*(int(octets[part].sum()) for part in parts))
