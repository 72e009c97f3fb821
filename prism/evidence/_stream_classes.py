"""Group streams that may belong to one communicator: of equal messages and volumes, or bursts in as much of the step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from prism.evidence import constants as c
from prism.evidence.shapes import closes_rings
from prism.evidence.stream_periods import Rhythms, resolved_spread
from prism.evidence.streams import Stream


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
    return out + _with_rings(_with_rings(parts, lambda s: s.volume), None)


def _with_rings(parts: list[list[Stream]], octets: Callable[[Stream], float] | None) -> list[list[Stream]]:
    """Take streams of equal octets that close rings out of parts that do not; None compares all octets of each pair.

    Cut or merged bursts may divide the operations of some pairs and not those of others.
    """
    rest = [s for part in parts if not closes_rings(part) for s in part]
    of = defaultdict[object, list[Stream]](list)
    for s in rest:
        of[s.pair if octets is None else id(s)].append(s)
    pooled = {id(own[0]): own for own in of.values()}
    total = octets if octets is not None else lambda s: sum(one.volume for one in pooled[id(s)])
    rings = [own for own in _chained((own[0] for own in pooled.values()), total, c.SENT_AGAIN) if closes_rings(own)]
    rings = [[s for first in ring for s in pooled[id(first)]] for ring in rings]
    taken = {id(s) for ring in rings for s in ring}
    left = [[s for s in part if id(s) not in taken] for part in parts]
    return rings + [part for part in left if part]


def _chained(streams: Iterable[Stream], value: Callable[[Stream], float], max_jump: float) -> list[list[Stream]]:
    """Group streams in order of a value, separated where its logarithm jumps by more than `max_jump`."""
    every = list(streams)
    values = np.array([value(s) for s in every])
    order = values.argsort(kind="stable")
    jumps = np.flatnonzero(np.diff(np.log(values[order])) > max_jump) + 1
    return [[every[i] for i in own.tolist()] for own in np.split(order, jumps)] if every else []
