"""Place members: divide a host's endpoints into tensor × data × pipeline parallel ranks, neighbours by rail.

All hosts are divided alike, or ranks do not follow the hosts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Cut = tuple[int, int, int]


def cuts(endpoints: int) -> Iterator[Cut]:
    """Yield all ways to divide a host's endpoints into tensor × data × pipeline; the tensor dimension varies fastest."""
    for tensor in range(1, endpoints + 1):
        if endpoints % tensor == 0:
            rest = endpoints // tensor
            yield from ((tensor, data, rest // data) for data in range(1, rest + 1) if rest % data == 0)


@dataclass(frozen=True, eq=False)
class Placing:
    """The division of every host. `at` is int[members, 4]: host, and coordinate among the host's tensor, data and pipeline
    ranks.
    """

    cut: Cut
    at: NDArray[np.int64]
    hosts: NDArray[np.int64]
    known: dict[tuple[object, ...], object] = field(default_factory=dict)  # cache of values computed from it

    def links(self, axis: int, apart: int = 1, among: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Return neighbours in a host along one axis (1 tensor, 2 data, 3 pipeline), int64[n, 2]. Their traffic is not on the
        wire.

        Neighbours are a multiple of `apart` places apart. `among`: the members that have neighbours, by default all.
        """
        among = np.arange(len(self.at)) if among is None else among
        at, column = self.at[among], self.at[among, axis]
        others = np.column_stack([self.hosts[among], *(at[:, i] for i in range(4) if i != axis), column % apart])
        order = np.lexsort((column, *others.T))
        own = others[order]
        same = np.all(own[1:] == own[:-1], axis=1)
        return np.stack([among[order[:-1][same]], among[order[1:][same]]], axis=1)

    def distance(self, ends: NDArray[np.int64]) -> int:
        """Compute how many places apart the data-parallel ranks of a host are that a reduction joins; `ends`: int64[edges, 2].

        It enters and leaves hosts at places that differ by a multiple of that.
        """
        apart = np.diff(self.at[ends, 2], axis=1)
        return int(np.gcd.reduce([self.cut[1], *apart.ravel().tolist()]))

    def neighbours(self, parts: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Number the groups of `size` neighbours of one part in one host: number and place of each member."""
        order = np.lexsort((np.arange(len(parts)), self.hosts, parts))
        key = np.column_stack([parts, self.hosts])[order]
        begins = np.flatnonzero(np.concatenate([[True], np.any(key[1:] != key[:-1], axis=1)]))
        place = np.arange(len(order)) - np.repeat(begins, np.diff([*begins, len(order)]))
        out = np.empty((2, len(order)), np.int64)
        out[:, order] = np.cumsum(place % size == 0) - 1, place % size
        return out[0], out[1]

    def alike(self, axes: tuple[int, ...]) -> NDArray[np.int64]:
        """Number the members: members with the same coordinates on `axes` get the same number."""
        code = np.zeros(len(self.at), np.int64)
        for column in self.at[:, axes].T:
            code = code * (int(np.ptp(column)) + 1) + column - column.min()
        return np.unique(code, return_inverse=True)[1]


def place(hosts: Sequence[int], rails: Sequence[int], cut: Cut) -> Placing:
    """Compute the members' coordinates if each host's endpoints are divided in the same way, in order of their rails.

    Neighbours are tensor ranks, then data ranks, then stages.
    """
    at = np.zeros((len(hosts), 4), np.int64)
    by: dict[int, list[int]] = defaultdict(list)
    for member, host in enumerate(hosts):
        by[host].append(member)
    for host, own in by.items():
        own.sort(key=lambda member: (rails[member], member))
        for i, member in enumerate(own):
            at[member] = host, i % cut[0], i // cut[0] % cut[1], i // (cut[0] * cut[1])
    return Placing(cut, at, np.asarray(hosts, np.int64))


def scattered(members: int) -> Placing:
    """Return the placing of ranks that do not follow the hosts: all groups show on the wire, none continues inside hosts."""
    at = np.zeros((members, 4), np.int64)
    at[:, 0] = np.arange(members)
    return Placing((1, 1, 1), at, np.arange(members))
