"""Place members: divide a host's endpoints into tensor × data × pipeline parallel ranks, neighbours by rail.

Usually all hosts are divided alike. If ranks are assigned in order and a group does not fit into a host, hosts differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from prism.loops.arrays.group_sums import distinct

Cut = tuple[int, int, int]
Members = frozenset[int]


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

    If not `regular`, coordinates are those of the whole job, the host column is 0, and `cut` holds the most that any host has.
    """

    cut: Cut
    at: NDArray[np.int64]
    hosts: NDArray[np.int64]
    regular: bool = True
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


def place(hosts: Sequence[int], rails: Sequence[int], cut: Cut, stages_first: bool = False) -> Placing:
    """Compute the members' coordinates if each host's endpoints are divided in the same way, in order of their rails.

    Neighbours are tensor ranks, then data ranks, then stages; with `stages_first` stages come before data ranks.
    """
    inner = cut[2 if stages_first else 1]
    at = np.zeros((len(hosts), 4), np.int64)
    by: dict[int, list[int]] = defaultdict(list)
    for member, host in enumerate(hosts):
        by[host].append(member)
    for host, own in by.items():
        own.sort(key=lambda member: (rails[member], member))
        for i, member in enumerate(own):
            outer, near = divmod(i // cut[0], inner)
            at[member] = host, i % cut[0], *((outer, near) if stages_first else (near, outer))
    return Placing(cut, at, np.asarray(hosts, np.int64))


def scattered(members: int) -> Placing:
    """Return the placing of ranks that do not follow the hosts: all groups show on the wire, none continues inside hosts."""
    at = np.zeros((members, 4), np.int64)
    at[:, 0] = np.arange(members)
    return Placing((1, 1, 1), at, np.arange(members))


def in_order(hosts: Sequence[int], suits: Callable[[NDArray[np.int64]], bool]) -> Iterator[Placing]:
    """Yield placings of ranks in order of their number, if hosts are then not all divided alike. Members are in order of hosts.

    Ranks are numbered host by host, or dealt out to the hosts one after another. Megatron-LM numbers tensor ranks first, then
    data, then pipeline; other orders occur. `suits` accepts or rejects coordinates of all members, int[3, members].
    """
    n, host = len(hosts), np.asarray(hosts, np.int64)
    number, members = np.unique(host, return_inverse=True, return_counts=True)[1:]
    even = int(members[0]) if np.all(members == members[0]) else 0
    ranks = ((np.arange(n), even), (_dealt(host), len(members) * (even > 0)))  # with the distance after which hosts recur
    known: set[bytes] = set()
    for sizes in cuts(n):
        orders = dict.fromkeys(tuple(axis for axis in order if sizes[axis] > 1) for order in permutations(range(3)))
        for order, (left, block) in product(orders, ranks):
            if _is_even(block, [sizes[axis] for axis in order]):
                continue
            at = np.zeros((4, n), np.int64)
            for axis in order:
                left, at[1 + axis] = np.divmod(left, sizes[axis])
            if at.tobytes() not in known and suits(at[1:]):
                known.add(at.tobytes())
                tensor, data, stages = _held(at[1:], number).max(axis=1).tolist()
                yield Placing((tensor, data, stages), np.ascontiguousarray(at.T), host, regular=False)


def _is_even(block: int, sizes: Sequence[int]) -> bool:
    """Check whether each host holds a complete block of tensor × data × pipeline ranks, of the same size as the others.

    `sizes` of the axes, in order of their numbers; each `block` of numbers is one host, or one of each host; 0: hosts differ.
    """
    for size in sizes:
        if block and size % block == 0:
            return True
        if block % size:
            return False
        block //= size
    return block == 1


def _dealt(hosts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number members as if one was dealt to each host, then the next: the first of every host, then the second."""
    order = np.argsort(hosts, kind="stable")
    begins = np.searchsorted(hosts[order], hosts[order])
    turn = np.empty(len(hosts), np.int64)
    turn[order] = np.arange(len(hosts)) - begins
    rank = np.empty(len(hosts), np.int64)
    rank[np.lexsort((hosts, turn))] = np.arange(len(hosts))
    return rank


def _held(at: NDArray[np.int64], hosts: NDArray[np.intp]) -> NDArray[np.int64]:
    """Count the distinct coordinates of each host on each axis; `hosts`: number of each member's host; int64[3, hosts]."""
    n, count = at.shape[1], int(hosts.max()) + 1
    return np.stack([np.bincount(distinct(hosts * n + column) // n, minlength=count) for column in at])
