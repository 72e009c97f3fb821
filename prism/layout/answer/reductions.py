"""Check whether traffic may train a model: something sums over members, or hands over along a chain.

A sum takes two rounds: one reduces, one gathers. Exchanges with one round in a step transpose data, or pass them on around a
ring. Bursts of TCP cannot be counted, and may be either.
"""

from __future__ import annotations

from prism.evidence.communicators import Communicator
from prism.layout import constants as c
from prism.layout.search.complete_layout import Hypothesis


def may_train(best: Hypothesis) -> bool:
    """Check whether a family with a relevant share of the octets may sum, or hand over."""
    octets = sum(family.octets for family in best.families)
    return any(_sums(one) for family in best.families if family.octets > c.FEW_OCTETS * octets for one in family)


def _sums(one: Communicator) -> bool:
    """Check whether a communicator has more rounds in a step than an exchange, or a tour of a ring."""
    if one.bursts or len(one.members) < c.TRIANGLE:
        return True
    if one.form == "two clique" or (one.form == "two other" and len(one.pairs) > 2 * len(one.members)):  # no two trees
        return one.rhythm.messages > 1
    return one.form != "one cycle" or one.opened or one.rounds != len(one.members) - 1
