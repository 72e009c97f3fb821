"""Where members sit: a host's endpoints are cut into tensor × data × pipeline parallel ranks, neighbours by rail."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Pair = tuple[int, int]
Cut = tuple[int, int, int]


def cuts(endpoints: int) -> Iterator[Cut]:
    """Ways to cut a host's endpoints into tensor × data × pipeline, the tensor dimension fastest."""
    for tensor in range(1, endpoints + 1):
        if endpoints % tensor == 0:
            rest = endpoints // tensor
            yield from ((tensor, data, rest // data) for data in range(1, rest + 1) if rest % data == 0)


@dataclass(frozen=True, eq=False)
class Placing:
    """A cut of every host: `at` is int[members, 4]: host, and coordinate among the host's tensor, data and pipeline ranks."""

    cut: Cut
    at: NDArray[np.int64]

    def links(self, axis: int) -> list[Pair]:
        """Neighbours in a host along one axis (1 tensor, 2 data, 3 pipeline): what joins them is not on the wire."""
        others = [i for i in range(4) if i != axis]
        order = np.lexsort((self.at[:, axis], *(self.at[:, i] for i in others)))
        own = self.at[order]
        same = np.all(own[1:][:, others] == own[:-1][:, others], axis=1)
        return list(zip(order[:-1][same].tolist(), order[1:][same].tolist(), strict=True))

    def alike(self, axes: tuple[int, ...]) -> NDArray[np.int64]:
        """A number for each member: those that share the coordinates `axes` have the same."""
        return np.asarray(np.unique(self.at[:, axes], axis=0, return_inverse=True)[1]).reshape(-1)


def place(hosts: Sequence[int], rails: Sequence[int], cut: Cut) -> Placing:
    """The members' coordinates, where each host's endpoints are cut the same way, in order of their rails."""
    at = np.zeros((len(hosts), 4), np.int64)
    by: dict[int, list[int]] = defaultdict(list)
    for member, host in enumerate(hosts):
        by[host].append(member)
    for host, own in by.items():
        own.sort(key=lambda member: (rails[member], member))
        for i, member in enumerate(own):
            at[member] = host, i % cut[0], i // cut[0] % cut[1], i // (cut[0] * cut[1])
    return Placing(cut, at)
