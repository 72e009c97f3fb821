"""Fine-scale lockstep: members of one host that send the same at the same moment, step after step.

Tensor-parallel twins send their k-th hand-over within a fraction of a millisecond of one another; replicas and stages drift.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.evidence import constants as c
from prism.evidence.communicators import Communicator
from prism.evidence.streams import Stream


class Drift(NamedTuple):
    """How far members are apart when they send the same: logarithms of ns. `first` and `second` are members of one host;
    `strangers` are members of different hosts that send the same to different hosts.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    apart: NDArray[np.float64]


def drift_of(found: Sequence[Communicator], hosts: Sequence[int]) -> Drift:
    """Drift of all pairs of members of a host that send as many messages of one size from it to one other host."""
    apart: dict[tuple[int, int], list[float]] = defaultdict(list)
    alike: dict[tuple[int, int], list[Stream]] = defaultdict(list)
    for one in found:
        for s in one.streams:
            if s.equal and len(s.rows) >= c.FEW_SENDS:
                alike[round(float(np.log(s.size)) / c.ONE_CLASS_SIZE), len(s.rows)].append(s)
    for own in alike.values():
        by: dict[tuple[int, int], list[Stream]] = defaultdict(list)
        for s in own:
            by[hosts[s.src], hosts[s.dst]].append(s)
        for route in by.values():
            for a, b in combinations(route[: c.TWINS_TRIED], 2):
                if a.src != b.src:
                    apart[min(a.src, b.src), max(a.src, b.src)].append(_apart(a, b))
    pairs = np.array(list(apart), np.int64).reshape(-1, 2)
    usual = np.array([np.median(values) for values in apart.values()])
    return Drift(pairs[:, 0], pairs[:, 1], usual)


def _apart(a: Stream, b: Stream) -> float:
    return float(np.log(np.median(np.abs(np.sort(a.start) - np.sort(b.start))) + 1.0))
