"""Join classes of equal streams that are rounds of one collective: halving, doubling, Bruck's algorithm.

A round of n blocks has messages n times as large as one of a block. Each collective has each of its rounds as often, so their
streams have equally many messages, which follow one another at each member.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from prism.evidence import constants as c
from prism.evidence.member_graphs import connected
from prism.evidence.shapes import closes_rings
from prism.evidence.stream_periods import Rhythms
from prism.evidence.streams import Stream


def joined_rounds(classes: Sequence[list[Stream]], rhythms: Rhythms, members: int) -> list[list[Stream]]:
    """Join the classes that are rounds of one collective; `rhythms` by the identity of a stream."""
    equal = [i for i, own in enumerate(classes) if own[0].equal and not own[0].bursts]
    traits = {i: _traits(classes[i], rhythms) for i in equal}
    pairs = [
        (i, k)
        for k in equal
        for i in equal
        if i < k and _may_be_rounds(traits[i], traits[k], members) and _alternate(classes[i], classes[k])
    ]
    part = connected(len(classes), pairs)
    return [[s for i in np.flatnonzero(part == number).tolist() for s in classes[i]] for number in np.unique(part).tolist()]


def _traits(own: Sequence[Stream], rhythms: Rhythms) -> tuple[float, float, bool]:
    """Size of the messages of a class, messages per step of a stream, and whether its streams close rings."""
    size, messages = np.median([(s.size, rhythms[id(s)].messages) for s in own], axis=0).tolist()
    return size, messages, closes_rings(own)


def _may_be_rounds(one: tuple[float, float, bool], other: tuple[float, float, bool], members: int) -> bool:
    """Check whether sizes are a whole ratio, and messages equally many. Rings of one size are several rings.

    Of rounds next to one another, one may have up to twice as many: ranks beyond a power of two merge with others once, which
    then halve and double; some gather by doubling, and scatter pair by pair.
    """
    ratio, often = (max(a / b, b / a) for a, b in zip(one[:2], other[:2], strict=True))
    if abs(ratio - round(ratio)) >= c.ONE_CLASS_SIZE or ratio > members or ((one[2] or other[2]) and round(ratio) == 1):
        return False
    most = 2 if round(ratio) <= 2 else 1
    return bool(np.log(often / most) < c.EQUAL_VOLUME)


def _alternate(one: Sequence[Stream], other: Sequence[Stream]) -> bool:
    """Check whether classes follow one another at their members, to other partners: the ends of messages that were cut into
    equal parts go to the same partner.
    """
    apart = {s.pair for s in one} != {s.pair for s in other}
    return apart and _follows(one, other) and _follows(other, one)


def _follows(one: Sequence[Stream], other: Sequence[Stream]) -> bool:
    """Check whether most messages of a class are next to one of the other at the same member, within a duration."""
    at: dict[int, list[Stream]] = defaultdict(list)
    for s in other:
        for end in s.pair:
            at[end].append(s)
    touching = [(s, at[end]) for s in one for end in s.pair if at[end]]
    gaps = [_gap(s, near) for s, near in touching[:: max(1, len(touching) // c.PAIRS_TRIED)]]
    return bool(gaps) and float(np.median(gaps)) < 1


def _gap(stream: Stream, others: Sequence[Stream]) -> float:
    """Median time from the messages of a stream to the nearest message of the others, in durations of the longer ones."""
    start, end = (np.concatenate([getattr(s, name) for s in others]) for name in ("start", "end"))
    order = np.argsort(start)
    duration = max(float(np.median(stream.end - stream.start)), float(np.median(end - start)), 1.0)
    start, end = start[order], np.maximum.accumulate(end[order])
    after = np.searchsorted(start, stream.end)
    later = np.append(start, np.inf)[after] - stream.end
    earlier = stream.start - np.append(-np.inf, end)[after]
    return float(np.median(np.maximum(np.minimum(later, earlier), 0.0))) / duration
