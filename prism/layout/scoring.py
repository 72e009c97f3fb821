"""What speaks for and against one hypothesis: log-likelihoods of all evidence, and priors of common practice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism.evidence.communicators import connected, imbalance
from prism.evidence.families import Family
from prism.layout import constants as c
from prism.layout.constants import Kind
from prism.layout.likelihood import lockstep_fit, rounds_fit
from prism.layout.placing import Cut, Pair, Placing
from prism.layout.problem import Problem, is_open

Members = frozenset[int]
Parts = NDArray[np.int64]  # the number of each member's group


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A layout with its groups, and `terms`: what speaks for and against it, log-likelihoods."""

    layout: Mapping[str, int]
    groups: tuple[tuple[Kind, Members], ...]
    members: Members
    cut: Cut
    kinds: tuple[Kind, ...]
    families: Sequence[Family]
    terms: Mapping[str, float]

    @property
    def score(self) -> float:
        """The log-likelihood, up to a constant of the job."""
        return sum(self.terms.values())


class Scored:
    """One assignment of kinds, on its way to a hypothesis."""

    def __init__(
        self,
        problem: Problem,
        present: NDArray[np.bool_],
        placing: Placing,
        found: Sequence[Family],
        kinds: tuple[Kind, ...],
        fits: float,
    ) -> None:
        self.problem, self.present, self.placing, self.found, self.kinds = problem, present, placing, found, kinds
        self.n = int(present.sum())
        self.edges: dict[Kind, list[Pair]] = defaultdict(list)
        for family, kind in zip(found, kinds, strict=True):
            self.edges[kind] += family.joins
        tensor, data, _ = placing.cut
        self.inside = placing.links(2) if data > 1 else []
        reduced = self.edges["dp"] + self.edges["edp"] + self.edges["ep"] + self.edges["cp"]
        self.plane = self._parts(reduced + self.inside)
        self.tp = self._parts(self.edges["tp"] + (placing.links(1) if tensor > 1 else []))
        self.pp = self._parts(self.edges["pp"] + (placing.links(3) if placing.cut[2] > 1 else []))
        self.terms: dict[str, float] = {"fit": fits}
        self._short = 0  # families of gradients that do not span the plane; `_spans` counts them before `_prior` asks

    def _parts(self, pairs: Sequence[Pair]) -> Parts:
        return connected(len(self.present), pairs)

    def sized(self, parts: Parts) -> tuple[int, float]:
        """The size of most members' groups, and the share of members in groups of another."""
        sizes = np.bincount(parts[self.present])
        held = np.bincount(sizes, weights=sizes)
        size = int(np.argmax(held))
        return size, 1 - float(held[size]) / self.n

    def hypothesis(self, endpoints: int) -> Hypothesis:
        """The layout that follows, with all terms; `endpoints`: members of a host."""
        (dp, a), (tp, b), (pp, d) = self.sized(self.plane), self.sized(self.tp), self.sized(self.pp)
        self.terms["even"] = -c.UNEVEN * (a + b + d)
        self.terms["grid"] = self._grid(dp, tp, pp)
        self.terms["places"] = self._places()
        self.terms["passes"] = self._passes()
        self.terms["rounds"] = self._rounds(dp, tp)
        self.terms["lockstep"] = self._lockstep()
        sub = self._nested(dp)
        self.terms["prior"] = self._prior(dp, tp, pp, endpoints)
        apart = "ep" in self.kinds and "edp" in self.kinds and "dp" not in self.kinds
        if apart:  # nothing is reduced over all: experts are a dimension of their own
            self.terms["grid"] -= c.OTHER_PRODUCT * (dp != sub["edp"] * sub["ep"])
            dp = sub["edp"]
        layout = {"dp": max(dp // sub["cp"], 1), "pp": pp, "tp": tp, "ep": sub["ep"], "cp": sub["cp"]}
        members = frozenset(np.flatnonzero(self.present).tolist())
        groups = tuple(self._groups(sub, apart))
        return Hypothesis(layout, groups, members, self.placing.cut, self.kinds, self.found, self.terms)

    def _grid(self, dp: int, tp: int, pp: int) -> float:
        """The dimensions multiply to the members, and groups of two dimensions share one member at most."""
        whole = dp * tp * pp
        out = -c.OTHER_PRODUCT * abs(np.log(whole / self.n)) - (c.NO_GRID if whole != self.n else 0)
        of = [part[self.present] for part in (self.plane, self.tp, self.pp)]
        for one, other in ((0, 1), (0, 2), (1, 2)):
            cells = np.unique(of[one].astype(np.int64) * len(self.present) + of[other], return_counts=True)[1]
            out -= c.UNEVEN * float(cells[cells > 1].sum()) / self.n
        piped = {(min(p), max(p)) for p in self._pairs("pp")}
        if self.kinds.count("pp") > 1:
            ends = {e for pair in piped for e in pair}
            out -= c.NOT_NESTED * (
                len(piped) > len(ends) - len({int(self.pp[e]) for e in ends})
            )  # two kinds that close circles
        return float(out)

    def _places(self) -> float:
        """Tensor-parallel twins hand on to their own like; members of other dimensions share their place in the host."""
        apart = volume = 0.0
        for family, kind in zip(self.found, self.kinds, strict=True):
            volume += family.octets
            if kind != "none":
                axes = {"pp": (1,), "tp": (3,)}.get(kind, (1, 3))
                at = self.placing.at[:, axes]
                differ = np.any(at[family.ends[:, 0]] != at[family.ends[:, 1]], axis=1)
                apart += float(family.weights[differ].sum())
        return -c.OUT_OF_PLACE * apart / volume

    def _passes(self) -> float:
        """What enters a member leaves it again, or goes on inside the host to one of its group."""
        open_octets = volume = 0.0
        for family, kind in zip(self.found, self.kinds, strict=True):
            volume += family.octets
            if kind in ("dp", "edp", "tp", "cp"):
                here = family.imbalance
                if here > c.CLOSED:
                    here = imbalance(family.edges, self.placing.alike((0, 2, 3) if kind == "tp" else (0, 1, 3)).tolist())
                open_octets += here * family.octets
        return c.UNEXPLAINED_SHARE * open_octets / volume

    def _rounds(self, dp: int, tp: int) -> float:
        """Numbers of messages of rings, hidden members included; a reduction in levels, one inside hosts, has its own rings."""
        out = 0.0
        in_levels = self.placing.cut[1] > 1 and self._ways_needed() > c.MORE_WAYS
        for family, kind in zip(self.found, self.kinds, strict=True):
            if kind in ("dp", "tp", "edp", "cp"):
                own = max(len(one.members) for one in family)
                out += rounds_fit(family, own if kind == "dp" and in_levels else {"dp": dp, "tp": tp}.get(kind) or own)
        return out

    def _lockstep(self) -> float:
        """Tensor twins move together, stages apart by a part of the step, members of one collective as close as its peers."""
        seen = self.problem.lockstep
        if not len(seen.first):
            return 0.0
        at = self.placing.at
        axis = np.where(at[seen.first, 3] != at[seen.second, 3], 3, np.where(at[seen.first, 2] != at[seen.second, 2], 2, 1))
        return c.LOCKSTEP * float(np.mean(lockstep_fit(axis, seen)))

    def _nested(self, dp: int) -> dict[Kind, int]:
        """Sizes of the dimensions inside the data-parallel plane; how well they lie in it is a term."""
        out, sub = 0.0, dict[Kind, int]()
        tied = self._pairs("tied")
        for u, v in tied:
            chain = int((self.pp == self.pp[u]).sum())
            out -= c.UNEVEN * float(self.pp[u] != self.pp[v] or chain < 2) / len(tied)
        for kind in ("ep", "cp", "edp"):
            sub[kind] = 1
            if kind in self.kinds:
                size, uneven = self.sized(self._parts(self._own_edges(kind)))
                sub[kind] = size
                alone = kind == "ep" and size == dp and "dp" not in self.kinds
                out -= c.UNEVEN * uneven + (c.NOT_NESTED if dp % size else 0) + (c.NO_GRID if alone else 0)
        out -= c.NOT_NESTED * ("ep" in self.kinds and not self._exchanges(sub["ep"]))
        out += self._spans(dp, sub)
        reduces = {"dp", "edp"} & set(self.kinds)
        out -= c.CONTEXT_ALONE * ("cp" in self.kinds and "dp" not in self.kinds) + c.NEVER_REDUCED * (
            "ep" in self.kinds and not reduces
        )
        out -= c.NO_GRID * ("cp" in self.kinds and "dp" in self.kinds and sub["cp"] == dp)
        self.terms["nested"] = out
        return sub

    def _spans(self, dp: int, sub: Mapping[Kind, int]) -> float:
        """The gradients' traffic spans the plane: each family alone, or shards and their replicas together.

        Where an inner dimension has a reduction of its own, replicas of it may reduce apart from it.
        """
        reductions = [family for family, kind in zip(self.found, self.kinds, strict=True) if kind == "dp"]
        reach = [self._reach(family.joins) for family in reductions]
        self._short = short = sum(one != dp for one in reach)
        if short == len(reach) > 0 and any(one * sub[kind] == dp for kind in ("cp", "ep") for one in reach if sub[kind] > 1):
            return -c.SEPARATELY
        out = -(c.HIERARCHY if short == len(reach) else c.PARTLY) * (short > 0) - c.MORE_STAGES * max(short - 2, 0)
        return out - (c.SPANS_LESS if reductions and self._reach(self.edges["dp"]) != dp else 0)

    def _exchanges(self, experts: int) -> bool:
        """Whether some family between experts is an exchange of all with all, in groups as large as all their traffic makes."""
        own = [family for family, kind in zip(self.found, self.kinds, strict=True) if kind == "ep"]
        return any(
            one[0].form in c.EXCHANGES and self.sized(self._parts(one.joins + self._going_on("ep")))[0] == experts
            for one in own
        )

    def _reach(self, edges: list[Pair]) -> int:
        """The size of most groups of the members that some traffic touches."""
        touched = np.zeros_like(self.present)
        touched[[e for pair in edges for e in pair]] = True
        parts = self._parts(edges + self.inside)
        sizes = np.bincount(parts[self.present])[parts[touched & self.present]]
        return int(np.bincount(sizes).argmax()) if len(sizes) else 0

    def _pairs(self, kind: Kind) -> list[Pair]:
        own = (family for family, k in zip(self.found, self.kinds, strict=True) if k == kind)
        return [pair for family in own for one in family for pair in one.edges]

    def _own_edges(self, kind: Kind) -> list[Pair]:
        """The edges of a dimension inside the plane, with the ways through hosts where its rings go on there."""
        return self.edges[kind] + self._going_on(kind)

    def _going_on(self, kind: Kind) -> list[Pair]:
        own = (family for family, k in zip(self.found, self.kinds, strict=True) if k == kind)
        goes_on = self.placing.cut[1] > 1 and any(is_open(one) for family in own for one in family)
        return self.inside if goes_on else []

    def _prior(self, dp: int, tp: int, pp: int, endpoints: int) -> float:
        """How usual such a layout is, whatever its traffic looks like."""
        tensor, data, stages = self.placing.cut
        reduced = [family for family, kind in zip(self.found, self.kinds, strict=True) if kind == "dp"]
        cliques = sum(family[0].form == "two clique" and len(family[0].members) > 3 for family in reduced)
        out = c.DIRECT_TWICE * max(cliques - 1, 0)  # who gathers directly also reduces so
        out -= c.OTHER_ALGORITHM * self._algorithms_differ()
        out += c.HALVING * (data > 1 and any(family[0].form == "two cube" for family in reduced))
        in_levels = data > 1 and self._ways_needed() > c.MORE_WAYS
        out -= max(c.IN_LEVELS * in_levels - c.HIERARCHY * (self._short > 0), 0.0)
        if tensor > 1 and (data == 1 or not self.problem.opened):
            out -= c.TWINS_DIFFER * min(self._twins_differ() / c.TWINS_FAR, 1)
        out -= 0.0 if self.placing.regular else c.IRREGULAR
        out -= c.STAGES_IN_HOST * (stages > 1) + c.NO_TENSOR * (tp == 1 and pp > 1 and data > 1)
        out -= (c.ODD_TENSOR if tensor & (tensor - 1) else 0) + c.PART_OF_HOST * (tensor not in (1, endpoints))
        return float(out - self._silence() - self._sizes(dp, tp, pp))

    def _silence(self) -> float:
        """Against members that say nothing, or are left out though they are there."""
        if self.problem.speaking.all():
            return 0.0
        unseen = c.SILENT + c.SILENT_UNASKED * (self.problem.opened < c.NOT_OPEN)
        return unseen if self.present.all() else c.IDLE

    def _sizes(self, dp: int, tp: int, pp: int) -> float:
        """Against sizes of dimensions that few jobs have."""
        out = c.TENSOR_ACROSS * (tp > self.placing.cut[0]) + c.WIDE_TENSOR * (tp > c.USUAL_HOST)
        out += c.NO_REPLICAS * (dp == 1) * min(float(np.log2(self.n)) / c.SURE_OF_REPLICAS, 1)
        out += c.ONLY_STAGES * (pp == self.n > 2)
        return out + c.DEEP * max(float(np.log2(pp / c.USUAL_STAGES)), 0.0)

    def _ways_needed(self) -> float:
        """How many ways a reduction takes through each host, where one would do: as many reductions, one on each rail."""
        out = [1.0]
        at, axes = self.placing.at, (0, 1, 3)
        for family, kind in zip(self.found, self.kinds, strict=True):
            if kind == "dp" and family[0].form != "two cube":
                distinct = np.unique(np.hstack([at[family.ends[:, 0]][:, axes], at[family.ends[:, 1]][:, axes]]), axis=0)
                out.append(len(family.ends) / len(distinct))
        return max(out)

    def _algorithms_differ(self) -> bool:
        """Whether some groups reduce all with all, and others in rings or by halving.

        The same groups may do both, as where a library gathers in one way and reduces in another.
        """
        direct, others = set[Members](), set[Members]()
        for family, kind in zip(self.found, self.kinds, strict=True):
            if kind in ("dp", "edp", "tp", "cp") and len(family[0].members) > 2:
                (direct if family[0].form == "two clique" else others).update(one.members for one in family)
        return bool(others) and (bool(direct - others) or bool(direct and others - direct))

    def _twins_differ(self) -> float:
        """How much the octets of gradients differ between tensor-parallel twins, which reduce the same."""
        moved = np.zeros(len(self.present))
        for family, kind in zip(self.found, self.kinds, strict=True):
            if kind in ("dp", "edp"):
                for one in family:
                    for (u, v), octets in one.edges.items():
                        moved[u] += octets
                        moved[v] += octets
        twin = self.placing.alike((0, 2, 3))[self.present]
        low, high = np.full(twin.max() + 1, np.inf), np.zeros(twin.max() + 1)
        np.minimum.at(low, twin, moved[self.present])
        np.maximum.at(high, twin, moved[self.present])
        seen = high > 0
        differ = float(np.median((high - low)[seen] / high[seen])) if seen.any() else 0.0
        return differ if differ > c.TWINS_NEAR else 0.0

    def _groups(self, sub: Mapping[Kind, int], apart: bool) -> Iterator[tuple[Kind, Members]]:
        yield from (("tp", own) for own in self._sets(self.tp))
        yield from (("pp", own) for own in self._sets(self.pp))
        if not apart:
            yield from (("dp", own) for own in self._sets(self.plane))
        planes = self._sets(self.plane)
        if sub["cp"] > 1:
            yield from (("cp", own) for own in self._sets(self._parts(self._own_edges("cp"))))
        if sub["ep"] > 1:
            experts = self._sets(self._parts(self._own_edges("ep")))
            yield from (("ep", own) for own in experts)
            for plane in planes:
                inner = [self._in_order(own) for own in experts if own <= plane]
                if "edp" in self.kinds:
                    reduced = [own for own in self._sets(self._parts(self._own_edges("edp"))) if own <= plane]
                    yield from (("dp", own) for own in reduced)
                elif len(inner) > 1 and len({len(own) for own in inner}) == 1:
                    yield from (("dp", frozenset(own)) for own in zip(*inner, strict=True))

    def _in_order(self, own: Members) -> list[int]:
        return sorted(own, key=lambda e: (*self.placing.at[e][[0, 3, 2, 1]].tolist(), e))

    def _sets(self, parts: Parts) -> list[Members]:
        by: dict[int, list[int]] = defaultdict(list)
        for member in np.flatnonzero(self.present).tolist():
            by[int(parts[member])].append(member)
        return [frozenset(own) for own in by.values() if len(own) > 1]
