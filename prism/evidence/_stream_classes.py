"""Group streams that may belong to one communicator: of equal messages and volumes, or bursts in as much of the step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from prism.evidence import constants as c
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
        for alike in _chained(own, lambda s: s.size, c.LOOSE_SIZE):
            out += _chained(alike, lambda s: rhythms[id(s)].spread, c.LIKE_TIMES)
    return out


def _chained(streams: Iterable[Stream], value: Callable[[Stream], float], max_jump: float) -> list[list[Stream]]:
    """Group streams in order of a value, separated where its logarithm jumps by more than `max_jump`."""
    every = list(streams)
    values = np.array([value(s) for s in every])
    order = values.argsort(kind="stable")
    jumps = np.flatnonzero(np.diff(np.log(values[order])) > max_jump) + 1
    return [[every[i] for i in own.tolist()] for own in np.split(order, jumps)] if every else []
