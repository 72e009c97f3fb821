"""A hypothesis: a complete layout with its groups and the features for and against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log2

from prism.evidence.families import Family
from prism.layout import constants as c
from prism.layout.constants import Kind
from prism.layout.features.foretold_edges import ranked
from prism.layout.search.placement import Cut, Members, Placing
from prism.layout.search.problem import Problem


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A layout with its groups. `features` maps the names of `WEIGHTS` to values; a weight's sign says for or against."""

    layout: Mapping[str, int]
    groups: tuple[tuple[Kind, Members], ...]
    placing: Placing
    kinds: tuple[Kind, ...]
    families: Sequence[Family]
    features: Mapping[str, float]
    paces: Callable[[int], Mapping[str, float]]  # features of the times inside hosts, if so many act like twins

    @property
    def terms(self) -> dict[str, float]:
        """Contribution of each non-zero feature to the log-likelihood."""
        return {name: c.WEIGHTS[name] * value for name, value in self.features.items() if value}

    @property
    def cut(self) -> Cut:
        """How each host's endpoints are divided: tensor × data × pipeline."""
        return self.placing.cut

    def hidden(self, problem: Problem) -> Iterator[Hypothesis]:
        """Yield variants in which ranks of a host are context parallel or share experts; that traffic stays inside hosts.

        They are part of its data-parallel ranks, as a rule all of a host: the largest number comes first.
        """
        hosts = self.placing.hosts
        planes = [sorted(own) for kind, own in self.groups if kind == "dp"]  # members are in order of their hosts
        inside, data = self.placing.cut[1], self.layout["dp"]
        for size in (size for size in range(min(inside, data), 1, -1) if inside % size == data % size == 0):
            parts = [[p[i : i + size] for i in range(0, len(p), size)] for p in planes]
            if any(hosts[part[0]] != hosts[part[-1]] for blocks in parts for part in blocks):
                continue  # hosts are not all divided alike
            usual = {"hidden": 1.0}
            if size == inside:  # else the rest works on other tokens; without tensors, these are inside hosts instead
                usual |= {"part_of_host": 0.0, "no_tensor": 0.0}
            if self.layout["cp"] == 1:
                usual["no_replicas"] = no_replicas(data // size, len(hosts), context=True)
                own: list[tuple[Kind, Members]] = [("cp", frozenset(part)) for blocks in parts for part in blocks]
                for bound in (1, size):  # they may compute on after the last exchange
                    yield self._with({"dp": data // size, "cp": size}, own, {**self.paces(bound), **usual})
            if self.layout["ep"] == 1:
                same = [part for blocks in parts if len(blocks) > 1 for part in zip(*blocks, strict=False)]
                own = [("ep", frozenset(part)) for blocks in parts for part in blocks]
                own += [("dp", frozenset(part)) for part in same]
                features = {**self.paces(size), **usual, "no_replicas": no_replicas(data, len(hosts))}
                features["other_data"] = self.features.get("other_data", 0.0)  # they share no data
                reduced = [f for f, kind in zip(self.families, self.kinds, strict=True) if kind == "dp"]
                if self.features.get("unforeseen") and same and reduced:
                    largest = max(reduced, key=lambda family: family.octets)
                    exchanged, whole = problem.exchanged(reduced, largest), ranked(planes)
                    more = exchanged.unforeseen([whole]) - exchanged.unforeseen([whole, ranked([*map(sorted, same)])])
                    features["unforeseen"] = self.features["unforeseen"] - more
                yield self._with({"ep": size}, own, features)

    def _with(
        self, sizes: Mapping[str, int], more: Sequence[tuple[Kind, Members]], features: Mapping[str, float]
    ) -> Hypothesis:
        layout, groups = {**self.layout, **sizes}, (*self.groups, *more)
        return replace(self, layout=layout, groups=groups, features={**self.features, **features})

    @cached_property
    def score(self) -> float:
        """Log-likelihood, up to a constant of the job."""
        return sum(self.terms.values())


def no_replicas(data: int, members: int, context: bool = False) -> float:
    """How unusual it is that a job has no data parallelism, 0 to 1; `data`: data-parallel ranks without context."""
    return (data == 1) * (c.CONTEXT_REDUCES if context else 1) * min(log2(members) / c.SURE_OF_REPLICAS, 1)
