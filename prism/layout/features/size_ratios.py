"""Compare families: rounds of one collective, shards and their replicas have message sizes in simple ratios; a library usually
reduces all groups by one algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prism.evidence.families import Family
from prism.layout import constants as c
from prism.layout.constants import Kind


def related(inner: Sequence[Family], reducing: Sequence[Family]) -> bool:
    """Check whether messages of an inner dimension are a simple ratio of those that reduce gradients.

    Activations and gradients rarely are.
    """
    return any(
        _simple(max(one.size, other.size) / min(one.size, other.size))
        for one in inner
        for other in reducing
        if one[0].equal and other[0].equal
    )


def may_halve(family: Family, hosts: int) -> bool:
    """Check whether a family may be levels of halving between the hosts of a group: a cube, or the pairs or squares of few."""
    form = family[0].form
    return form in ("two cube", "two path") or (form, hosts) in (("two pair", 2), ("two cycle", c.SQUARE))


def algorithms_differ(found: Sequence[Family], kinds: Sequence[Kind]) -> bool:
    """Check whether some groups reduce all with all while others reduce in rings or by halving.

    The same groups may do both, if a library gathers in one way and reduces in another.
    """
    direct, others = set[frozenset[int]](), set[frozenset[int]]()
    for family, kind in zip(found, kinds, strict=True):
        if kind in ("dp", "edp", "tp", "cp") and len(family[0].members) > 2:
            (direct if family[0].form == "two clique" else others).update(family.groups)
    return bool(others) and (bool(direct - others) or bool(direct and others - direct))


def mixed(reducing: Sequence[Family]) -> bool:
    """Check whether gradients are reduced in two sizes that are no simple ratio: those of experts, and the others.

    Rounds of one collective have simple ratios. The buckets of one model have one size, or many. If the largest size is a power
    of two, messages may be cut there, and a smaller size may be the rest of one.
    """
    volumes: dict[float, float] = {}  # by a size of each class
    sizes = [pair for family in reducing for pair in family.equal_sizes.items()]
    if np.log2(max((size for size, _ in sizes), default=1)) % 1 == 0:
        return False
    for size, volume in sizes:
        own = next((known for known in volumes if _simple(max(known, size) / min(known, size))), size)
        volumes[own] = volumes.get(own, 0.0) + volume
    return sum(volume > c.SEVERAL_SIZES * sum(volumes.values()) for volume in volumes.values()) == 2


def _simple(ratio: float) -> bool:
    return abs(ratio - round(ratio)) < c.SAME_RATIO * ratio and round(ratio) in c.SIMPLE_RATIOS
