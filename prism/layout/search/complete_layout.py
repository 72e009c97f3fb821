"""A hypothesis: a complete layout with its groups and the features for and against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from prism.evidence.families import Family
from prism.layout import constants as c
from prism.layout.constants import Kind
from prism.layout.search.placement import Cut, Placing

Members = frozenset[int]


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A layout with its groups. `features` maps the names of `WEIGHTS` to values; a weight's sign says for or against."""

    layout: Mapping[str, int]
    groups: tuple[tuple[Kind, Members], ...]
    members: Members
    placing: Placing
    kinds: tuple[Kind, ...]
    families: Sequence[Family]
    features: Mapping[str, float]

    @property
    def terms(self) -> dict[str, float]:
        """Contribution of each non-zero feature to the log-likelihood."""
        return {name: c.WEIGHTS[name] * value for name, value in self.features.items() if value}

    @property
    def cut(self) -> Cut:
        """How each host's endpoints are divided: tensor × data × pipeline."""
        return self.placing.cut

    def hidden(self) -> Iterator[Hypothesis]:
        """Yield variants in which ranks of a host are context parallel; that traffic stays inside hosts.

        They are part of its data-parallel ranks. Or they are its tensor-parallel ranks, if no reduction tells them apart.
        """
        if self.layout["cp"] > 1 or not self.placing.regular:
            return
        hosts = self.placing.hosts
        planes = [sorted(own, key=lambda m: (hosts[m], m)) for kind, own in self.groups if kind == "dp"]
        for size in range(2, self.placing.cut[1] + 1):
            if self.placing.cut[1] % size == 0 and self.layout["dp"] % size == 0:
                parts = (p[i : i + size] for p in planes for i in range(0, len(p), size))
                own: list[tuple[Kind, Members]] = [("cp", frozenset(part)) for part in parts]
                less = {**self.layout, "dp": self.layout["dp"] // size, "cp": size}
                yield replace(self, layout=less, groups=(*self.groups, *own), features={**self.features, "hidden_context": 1.0})
        size = self.layout["tp"]
        if size == self.cut[0] > 1 and not {"dp", "edp", "tp"} & set(self.kinds):
            plane = {member: own for kind, own in self.groups if kind == "dp" for member in own}
            twins = [own for kind, own in self.groups if kind == "tp"]
            whole = dict.fromkeys(frozenset(m for twin in own for m in plane.get(twin, (twin,))) for own in twins)
            groups = [(kind, own) for kind, own in self.groups if kind not in ("dp", "tp")]
            groups += [("dp", own) for own in whole] + [("cp", own) for own in twins]
            less = {**self.layout, "tp": 1, "cp": size}
            yield replace(self, layout=less, groups=tuple(groups), features={**self.features, "hidden_context": 1.0})

    @property
    def score(self) -> float:
        """Log-likelihood, up to a constant of the job."""
        return sum(self.terms.values())
