"""Divide the members of a job into groups, in one placing. Values that do not depend on the kinds of traffic are kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from prism.evidence.families import Family
from prism.layout.constants import Kind
from prism.layout.search.placement import Members, Placing
from prism.loops.arrays.group_sums import counted, distinct

Value = TypeVar("Value")
Parts = NDArray[np.int64]  # the number of each member's group
Groups = tuple[tuple[Kind, Members], ...]


@dataclass(frozen=True, eq=False)
class Kept:
    """What is known of parts in all placings of a job. Equal parts are one array, so their identity is a key."""

    parts: dict[bytes, Parts] = field(default_factory=dict)
    known: dict[tuple[object, ...], object] = field(default_factory=dict)

    def one(self, parts: Parts) -> Parts:
        """Return the array that stands for all that are equal to `parts`."""
        return self.parts.setdefault(parts.tobytes(), parts)


@dataclass(frozen=True, eq=False)
class Division:
    """Groups of the members; `kept`: those of all placings, which holds all parts."""

    placing: Placing
    kept: Kept = field(default_factory=Kept)

    def known(self, find: Callable[[], Value], *key: object) -> Value:
        """Cache a value that does not depend on the kinds: compute it once per placing, whose families never change."""
        return _known(self.placing.known, find, key)

    def always(self, find: Callable[[], Value], *key: object) -> Value:
        """Cache a value that depends on parts alone, whatever the placing."""
        return _known(self.kept.known, find, key)

    def sized(self, parts: Parts) -> tuple[int, float]:
        """Return the size of most members' groups, and the share of members in groups of another size."""

        def find() -> tuple[int, float]:
            sizes = np.bincount(parts)
            held = np.bincount(sizes, weights=sizes)
            size = int(np.argmax(held))
            return size, 1 - float(held[size]) / len(parts)

        return self.always(find, "sized", id(parts))

    def shared(self, one: Parts, other: Parts) -> float:
        """Share of the members in two groups, one of each division, that share another member."""

        def find() -> float:
            cells = np.sort(one * len(one) + other)
            apart = np.concatenate([[True], cells[1:] != cells[:-1], [True]])  # from the one before each
            return (len(one) - int(np.count_nonzero(apart[1:] & apart[:-1]))) / len(one)

        return self.always(find, "shared", id(one), id(other))

    def strided(self, plane: Parts, parts: Parts) -> float:
        """Share of the members whose group goes on in other hosts, but lacks members of their plane in their host."""

        def find() -> float:
            (mates, hosts), (every, _) = self._in_hosts(parts), self._in_hosts(plane)
            return float(np.mean((hosts > 1) & (mates < every)))

        return self.known(find, "strided", id(plane), id(parts))

    def _in_hosts(self, parts: Parts) -> tuple[Parts, Parts]:
        """Members of each member's group in its host, and hosts of its group."""

        def find() -> tuple[Parts, Parts]:
            n = len(parts)
            cells, own, mates = np.unique(parts * n + self.placing.hosts, return_inverse=True, return_counts=True)
            return mates[own], np.bincount(cells // n)[parts]

        return self.known(find, "in hosts", id(parts))

    def nested(self, one: Parts, other: Parts) -> bool:
        """Check whether each group of one division is part of a group of the other."""

        def find() -> bool:
            cells, *groups = (len(distinct(parts)) for parts in (one * len(one) + other, one, other))
            return cells == max(groups)

        return self.always(find, "nested", id(one), id(other))

    def between(self, family: Family, axes: tuple[int, ...]) -> float:
        """Octets of a family between members that differ in at least one of the coordinates."""

        def find() -> float:
            at = self.placing.at[:, axes]
            return float(family.weights[np.any(at[family.ends[:, 0]] != at[family.ends[:, 1]], axis=1)].sum())

        return self.known(find, "between", family, axes)

    def ways(self, family: Family) -> float:
        """Edges of a family per edge between places of hosts, whatever their data-parallel ranks."""

        def find() -> float:
            place = self.placing.alike((0, 1, 3))
            return len(family.ends) / len(distinct(place[family.ends[:, 0]] * len(place) + place[family.ends[:, 1]]))

        return self.known(find, "ways", family)

    def sets(self, kind: Kind, parts: Parts) -> Groups:
        """Groups of two members or more, of one kind, in order of their first members."""

        def find() -> Groups:
            return tuple((kind, own) for own in self.members(parts))

        return self.always(find, "sets", kind, id(parts))

    def members(self, parts: Parts) -> tuple[Members, ...]:
        """Members of each group of two or more, in order of their first members."""

        def find() -> tuple[Members, ...]:
            members, begins, ends = self._sorted(parts)
            every = members.tolist()
            return tuple(frozenset(every[low:high]) for low, high in zip(begins.tolist(), ends.tolist(), strict=True))

        return self.always(find, "members", id(parts))

    def ranked(self, parts: Parts) -> Parts:
        """Members of the groups of `sets` in order, int64[groups, members]; empty if sizes differ."""

        def find() -> Parts:
            members, begins, ends = self._sorted(parts)
            size = int(ends[0] - begins[0]) if len(set((ends - begins).tolist())) == 1 else 0
            return members.take(begins[:, None] + np.arange(size)).reshape(-1, max(size, 1))

        return self.always(find, "ranked", id(parts))

    def _sorted(self, parts: Parts) -> tuple[Parts, Parts, Parts]:
        """Members group by group; begin and end of each group of two members or more, in order of their first members."""
        order, begins = counted(parts, int(parts.max()) + 1, np.arange(len(parts)))
        some = np.flatnonzero(np.diff(begins) > 1)
        some = some[np.argsort(order[begins[some]])]
        return order, begins[some], begins[some + 1]

    def neighbours(self, plane: Parts, size: int) -> tuple[Parts, Parts]:
        """Groups of `size` neighbours of one data-parallel plane in one host: number and place of each member."""

        def find() -> tuple[Parts, Parts]:
            number, place = self.placing.neighbours(plane, size)
            return self.kept.one(number), place

        return self.known(find, "neighbours", id(plane), size)

    def within(self, plane: Parts, parts: Parts) -> Groups:
        """Groups that lie within one data-parallel plane."""

        def find() -> Groups:
            return tuple(("dp", own) for inner in self._by_plane(plane, parts).values() for own in inner)

        return self.always(find, "within", id(plane), id(parts))

    def replicas(self, plane: Parts, experts: Parts) -> Groups:
        """Groups of ranks that hold the same experts: one rank of each group of experts of a plane."""

        def find() -> Groups:
            several = (inner for inner in self._by_plane(plane, experts).values() if len(inner) > 1)
            alike = (inner for inner in several if len(set(map(len, inner))) == 1)
            return tuple(("dp", frozenset(own)) for inner in alike for own in zip(*map(self._in_order, inner), strict=True))

        return self.known(find, "replicas", id(plane), id(experts))

    def _by_plane(self, plane: Parts, parts: Parts) -> Mapping[int, list[Members]]:
        """Sort the groups that lie within one data-parallel plane by the number of the plane."""
        by: dict[int, list[Members]] = defaultdict(list)
        first, last = np.full(len(parts), len(parts)), np.full(len(parts), -1)  # planes in which each group has members
        np.minimum.at(first, parts, plane)
        np.maximum.at(last, parts, plane)
        for own in self.members(parts):
            part = parts[next(iter(own))]
            if first[part] == last[part]:
                by[int(first[part])].append(own)
        return by

    def _in_order(self, own: Members) -> list[int]:
        """Order members by their coordinates."""
        members = np.array(sorted(own))
        return list(members[np.lexsort(self.placing.at[members][:, [1, 2, 3, 0]].T)].tolist())


def _known(known: dict[tuple[object, ...], object], find: Callable[[], Value], key: tuple[object, ...]) -> Value:
    value = known.get(key)
    if value is None:
        value = known[key] = find()
    return cast(Value, value)
