"""Begin and end of every step of every rank, where it is known when each step of the job begins."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows

Ints = NDArray[np.int64]


def rank_steps(flows: Flows, members: Sequence[str], bounds_ns: Ints) -> tuple[Ints, ...]:
    """Steps of each member, int64[n, 2] each: a step ends with the last payload that began in it, and the next begins there.

    A last step of which less than half was recorded is left out: its end was not seen.
    """
    lengths = np.diff(bounds_ns)
    whole = 2 * (np.minimum(bounds_ns[1:], flows.window[1]) - bounds_ns[:-1]) >= lengths
    place = np.full(len(flows.endpoints), -1)
    code = {address: i for i, address in enumerate(flows.endpoints)}
    for i, address in enumerate(members):
        if address in code:
            place[code[address]] = i
    rows = np.flatnonzero(~flows.control())
    step = np.searchsorted(bounds_ns, flows.start_ns[rows], "right") - 1
    ends = np.zeros((len(members), len(lengths)), np.int64)
    for side in (flows.src, flows.dst):
        who = place[side[rows]]
        known = (who >= 0) & (step >= 0) & (step < len(lengths))
        np.maximum.at(ends, (who[known], step[known]), flows.end_ns[rows[known]])
    return tuple(_of_rank(own, whole, bounds_ns) for own in ends)


def _of_rank(ends: Ints, whole: NDArray[np.bool_], bounds_ns: Ints) -> Ints:
    told = np.flatnonzero((ends > 0) & whole)
    if not len(told):
        return np.zeros((0, 2), np.int64)
    own = ends[told]
    begins = [int(bounds_ns[told[0]])]
    begins += [
        int(end) if after == before + 1 else int(bounds_ns[after])
        for (before, after), end in zip(pairwise(told), own, strict=False)
    ]
    return np.stack([np.minimum(begins, own), own], axis=1)
