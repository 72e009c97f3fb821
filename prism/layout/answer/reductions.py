"""Check whether traffic trains a model: something sums over members, or hands over along a chain.

A sum takes two rounds: one reduces, one gathers. A ring of n members takes 2 (n − 1) of them. Exchanges with fewer rounds in a
step transpose data, swap borders with neighbours, or pass data around a ring. Stages of a pipeline hand over what they made of
that which they received; neighbours that swap borders send at once. Bursts of TCP cannot be counted, and may be either.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from prism.evidence.communicators import Communicator
from prism.layout import constants as c
from prism.layout.search.complete_layout import Hypothesis

Floats = NDArray[np.float64]


def sums(best: Hypothesis) -> bool | None:
    """Check whether communicators with a relevant share of the octets sum over the same members, or hand over.

    True if cliques, or rings in one direction, have the rounds of a sum; None if other forms may sum.
    """
    octets = sum(family.octets for family in best.families)
    heavy = [one for family in best.families if family.octets > c.FEW_OCTETS * octets for one in family]
    rounds: dict[frozenset[int], float] = defaultdict(float)
    clear: dict[frozenset[int], float] = defaultdict(float)
    for one in heavy:
        own = _rounds(one)
        rounds[one.members] += c.ROUNDS_OF_SUM if own is None else own
        clear[one.members] += own if own is not None and one.form in ("two clique", "one cycle") else 0.0
    if max(clear.values()) >= c.ROUNDS_OF_SUM:
        return True
    return None if max(rounds.values()) >= c.ROUNDS_OF_SUM else False


def _rounds(one: Communicator) -> float | None:
    """Rounds of a communicator in a step, in each of which all members send to all others; None if they cannot be counted."""
    members = len(one.members)
    if one.bursts or one.levels or members < c.TRIANGLE:
        return None
    if one.form == "two path":
        return None if _passes_on(one) or _hears_first(one) >= c.HEARD else 0.0  # hosts hide parts of a sum
    if one.way == "two" and members <= c.SQUARE and _hears_first(one) < c.HEARD:
        return 0.0
    if one.form == "two other" and one.rounds < members - 1 and _swaps(one) and not _is_merged_cube(one):
        return 0.0
    if one.form == "two clique" or (one.form == "two other" and len(one.pairs) > 2 * members):  # no two trees
        return one.rhythm.messages
    passed = one.shape == "cycle" or one.form == "one path"  # hosts hide part of a ring
    ring = passed and (one.way == "one" or members > c.SQUARE)  # four may halve and double
    whole = one.rounds > 0 and one.rounds % (members - 1) == 0  # other numbers are of records that sum up several rounds
    return one.rounds / (members - 1) if ring and whole else None


def _passes_on(one: Communicator) -> bool:
    """Check whether most members send the k-th message to the next after they received the k-th from the one before."""
    shares = list[float]()
    for end in one.members:
        near = {a if b == end else b for a, b in one.pairs if end in (a, b)}
        for before, after in permutations(near, 2):
            received, sent = one.by_pair.get((before, end), ()), one.by_pair.get((end, after), ())
            if received and sent:
                arrives = np.sort(np.concatenate([s.end for s in received]))
                leaves = np.sort(np.concatenate([s.start for s in sent]))
                shares.append(float(np.mean(leaves >= arrives)) if len(leaves) == len(arrives) else 1.0)
    return not shares or float(np.mean(shares)) > c.EVEN


def _swaps(one: Communicator) -> bool:
    """Check whether most pairs send both ways at once, within the time that a message takes: up and down a tree they do not.

    A ring both ways does, in as many rounds as it has hops.
    """
    apart = list[bool]()
    for pair in one.pairs:
        both = [one.by_pair.get(ends, ()) for ends in (pair, pair[::-1])]
        there, back = (np.sort(np.concatenate([s.start for s in own])) if own else np.zeros(0) for own in both)
        long = np.median(np.concatenate([s.end - s.start for own in both for s in own]))
        apart.append(len(there) != len(back) or float(np.median(np.abs(there - back))) >= long)
    return 2 * sum(apart) < len(apart)


def _is_merged_cube(one: Communicator) -> bool:
    """Check whether members beyond a power of two have one partner each, and the others one in each level of doubling."""
    partners = Counter(end for pair in one.pairs for end in pair)
    kept = {member for member, number in partners.items() if number > 1}
    inside = Counter(end for pair in one.pairs if kept.issuperset(pair) for end in pair)
    return len(kept) < len(partners) < 2 * len(kept) and all(2**number == len(kept) for number in inside.values())


def _hears_first(one: Communicator) -> float:
    """Share of the messages that members send right after they received one.

    The second round of a sum follows the first: half of its messages do. Neighbours that swap borders send to both sides at
    once, and the next time after they have worked. Right after: within the time that a message takes.
    """
    right_after = list[bool]()
    long = float(np.median(np.concatenate([s.end - s.start for s in one.streams])))
    for member in one.members:
        leaves, arrives = _times(one, member)
        since = leaves - np.append(-np.inf, arrives)[np.searchsorted(arrives, leaves, "right")]
        right_after += (since < long).tolist()
    return float(np.mean(right_after))


def _times(one: Communicator, member: int) -> tuple[Floats, Floats]:
    """Starts of the messages that a member sends, and ends of those that it receives, ascending; it may do only one of both."""
    leaves = [s.start for s in one.streams if s.src == member]
    arrives = [s.end for s in one.streams if s.dst == member]
    return np.sort(np.concatenate([np.zeros(0), *leaves])), np.sort(np.concatenate([np.zeros(0), *arrives]))
