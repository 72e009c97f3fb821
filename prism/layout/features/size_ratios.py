"""Compare families: rounds of one collective, shards and their replicas have message sizes in simple ratios."""

from __future__ import annotations

from collections.abc import Sequence

from prism.evidence.families import Family
from prism.layout import constants as c


def may_halve(family: Family, hosts: int) -> bool:
    """Check whether a family may be levels of halving between the hosts of a group: a cube, or the pairs or squares of few."""
    form = family[0].form
    return form in ("two cube", "two path") or (form, hosts) in (("two pair", 2), ("two cycle", c.SQUARE))


def mixed(reducing: Sequence[Family]) -> bool:
    """Check whether gradients are reduced in two sizes that are no simple ratio, equally often: those of experts, and others.

    Rounds of one collective have simple ratios. Embeddings, and the rest of a cut message, are sent less often than the others.
    """
    volumes: dict[float, float] = {}  # by the first size of each class
    largest: dict[float, float] = {}
    for size, volume in (pair for family in reducing for pair in family.equal_sizes.items()):
        own = next((known for known in volumes if _simple(max(known, size) / min(known, size))), size)
        volumes[own] = volumes.get(own, 0.0) + volume
        largest[own] = max(largest.get(own, 0.0), size)
    times = [volumes[own] / largest[own] for own in volumes if volumes[own] > c.SEVERAL_SIZES * sum(volumes.values())]
    return len(times) == 2 and max(times) < c.AS_OFTEN * min(times)


def _simple(ratio: float) -> bool:
    return abs(ratio - round(ratio)) < c.SAME_RATIO * ratio and round(ratio) in c.SIMPLE_RATIOS
