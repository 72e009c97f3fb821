"""Foretell which members of a group exchange messages in common algorithms, and compare that with the pairs that do.

Algorithms take members in order of rank; ranks follow the hosts, or are dealt out to them in turn. Where the number of members
is no power of two, or hosts hide part of a ring, the pairs between hosts tell which members form a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from prism.evidence.communicators import Communicator
from prism.evidence.families import Family
from prism.evidence.member_graphs import connected
from prism.layout import constants as c
from prism.loops.arrays.group_sums import distinct, on_end

Ints = NDArray[np.int64]
ANY_ORDER = ("cycle", "tree")  # shapes that are the same in any order of the members


class Exchanged:
    """The pairs of members that exchange messages of some families, and the share of each in the octets of its family."""

    def __init__(self, found: Sequence[Family], hosts: Ints, in_shards: bool = False) -> None:
        self.hosts, self.in_shards = hosts, in_shards
        ends = np.concatenate([family.ends for family in found])
        self.codes, place = np.unique(np.sort(ends, axis=1) @ [len(hosts), 1], return_inverse=True)
        inside = len(hosts) * (int(np.bincount(hosts).max()) - 1) // 2
        self.most = len(self.codes) + inside  # pairs that may exchange messages, those inside hosts included
        row = np.repeat(np.arange(len(found)), [len(family.ends) for family in found])
        self.shares = np.zeros((len(found), len(self.codes)))
        np.add.at(self.shares, (row, place), np.concatenate([family.weights / family.weights.sum() for family in found]))
        runs = np.log([max(family.rhythm.runs, c.LEAST_RUNS) for family in found])
        moved = np.log([family.octets / len(family.edges) for family in found])
        near = np.abs(runs[:, None] - runs) < c.LIKE_MESSAGES, np.abs(moved[:, None] - moved) < c.EQUAL_VOLUME
        self.used = self.shares > 0
        self.alike = near[0] | near[1]  # whether families may be parts of one collective
        self.passing = [self._passed(i, one) for i, family in enumerate(found) for one in family if one.shape in ANY_ORDER]
        self.ways = [(i, family[0].way == "one", family.ends.T) for i, family in enumerate(found)]
        self.known: dict[tuple[int, bool, bytes], NDArray[np.bool_]] = {}  # what each partition foretells

    def unforeseen(self, orders: Iterable[Ints], reduce: bool = True) -> float:
        """Sum of the families' shares between pairs that no algorithm foretells whose pairs all exchange messages.

        Where one family has all of the pairs, others that together have part of them are something else. Families together
        have all pairs if they move equally often, or as many octets over each. `orders`: members of groups of one size in order
        of rank, int64[groups, members]; several partitions. Those that `reduce` may use the NICs of their hosts at will.
        """
        known = np.zeros_like(self.shares, np.bool_)
        for order in (each for own in orders for each in (own, *self._across_hosts(own))):
            key = order.shape[1], reduce, order.tobytes()
            if key not in self.known:
                group = np.full(len(self.hosts), -1)  # of each member
                group[order] = np.arange(len(order))[:, None]
                self.known[key] = self._foretold(order)
                self._in_any_order(order, group, self.known[key])
                if reduce:
                    self._through_hosts(len(order), group, self.known[key])
            known |= self.known[key]
        return float(self.shares[~known].sum())

    def _across_hosts(self, order: Ints) -> list[Ints]:
        """The order of groups whose ranks are dealt out to hosts in turn, if each host has as many members of each group."""
        hosts = self.hosts[order]
        near = int(np.count_nonzero(hosts[:1] == hosts[:1, :1]))
        if near in (0, 1, order.shape[1]) or order.shape[1] % near:
            return []
        rows = hosts.reshape(len(order), -1, near)
        return [order.reshape(rows.shape).swapaxes(1, 2).reshape(order.shape)] if (rows == rows[..., :1]).all() else []

    def _foretold(self, order: Ints) -> NDArray[np.bool_]:
        """Mark the pairs of each family that one partition foretells; bool[families, pairs]."""
        known = np.zeros_like(self.shares, np.bool_)
        if not order.size:
            return known
        near = int(np.bincount(self.hosts[order[0]]).max())  # of a group in one host
        every = (order.shape[1] - 1) * order.size <= 2 * self.most
        one, other, begins = _tried(order.shape[1], near, self.in_shards, every)
        seen = self._exchanged(order[:1], one, other)[0]
        missing = np.append(0, np.cumsum(~seen))[begins]
        for i in np.flatnonzero(missing[1:] == missing[:-1]).tolist():
            own = slice(begins[i], begins[i + 1])
            seen, at = self._exchanged(order, one[own], other[own])
            if seen.all():
                used = self.used[:, at]
                whole = used.all(axis=1)
                known[np.ix_(whole, at)] = True
                for alike in self.alike[~whole] & ~whole:
                    if used[alike].any(axis=0).all():
                        known[np.ix_(alike, at)] = True
        return known

    def _passed(self, family: int, one: Communicator) -> tuple[int, Ints, set[int], Ints]:
        """Number of the family of a communicator, its members, their hosts, and the numbers of its pairs."""
        members, (a, b) = np.fromiter(one.members, np.int64), np.sort(np.array(list(one.edges), np.int64), axis=1).T
        return family, members, set(self.hosts[members].tolist()), np.searchsorted(self.codes, a * len(self.hosts) + b)

    def _in_any_order(self, order: Ints, group: Ints, known: NDArray[np.bool_]) -> None:
        """Mark as known the pairs of rings and trees that pass all hosts of a group: jobs number their hosts as they like."""
        for family, members, hosts, at in self.passing:
            own = group[members]
            if own[0] >= 0 and (own == own[0]).all() and hosts == set(self.hosts[order[own[0]]].tolist()):
                known[family, at] = True

    def _through_hosts(self, groups: int, group: Ints, known: NDArray[np.bool_]) -> None:
        """Mark as known the pairs of families that join the hosts of each group in a one-way ring, or in two binary trees. They
        may leave a host by any NIC, and enter the next by any other.
        """
        width = int(self.hosts.max()) + 1
        nodes, node = np.unique(np.where(group >= 0, group * width + self.hosts, -1), return_inverse=True)
        of = nodes // width  # the group of each host in it; -1 for members of none
        first, several = np.searchsorted(of, np.arange(groups)), np.bincount(of[of >= 0], minlength=groups)
        many = groups > 0 and several[0] > c.SQUARE  # of few hosts, such trees join nearly all
        for family, one_way, (a, b) in self.ways:
            if not (one_way or many) or (known[family] >= self.used[family]).all():
                continue
            inside = (group[a] == group[b]) & (group[a] >= 0) & (node[a] != node[b])
            a, b = a[inside], b[inside]
            pairs = np.stack(np.divmod(distinct(node[a] * len(nodes) + node[b]), len(nodes)), axis=1)
            ring = one_way and len(pairs) == len(distinct(pairs[:, 0])) == len(distinct(pairs[:, 1]))
            if not len(pairs) or ring != one_way:
                continue
            joined = len(distinct(connected(len(nodes), pairs)[of >= 0])) == groups
            if joined and (ring or _in_binary_trees(pairs - first[of[pairs[:, :1]]], int(several[0]))):
                known[family, np.searchsorted(self.codes, np.minimum(a, b) * len(self.hosts) + np.maximum(a, b))] = True

    def _exchanged(self, order: Ints, one: Ints, other: Ints) -> tuple[NDArray[np.bool_], Ints]:
        """Whether members at two places in each group exchange messages, or are in one host; numbers of the pairs of others."""
        a, b = order[:, one].ravel(), order[:, other].ravel()
        pairs, apart = np.minimum(a, b) * len(self.hosts) + np.maximum(a, b), self.hosts[a] != self.hosts[b]
        at = np.minimum(np.searchsorted(self.codes, pairs), len(self.codes) - 1)
        return ~apart | (self.codes[at] == pairs), at[apart]


def ranked(groups: Sequence[Sequence[int]]) -> Ints:
    """Members of groups in order, int64[groups, members]; empty if there are none, or if sizes differ."""
    size = len(groups[0]) if len(set(map(len, groups))) == 1 else 0
    return np.array([list(group)[:size] for group in groups], np.int64).reshape(-1, max(size, 1))


@lru_cache
def pairings(members: int, near: int, in_shards: bool) -> tuple[tuple[Ints, Ints], ...]:
    """Pairs of places in a group that exchange messages: in a ring, by Bruck, and by halving.

    Several rings leave a host of `near` members at one each, and enter the next at the same place or the next place. If
    `in_shards`, others take each second member, or each fourth: shards inside hosts, each reduced among its replicas. Halving
    takes a power of two; of the others, each first merges with a neighbour of which the even or the odd one goes on, or with
    one of the first. Doubling goes on without those that have no partner. Groups of three or four may take the place of pairs.
    All may send to the first, which broadcasts by a binomial tree.
    """
    places = np.arange(members, dtype=np.int64)
    powers = (1 << np.arange(max(members - 1, 1).bit_length())).tolist()
    every = range(1, near + 1) if in_shards else {1, near}
    rings = [(places, (places + step) % members) for step in every if near % step == 0]
    steps = [(places, (places + step) % members) for step in powers]
    turned = [(places, ((places // near + 1) * near + (places + 1) % near) % members)] if near > 1 else []
    bruck = np.concatenate([one for one, _ in steps]), np.concatenate([other for _, other in steps])
    half = 1 << (members.bit_length() - 1)
    merged = 2 * (members - half)
    cubes = []
    for first in (0, 1):
        goes_on = np.concatenate([places[first:merged:2], places[merged:]])
        cubes.append(_cube(goes_on, places[:merged:2], places[1:merged:2]))
    cubes.append(_cube(places[:half], places[half:] - half, places[half:]))
    doubled = np.concatenate([np.stack([places, places ^ bit], axis=1) for bit in 1 << np.arange(half.bit_length())])
    doubled = doubled[doubled[:, 1] < members]
    multiplied = [_multiplied(places, radix) for radix in (3, 4) if radix < members]
    halved = (*cubes[: 3 if merged else 1], *([(doubled[:, 0], doubled[:, 1])] if merged else []))
    rest = places[1:]
    rooted = [(np.tile(rest, 2), np.concatenate([0 * rest, rest & (rest - 1)]))] if members > c.TRIANGLE else []
    return (*rings, *turned, bruck, *halved, *multiplied, *rooted)


def _in_binary_trees(pairs: Ints, hosts: int) -> bool:
    """Check whether all pairs of hosts are joined in one of two complementary binary trees over so many; int64[n, 2].

    Each parent is the middle of its children's ranks. The second tree mirrors the first, or is shifted if their number is odd.
    Source: P. Sanders, J. Speck, J. L. Träff, Two-tree algorithms for full bandwidth broadcast, reduction and scan, 2009.
    """
    place = np.arange(1, hosts)
    bit = place & -place
    parent = (place ^ bit) | (bit << 1)
    one = np.stack([place, np.where(parent >= hosts, place ^ bit, parent)], axis=1)
    joined = np.concatenate([one, (one + 1) % hosts if hosts % 2 else hosts - 1 - one])
    asked, known = (np.sort(each, axis=1) @ [hosts, 1] for each in (pairs, joined))
    return bool(np.isin(asked, known).all())


def _multiplied(places: Ints, radix: int) -> tuple[Ints, Ints]:
    """Pairs whose places differ in one digit in a radix; those beyond its largest power merge with one of the first.

    Source: MPICH, recursive multiplying.
    """
    whole = 1
    while whole * radix <= len(places):
        whole *= radix
    units = [radix**k for k in range(round(np.log(whole) / np.log(radix)))]
    steps = [(unit, more * unit) for unit in units for more in range(1, radix)]
    one = [places[:whole][places[:whole] // unit % radix * unit + step < radix * unit] for unit, step in steps]
    other = [low + step for low, (_, step) in zip(one, steps, strict=True)]
    rest = places[whole:]
    return np.concatenate([*one, rest % whole]), np.concatenate([*other, rest])


@lru_cache
def _tried(members: int, near: int, in_shards: bool, every: bool) -> tuple[Ints, Ints, list[int]]:
    """Pairs of places of all `pairings`, on end, and of all places if `every`; also where each begins and the last ends."""
    found = [*pairings(members, near, in_shards), *([np.triu_indices(members, 1)] if every else [])]
    one, begins = on_end([one for one, _ in found])
    return one, on_end([other for _, other in found])[0], begins.tolist()


def _cube(goes_on: Ints, one: Ints, other: Ints) -> tuple[Ints, Ints]:
    """Pairs that differ in one bit of their place among those that go on, and the merged pairs."""
    place = np.arange(len(goes_on))
    levels = [(goes_on, goes_on[place ^ bit]) for bit in 1 << np.arange(len(goes_on).bit_length() - 1)]
    return np.concatenate([one, *(low for low, _ in levels)]), np.concatenate([other, *(high for _, high in levels)])
