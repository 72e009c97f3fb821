"""Choose what to evict from a hung job: the outliers, or their parallel group if single ranks are uncertain.

ByteRobust (SOSP 2025) evicts the whole group in doubt: one machine too many costs less than a second failed restart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prism.stacks.stack_clusters import Outliers

SURE = 0.9  # confidence from which only the outliers are evicted
WIDEST = 0.5  # largest share of a job's ranks in an evicted group
_PREFERRED = ("pp", "tp", "cp", "ep", "dp")  # ByteRobust's order: pipelines first, because hangs spread along them


@dataclass(frozen=True)
class RankGroup:
    """A group of the layout, by rank."""

    kind: str
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Eviction:
    """Ranks to evict; `group`: the group that contains them all, if it is evicted as a whole or is what they share."""

    ranks: tuple[int, ...]
    hosts: tuple[str, ...]
    group: RankGroup | None
    why: str
    confidence: float


def evict(outliers: Outliers, groups: Sequence[RankGroup], hosts: Mapping[int, str], world: int) -> Eviction:
    """Choose what to evict; nothing without outliers."""
    if not outliers.ranks:
        return Eviction((), (), None, outliers.why, 0.0)
    wanted = set(outliers.ranks)
    fitting = [one for one in groups if wanted <= set(one.ranks) and len(one.ranks) <= WIDEST * max(world, 1)]
    fitting.sort(key=lambda one: (len(one.ranks), _PREFERRED.index(one.kind) if one.kind in _PREFERRED else len(_PREFERRED)))
    group = fitting[0] if fitting else None
    ranks, why = outliers.ranks, outliers.why
    if outliers.confidence < SURE and group is not None:
        ranks, why = group.ranks, f"{why}; in doubt the whole {group.kind} group"
    if hosts:  # hosts are evicted as a whole
        names = {hosts[rank] for rank in ranks if rank in hosts}
        return Eviction(tuple(sorted(ranks)), tuple(sorted(names)), group, why, outliers.confidence)
    return Eviction(tuple(sorted(ranks)), (), group, why, outliers.confidence)
