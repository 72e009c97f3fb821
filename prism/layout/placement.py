"""Where members sit: a host's endpoints are cut into tensor × data × pipeline parallel ranks, neighbours by rail.

Mostly all hosts are cut alike. Where ranks are dealt out in order and a group does not fit a host, hosts are cut differently.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations

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
    """A cut of every host: `at` is int[members, 4]: host, and coordinate among the host's tensor, data and pipeline ranks.

    If not `regular`, coordinates are those of the whole job, the first is 0, and `cut` is what one host holds at most.
    """

    cut: Cut
    at: NDArray[np.int64]
    hosts: NDArray[np.int64]
    regular: bool = True
    known: dict[tuple[object, ...], object] = field(default_factory=dict)  # what was computed of it

    def links(self, axis: int) -> list[Pair]:
        """Neighbours in a host along one axis (1 tensor, 2 data, 3 pipeline): what joins them is not on the wire."""
        others = np.column_stack([self.hosts, *(self.at[:, i] for i in range(4) if i != axis)])
        order = np.lexsort((self.at[:, axis], *others.T))
        own = others[order]
        same = np.all(own[1:] == own[:-1], axis=1)
        return list(zip(order[:-1][same].tolist(), order[1:][same].tolist(), strict=True))

    def neighbours(self, parts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        """The number of each member's group of so many neighbours of one part in one host."""
        order = np.lexsort((np.arange(len(parts)), self.hosts, parts))
        key = np.column_stack([parts, self.hosts])[order]
        begins = np.flatnonzero(np.concatenate([[True], np.any(key[1:] != key[:-1], axis=1)]))
        place = np.arange(len(order)) - np.repeat(begins, np.diff([*begins, len(order)]))
        out = np.empty(len(order), np.int64)
        out[order] = np.cumsum(place % size == 0) - 1
        return out

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
    return Placing(cut, at, np.asarray(hosts, np.int64))


def in_order(hosts: Sequence[int], suits: Callable[[NDArray[np.int64]], bool]) -> Iterator[Placing]:
    """Ranks dealt out to members one after another, where hosts then are not all cut alike; members are in order of hosts.

    Megatron-LM deals out tensor ranks first, then data, then pipeline; other orders occur. `suits` says of the coordinates of
    all members, int[members, 3], whether the placing is worth a look.
    """
    n, rank, host = len(hosts), np.arange(len(hosts)), np.asarray(hosts, np.int64)
    known: set[bytes] = set()
    for sizes in cuts(n):
        for order in permutations(range(3)):
            at = np.zeros((n, 4), np.int64)
            left = rank
            for axis in order:
                at[:, 1 + axis], left = left % sizes[axis], left // sizes[axis]
            if at.tobytes() not in known and suits(at[:, 1:]) and not _cut_alike(at, host):
                known.add(at.tobytes())
                cut = [max(len(np.unique(at[host == h, axis])) for h in np.unique(host)) for axis in (1, 2, 3)]
                yield Placing((cut[0], cut[1], cut[2]), at, host, regular=False)


def _cut_alike(at: NDArray[np.int64], hosts: NDArray[np.int64]) -> bool:
    """Whether each host holds a whole block of as many tensor × data × pipeline ranks as the others."""
    known: set[tuple[int, ...]] = set()
    for host in np.unique(hosts):
        own = at[hosts == host, 1:]
        sizes = tuple(len(np.unique(column)) for column in own.T)
        if np.prod(sizes) != len(own):
            return False
        known.add(sizes)
    return len(known) == 1
