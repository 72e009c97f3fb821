"""Fine-scale lockstep: how far apart members of one host do the same thing, step after step.

Tensor-parallel twins start their k-th message within a fraction of a millisecond of each other. Stages of a pipeline are apart
by a fixed part of the step. Members of one collective are as close as their peers in other hosts, because its rounds join them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from prism.evidence import constants as c
from prism.evidence.communicators import Communicator
from prism.evidence.streams import Stream

Floats = NDArray[np.float64]
Thing = TypeVar("Thing")


class Lockstep(NamedTuple):
    """Pairs of members of one host that send as many messages of one size.

    `offset`: median time between their k-th messages; `jitter`: median deviation from it; both as shares of the step. Where a
    pair sends several sizes, the largest counts. `peers`: the usual jitter between neighbours in one communicator.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    offset: Floats
    jitter: Floats
    peers: float


def lockstep_of(found: Sequence[Communicator], hosts: Sequence[int], period: float) -> Lockstep:
    """Compare the k-th messages of members of one host; `period` is the step, ns."""
    sent: dict[tuple[int, int, int], dict[int, list[Stream]]] = defaultdict(lambda: defaultdict(list))
    for one in found:
        for s in one.streams:
            if s.equal and len(s.rows) >= c.FEW_SENDS:
                sent[hosts[s.src], round(float(np.log(s.size)) / c.ONE_CLASS_SIZE), len(s.rows)][s.src].append(s)
    looked_at = _some(sorted({host for host, _, _ in sent}), c.HOSTS_TRIED)
    furthest: dict[tuple[int, int], tuple[float, float]] = {}
    for (host, _, _), own in sent.items():
        if len(own) > 1 and host in looked_at:
            times = {member: np.sort(np.concatenate([s.start for s in streams])) for member, streams in sorted(own.items())}
            for a, b in combinations(list(times)[: c.TWINS_TRIED], 2):
                if len(times[a]) == len(times[b]):
                    furthest[a, b] = max(furthest.get((a, b), (0.0, 0.0)), _apart(times[a], times[b], period))
    pairs = np.array(list(furthest), np.int64).reshape(-1, 2)
    apart = np.array(list(furthest.values()), np.float64).reshape(-1, 2)
    near = [_apart(a, b, period)[1] for one in _some(list(found), c.HOSTS_TRIED) for a, b in _neighbours(one, hosts)]
    return Lockstep(pairs[:, 0], pairs[:, 1], apart[:, 0], apart[:, 1], float(np.median(near)) if near else np.nan)


def _some(values: list[Thing], most: int) -> list[Thing]:
    return values[:: max(1, -(-len(values) // most))]


def _apart(a: Floats, b: Floats, period: float) -> tuple[float, float]:
    apart = b - a
    usual = float(np.median(apart))
    return abs(usual) / period, float(np.median(np.abs(apart - usual))) / period


def _neighbours(one: Communicator, hosts: Sequence[int]) -> Iterator[tuple[Floats, Floats]]:
    """The times of streams of one communicator that come from different hosts, equally often in one size: a few of them."""
    alike: dict[tuple[int, int], list[Stream]] = defaultdict(list)
    for s in one.streams:
        if s.equal and len(s.rows) >= c.FEW_SENDS:
            alike[round(float(np.log(s.size)) / c.ONE_CLASS_SIZE), len(s.rows)].append(s)
    for own in alike.values():
        for a, b in combinations(own[: c.PEERS_TRIED], 2):
            if hosts[a.src] != hosts[b.src]:
                yield np.sort(a.start), np.sort(b.start)
