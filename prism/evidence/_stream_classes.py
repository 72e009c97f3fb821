"""Group streams that may belong to one communicator: of equal messages and volumes, or bursts in as much of the step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from prism.evidence import constants as c
from prism.evidence.shapes import closes_rings
from prism.evidence.stream_periods import Rhythms, resolved_spread
from prism.evidence.streams import Stream

T = TypeVar("T")


def stream_classes(streams: Sequence[Stream], rhythms: Rhythms) -> list[list[Stream]]:
    """Group streams that may belong to one communicator: equal messages and equal volumes, also in a usual step; bursts in as
    much of the step.

    A slow NIC changes the bursts of some hops of a ring. So bursts that are left are one class if they are equal in octets and
    close rings.
    """
    bursts = any(s.bursts for s in streams)
    out: list[list[Stream]] = []
    for own in _chained((s for s in streams if s.equal), lambda s: s.size, c.ONE_CLASS_SIZE):
        for alike in _chained(own, lambda s: s.volume, c.EQUAL_VOLUME):
            for same in _chained(alike, lambda s: max(rhythms[id(s)].octets, 1.0), c.SENT_AGAIN):
                out += _chained(same, lambda s: resolved_spread(rhythms[id(s)]), c.MAGNITUDE)
    loose = sorted((s for s in streams if not s.equal), key=lambda s: s.volume)
    if not bursts:
        sized = _chained(loose, lambda s: s.size, c.LOOSE_SIZE)
        return out + [own for one in sized for own in _chained(one, lambda s: max(rhythms[id(s)].octets, 1.0), c.MAGNITUDE)]
    parts: list[list[Stream]] = []
    for own in _chained(loose, lambda s: rhythms[id(s)].octets, c.SENT_AGAIN):
        for alike in _chained(own, lambda s: s.size, c.LOOSE_SIZE):
            parts += _chained(alike, lambda s: rhythms[id(s)].spread, c.LIKE_TIMES)
    parts = _with_rings(parts, lambda s: rhythms[id(s)].octets)
    parts = _with_rings(parts, lambda s: s.volume)
    return out + _with_rings(parts, lambda s: s.volume, by_pair=True)


def _with_rings(parts: list[list[Stream]], octets: Callable[[Stream], float], *, by_pair: bool = False) -> list[list[Stream]]:
    """Take streams of equal octets that close rings out of parts that do not.

    `by_pair`: all streams of a pair are one. Cut or merged bursts may divide the operations of some pairs and not of others.
    """
    units = defaultdict[object, list[Stream]](list)
    for s in (s for part in parts if not closes_rings(part) for s in part):
        units[s.pair if by_pair else id(s)].append(s)
    alike = _chained(units.values(), lambda unit: sum(map(octets, unit)), c.SENT_AGAIN)
    rings = [[s for unit in own for s in unit] for own in alike if closes_rings([unit[0] for unit in own])]
    taken = {id(s) for ring in rings for s in ring}
    left = [[s for s in part if id(s) not in taken] for part in parts]
    return rings + [part for part in left if part]


def _chained(streams: Iterable[T], value: Callable[[T], float], max_jump: float) -> list[list[T]]:
    """Group streams, or lists of streams, in order of a value, separated where its logarithm jumps by more than `max_jump`."""
    every = list(streams)
    values = np.array([value(s) for s in every])
    order = values.argsort(kind="stable")
    jumps = np.flatnonzero(np.diff(np.log(values[order])) > max_jump) + 1
    return [[every[i] for i in own.tolist()] for own in np.split(order, jumps)] if every else []
