"""Group streams that may belong to one communicator: of equal messages and volumes, or bursts in as much of the step."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from prism.evidence import constants as c
from prism.evidence.member_graphs import connected
from prism.evidence.stream_periods import Rhythms, resolved_spread
from prism.evidence.streams import Stream


def stream_classes(streams: Sequence[Stream], rhythms: Rhythms) -> list[list[Stream]]:
    """Group streams that may belong to one communicator: equal messages and equal volumes; bursts in as much of the step."""
    bursts = any(s.bursts for s in streams)
    out: list[list[Stream]] = []
    for own in _chained((s for s in streams if s.equal), lambda s: s.size, c.ONE_CLASS_SIZE):
        for alike in _chained(own, lambda s: s.volume, c.EQUAL_VOLUME):
            out += _chained(alike, lambda s: resolved_spread(rhythms[id(s)]), c.MAGNITUDE)
    loose = sorted((s for s in streams if not s.equal), key=lambda s: s.volume)
    if not bursts:
        return out + _chained(loose, lambda s: s.size, c.LOOSE_SIZE)
    for own in _chained(loose, lambda s: rhythms[id(s)].octets, c.SENT_AGAIN):
        rings, rest = _rings(own)
        out += rings
        for alike in _chained(rest, lambda s: s.size, c.LOOSE_SIZE):
            out += _chained(alike, lambda s: rhythms[id(s)].spread, c.LIKE_TIMES)
    return out


def _rings(streams: Sequence[Stream]) -> tuple[list[list[Stream]], list[Stream]]:
    """Separate streams of equal volume that form a ring, one way or both ways: its bursts differ where a link is slow."""
    neighbours: dict[int, set[int]] = defaultdict(set)
    for s in streams:
        neighbours[s.src].add(s.dst)
        neighbours[s.dst].add(s.src)
    place = {member: i for i, member in enumerate(sorted(neighbours))}
    part = connected(len(place), [(place[s.src], place[s.dst]) for s in streams])
    by: dict[int, list[Stream]] = defaultdict(list)
    for s in streams:
        by[int(part[place[s.src]])].append(s)
    rings, rest = list[list[Stream]](), list[Stream]()
    for own in by.values():
        members = {end for s in own for end in s.pair}
        sent, received = (Counter(ends) for ends in zip(*(s.pair for s in own), strict=True))
        even = len(members) >= c.TRIANGLE and all(len(neighbours[m]) == 2 and sent[m] == received[m] for m in members)
        if even and len(set(sent.values())) == 1:
            rings.append(own)
        else:
            rest += own
    return rings, rest


def _chained(streams: Iterable[Stream], value: Callable[[Stream], float], max_jump: float) -> list[list[Stream]]:
    """Group streams in order of a value, separated where its logarithm jumps by more than `max_jump`."""
    ordered = sorted(streams, key=value)
    jumps = np.flatnonzero(np.diff(np.log([value(s) for s in ordered])) > max_jump) + 1
    return [ordered[low:high] for low, high in pairwise([0, *jumps.tolist(), len(ordered)])] if ordered else []
