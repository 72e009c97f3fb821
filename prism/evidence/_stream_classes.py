"""Group streams that may belong to one communicator: of equal messages and volumes, or bursts in as much of the step."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from prism.evidence import constants as c
from prism.evidence.shapes import closes_rings
from prism.evidence.stream_periods import Rhythms
from prism.evidence.streams import Stream
from prism.loops.arrays.group_sums import counted

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def stream_classes(streams: Sequence[Stream], rhythms: Rhythms) -> list[list[Stream]]:
    """Group streams that may belong to one communicator: equal messages and equal volumes, also in a usual step; bursts in as
    much of the step.

    A slow NIC changes the bursts of some hops of a ring. So bursts that are left are one class if they are equal in octets and
    close rings.
    """
    own = [rhythms[id(s)] for s in streams]
    size, volume = (np.array([getattr(s, name) for s in streams]) for name in ("size", "volume"))
    octets, spread = (np.array([getattr(rhythm, name) for rhythm in own]) for name in ("octets", "spread"))
    equal, once = np.array([s.equal for s in streams], np.bool_), np.maximum(octets, 1.0)
    resolved = spread + 1 / c.BINS_OF_SPREAD
    alike = [(size, c.ONE_CLASS_SIZE), (volume, c.EQUAL_VOLUME), (once, c.SENT_AGAIN), (resolved, c.MAGNITUDE)]
    out = _chained([np.flatnonzero(equal)], *alike)
    loose = np.flatnonzero(~equal)
    loose = loose[volume[loose].argsort(kind="stable")]
    if any(s.bursts for s in streams):
        parts = _chained([loose], (octets, c.SENT_AGAIN), (size, c.LOOSE_SIZE), (spread, c.LIKE_TIMES))
        parts = _with_rings(streams, parts, octets)
        parts = _with_rings(streams, parts, volume)
        out += _with_rings(streams, parts, volume, by_pair=True)
    else:
        out += _chained([loose], (size, c.LOOSE_SIZE), (once, c.MAGNITUDE))
    return [[streams[i] for i in part.tolist()] for part in out]


def _with_rings(streams: Sequence[Stream], parts: list[Ints], octets: Floats, *, by_pair: bool = False) -> list[Ints]:
    """Take streams of equal octets that close rings out of parts that do not.

    `by_pair`: all streams of a pair are one. Cut or merged bursts may divide the operations of some pairs and not of others.
    """
    loose = [i for part in parts if not _closes(streams, part) for i in part.tolist()]
    number = {key: i for i, key in enumerate(dict.fromkeys(streams[i].pair if by_pair else i for i in loose))}
    unit = np.array([number[streams[i].pair if by_pair else i] for i in loose], np.int64)
    order, begins = counted(unit, len(number), np.arange(len(loose)))
    grouped = np.array(loose, np.int64)[order]  # unit by unit
    moved = np.bincount(unit, octets[loose]).astype(np.float64)
    closed = [
        own for own in _chained([np.arange(len(number))], (moved, c.SENT_AGAIN)) if _closes(streams, grouped[begins[own]])
    ]
    rings = [np.concatenate([grouped[begins[i] : begins[i + 1]] for i in own.tolist()]) for own in closed]
    left = np.ones(len(streams), np.bool_)
    left[np.concatenate([grouped[:0], *rings])] = False
    return rings + [part[left[part]] for part in parts if left[part].any()]


def _closes(streams: Sequence[Stream], part: Ints) -> bool:
    return len(part) > 2 and closes_rings([streams[i] for i in part.tolist()])


def _chained(parts: Sequence[Ints], *alike: tuple[Floats, float]) -> list[Ints]:
    """Divide each part in order of each of some values, where the logarithm of the value jumps by more than a limit."""
    out = [part for part in parts if len(part)]
    for values, most in alike:
        every, out = out, []
        for part in every:
            ordered = part[values[part].argsort(kind="stable")]
            jumps = np.flatnonzero(np.diff(np.log(values[ordered])) > most) + 1
            out += [ordered[low:high] for low, high in pairwise([0, *jumps.tolist(), len(part)])]
    return out
