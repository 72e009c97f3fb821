"""Compare the times of messages: turns of families at the same member, and both directions of one exchange.

A stage works on each micro-batch between two hand-overs, and each layer has its own tensor, context or expert exchange. So
inner dimensions take turns with one another many times a step. Gradients are reduced once, after the last hand-over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from prism.evidence.families import Family
from prism.layout import constants as c

Floats = NDArray[np.float64]


def turns(family: Family, others: Sequence[Family], steps: float) -> float:
    """Return the turns of a family per run of the others: 2 where it moves between all of them; 0 if no member has both.

    The median of some members counts. `steps`: number of recorded steps. A family takes no more turns than it has runs itself:
    chunks of two long messages alternate, too.
    """
    some = sorted(_members([family]) & _members(others))[: c.MEMBERS_TRIED]
    own, beside = _starts([family], some), _starts(others, some)
    found = [len(np.unique(np.searchsorted(beside[member], own[member]))) / steps for member in some]
    runs = max((one.rhythm.runs for one in others), default=1.0)
    return min(float(np.median(found)), family.rhythm.runs) / runs if found else 0.0


def at_once(family: Family, period: float) -> bool:
    """Check whether both directions of an exchange start at one instant: each side waits until the other is ready.

    Then members leave a round of an operation at one instant. Otherwise each goes on when its own message has come.
    `period`: of the steps, ns.
    """
    starts: dict[tuple[int, int], list[Floats]] = defaultdict(list)
    for stream in (s for one in family for s in one.streams):
        starts[stream.pair].append(stream.start)
    both = [pair for pair in starts if pair[0] < pair[1] and pair[::-1] in starts]
    apart = []
    for pair in both[:: max(1, len(both) // c.MEMBERS_TRIED)]:
        one, other = (np.sort(np.concatenate(starts[ends])) for ends in (pair, pair[::-1]))
        apart.append(float(np.median(np.abs(one - other))) if len(one) == len(other) else np.inf)
    return bool(apart) and float(np.median(apart)) <= c.FINEST * period


def _members(found: Sequence[Family]) -> set[int]:
    return {member for family in found for one in family for member in one.members}


def _starts(found: Sequence[Family], members: Collection[int]) -> dict[int, Floats]:
    """Starts of the messages of some members, in order."""
    out: dict[int, list[Floats]] = {member: [] for member in members}
    for stream in (s for family in found for one in family for s in one.streams):
        for end in out.keys() & stream.pair:
            out[end].append(stream.start)
    return {member: np.sort(np.concatenate(own)) for member, own in out.items()}
