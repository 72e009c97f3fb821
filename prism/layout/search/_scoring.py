"""Score one hypothesis: log-likelihoods of all evidence, and priors of common practice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from prism.evidence.families import Family
from prism.evidence.host_lockstep import Lockstep
from prism.evidence.member_graphs import connected, unjoined
from prism.layout import constants as c
from prism.layout.constants import Kind
from prism.layout.features.likelihood import USED, lasts, lockstep_fit, rounds_fit, together_fit, usual
from prism.layout.features.size_ratios import crossing, may_halve, parted, several_sizes, sharded
from prism.layout.search._member_groups import Division, Groups, Parts
from prism.layout.search.complete_layout import Hypothesis, no_replicas
from prism.layout.search.placement import Placing
from prism.layout.search.problem import Problem
from prism.loops.arrays.group_sums import distinct


class Scored:
    """Compute the features of one assignment of kinds to families. `hypothesis` returns the result."""

    def __init__(
        self, problem: Problem, placing: Placing, found: Sequence[Family], kinds: tuple[Kind, ...], fits: float, within: bool
    ) -> None:
        self.within = within  # whether inner dimensions of the plane continue inside hosts
        self.problem, self.placing, self.found, self.kinds = problem, placing, found, kinds
        self.division, self._of = Division(placing, problem.kept), partial(_places, kinds)
        self.n = len(placing.hosts)
        self.inside = 2 if placing.cut[1] > 1 else 0  # axis of hosts with data-parallel ranks
        self.scattered = self.division.known(lambda: len(np.unique(placing.hosts)) > len(set(problem.hosts)), "scattered")
        self.apart = 0.0
        if placing.regular:
            self.plane = self._parts(self._of("dp", "edp", "ep", "cp"), self.inside)
            self.tp, self.pp = self._parts(self._of("tp"), 1), self._parts(self._of("pp"), 3)
        else:  # coordinates are those of the whole job: they define the groups
            self.plane, self.tp, self.pp = groups = self.division.known(
                lambda: tuple(problem.kept.one(placing.alike(axes)) for axes in ((1, 3), (2, 3), (1, 2))), "groups"
            )
            self.apart = self.division.known(
                lambda: sum(unjoined(own, problem.pairs, placing.hosts) for own in groups), "apart"
            )
        self.features: dict[str, float] = defaultdict(float, fit=fits)

    def _parts(self, places: tuple[int, ...], axis: int, apart: int = 1) -> Parts:
        """Join members by some families, and by steps of `apart` along a host's axis if it is above 0."""

        def find() -> Parts:
            pairs = [self.found[i].joins for i in places]
            inside = [self.division.known(partial(self.placing.links, axis, apart), "links", axis, apart)] if axis else []
            return self.problem.kept.one(connected(self.n, np.concatenate([np.zeros((0, 2), np.int64), *pairs, *inside])))

        return self.division.known(find, "parts", places, axis, apart)

    def hypothesis(self, least: float = -np.inf) -> Hypothesis | None:
        """Compute the layout and all features; None if its score is below `least` already with part of them.

        The other features hardly raise a score: most of them are penalties.
        """
        self.features["unjoined"] = self.apart
        if self._so_far() < least:
            return None
        (dp, a), (tp, b), (pp, d) = self.division.sized(self.plane), self.division.sized(self.tp), self.division.sized(self.pp)
        self.features["uneven"], self.features["product"] = a + b + d, abs(float(np.log(dp * tp * pp / self.n)))
        if self._so_far() < least:
            return None
        self._grid(tp, pp)
        self.features["misplaced"] = self._misplaced()
        if self._so_far() < least:
            return None
        self.features |= self.paces(self.placing.cut[1] if self._mates else 1)
        self.features["in_turn"] = self.problem.in_turn(self.found, self.kinds)
        sub = self._nested(dp)
        if self._so_far() < least:
            return None
        self.features |= {name: float(value) for name, value in self._habits(dp // sub["cp"], tp, pp) if value}
        apart = "ep" in self.kinds and "edp" in self.kinds and "dp" not in self.kinds
        if apart:  # no reduction spans the plane: experts are a dimension of their own
            self.features["product"] += dp != sub["edp"] * sub["ep"]
            dp = sub["edp"]
        layout = {"dp": max(dp // sub["cp"], 1), "pp": pp, "tp": tp, "ep": sub["ep"], "cp": sub["cp"]}
        groups = tuple(chain.from_iterable(self._groups(sub, apart)))
        return Hypothesis(layout, groups, self.placing, self.kinds, self.found, dict(self.features), self.paces)

    def _so_far(self) -> float:
        return sum(c.WEIGHTS[name] * value for name, value in self.features.items()) + usual(self.kinds)

    def _grid(self, tp: int, pp: int) -> None:
        """Score the grid: groups of two dimensions share at most one member, and stages form chains."""
        for one, other in combinations((self.plane, self.tp, self.pp), 2):
            self.features["uneven"] += self.division.shared(one, other)
        if own := self._of("pp"):  # one kind of traffic that joins them all may close them to rings
            pairs, ends = self.division.known(partial(self._piped, own), "piped", own)
            joined = self._parts((max(own, key=lambda i: self.found[i].octets),), 3)
            pipelines = len(np.unique(self.pp[ends]))
            closed = pairs - len(ends) + pipelines * (len(np.unique(joined[ends])) > pipelines)
            twice = partial(self.problem.leaves_twice, [self.found[i] for i in own], self.pp)
            self.features["not_nested"] += closed > 0 or (self.placing.cut[2] > 1 and self.division.known(twice, "twice", own))
        self.features["not_nested"] += ("pp" in self.kinds and pp == 1) + ("tp" in self.kinds and tp == 1)

    def _piped(self, places: tuple[int, ...]) -> tuple[int, NDArray[np.int64]]:
        """Number of pairs that exchange in some families, and the members of these pairs."""
        low, high = np.sort(np.vstack([self.found[i].ends for i in places]), axis=1).T
        return len(distinct(low * self.n + high)), distinct(np.concatenate([low, high]))

    def _misplaced(self) -> float:
        """Share of the octets between members at different places of their hosts.

        A tensor-parallel rank hands over to the rank at the same place. Members of other dimensions share their place.
        """
        apart = 0.0
        piped, twins = ((1, 2), (3,)) if self.placing.regular else ((1, 2), (2, 3))
        own = {"pp": piped, "tied": piped, "tp": twins}
        for family, kind in zip(self.found, self.kinds, strict=True):
            if kind != "none":
                apart += self.division.between(family, own.get(kind, (1, 3)))
        return apart / sum(family.octets for family in self.found)

    @cached_property
    def _hosts_of_plane(self) -> int:
        """The number of hosts of most members' data-parallel groups."""

        def find() -> int:
            hosts = np.bincount(distinct(self.plane * self.n + self.placing.hosts) // self.n)
            return int(np.bincount(hosts[self.plane]).argmax())

        return self.division.known(find, "hosts", id(self.plane))

    @property
    def _reducing(self) -> list[Family]:
        """Families that reduce gradients over the plane."""
        return [self.found[i] for i in self._of("dp")]

    @cached_property
    def _reduced(self) -> Family | None:
        """The largest family that reduces gradients over the plane."""
        return max(self._reducing, key=lambda family: family.octets, default=None)

    def paces(self, bound: int) -> dict[str, float]:
        """Score the times at which members of one host act, if so many neighbours share context or experts in each layer.

        `bound`: so many hand over like tensor twins, as experts return tokens last. After context is gathered each works alone.
        """
        own = (self.tp, self.plane, self.pp) if self.scattered else (self._parts(self._of("dp", "edp", "ep", "cp"), 0),)
        place = bound, *map(id, own)
        out = {
            "lockstep": self.division.known(partial(self._lockstep, bound), "lockstep", *place),
            "together": self.division.known(partial(self._together, bound), "together", self._reduced, *place),
        }
        if not self.scattered and max(self.placing.cut[:2]) > 1:
            at = self.division.known(lambda: self.placing.at // np.array([1, 1, bound, 1]), "at", bound)
            out |= self.division.known(partial(self.problem.twins_closer, self.found, at), "closer", bound)
        return out

    def _lockstep(self, bound: int) -> float:
        """Score the offsets inside hosts: tensor twins move together, stages are apart by part of the step."""
        seen = self.problem.lockstep
        every = (self._relation(seen), seen), self._handed(bound)
        return sum(lockstep_fit(*own, self.problem.dimensions) for own in every if len(own[0]))

    def _together(self, bound: int) -> float:
        """Score which members of one host start to reduce gradients at one instant, and which start to hand over."""
        reduced = self._reduced
        seen = self.problem.compared([reduced] if reduced else [], self.problem.hosts)
        relation = self._relation(seen)
        if reduced is not None and self.problem.at_once(reduced):
            relation[(relation == c.REPLICAS) | (relation == c.RAILS)] = c.WAITING
        every = (relation, seen), self._handed(bound)
        return sum(together_fit(*own, self.problem.uneven, self.problem.dimensions) for own in every)

    def _handed(self, bound: int) -> tuple[Parts, Lockstep]:
        """Relation of each pair that hands over, and the pairs."""
        return np.array(c.HANDED)[self._relation(self.problem.handed, bound)], self.problem.handed

    def _relation(self, seen: Lockstep, bound: int = 1) -> Parts:
        """Relation of each pair of members of one host, as in `lockstep_fit`; so many as `bound` act like twins."""
        if self.scattered:
            tensor, data, stage = (part[seen.first] == part[seen.second] for part in (self.tp, self.plane, self.pp))
            return np.where(tensor, 1, np.where(data, c.REPLICAS, c.STAGE * stage))
        relation = self.division.known(partial(self._placed, seen, bound), "placed", id(seen), bound)
        reducing = self._parts(self._of("dp", "edp", "ep", "cp"), 0)
        apart = reducing[seen.first] != reducing[seen.second]
        return np.where((relation == c.REPLICAS) & apart, c.RAILS, relation)

    def _placed(self, seen: Lockstep, bound: int) -> Parts:
        """Relation of each pair by its places in the host."""
        at = self.placing.at // np.array([1, 1, bound, 1])
        tensor, data, stage = (at[seen.first] != at[seen.second]).T[1:]
        return np.where(stage, c.STAGE, np.where(data, np.where(tensor, 4, c.REPLICAS), 1))

    def _nested(self, dp: int) -> dict[Kind, int]:
        """Compute the sizes of the dimensions inside the data-parallel plane, and score how they fit into it."""
        sub: dict[Kind, int] = {"ep": 1, "cp": 1, "edp": 1}
        add = self.features
        if tied := self._of("tied"):  # the first and the last stage of one pipeline
            u, v = np.vstack([self.found[i].ends for i in tied]).T
            add["not_nested"] += float(np.mean((self.pp[u] != self.pp[v]) | (np.bincount(self.pp)[self.pp[u]] < 2)))
        add["uses"] = len(USED & set(self.kinds))
        add["strided"] = float("tp" in self.kinds and self.inside > 0)
        for kind in [kind for kind in sub if kind in self.kinds]:
            sub[kind], uneven = self.division.sized(self._inner(kind))
            add["strided"] += self.division.strided(self.plane, self._inner(kind)) * (kind != "edp")
            add["uneven"] += uneven
            add["not_nested"] += dp % sub[kind] > 0
        if "edp" in self.kinds and "ep" not in self.kinds:  # experts exchange inside hosts
            sub["ep"] = max(dp // sub["edp"], 1)
            reduced = self._inner("edp")
            place = self.division.neighbours(self.plane, sub["ep"])[1]
            alike = np.bincount(reduced * self.n + place, minlength=self.n**2).reshape(self.n, -1).max(axis=1).sum()
            add["uneven"] += 1 - float(alike) / self.n + (sub["ep"] < 2)  # the same experts have the same place
            add["not_nested"] += self.placing.cut[1] % sub["ep"] > 0
        if "ep" in self.kinds:
            experts, replicas, contexts = (self._inner(kind) for kind in ("ep", "edp", "cp"))
            add["not_nested"] += not self._exchanges(sub["ep"])
            if "edp" in self.kinds:  # ranks that hold the same experts exchange no tokens
                add["uneven"] += self.division.shared(experts, replicas)
            else:
                same = self.division.replicas(self.plane, experts)
                sizes = self.division.known(lambda: len(several_sizes(self._reducing)), "sizes", self._of("dp"))
                add["unreduced"] += any(len({self.placing.hosts[m] for m in own}) > 1 for _, own in same) and sizes < 2
            if "cp" in self.kinds:  # frameworks divide contexts among experts, or experts among contexts
                add["not_nested"] += not self.division.nested(experts, contexts)
        add["unreduced"] += "dp" not in self.kinds and ("cp" in self.kinds or ("ep" in self.kinds and "edp" not in self.kinds))
        return sub

    def _exchanges(self, experts: int) -> bool:
        """Check whether so many experts exchange all with all, in one family or in all: unequal loads make several of them."""
        every, sizes = self._of("ep"), np.bincount(self._parts(self._of("ep"), 0))
        own = [i for i in every if self.found[i][0].form in c.EXCHANGES]
        whole = 2 * self.division.known(partial(self._piped, every), "piped", every)[0] == int(sizes @ (sizes - 1))
        return whole or any(int(np.bincount(self._parts((i,), self._going_on("ep"))).max()) == experts for i in own)

    def _inner(self, kind: Kind) -> Parts:
        """Join members by the families of a dimension inside the data-parallel plane."""
        places, axis = self._of(kind), self._going_on(kind)
        if kind != "edp" or not axis:
            return self._parts(places, axis)
        return self._parts(places, axis, self.placing.distance(np.vstack([self.found[i].ends for i in places])))

    @cached_property
    def _mates(self) -> bool:
        """Whether the data-parallel ranks of a host share context or experts: all of the host works in lockstep."""
        return any(self._going_on(kind) for kind in ("cp", "ep"))

    def _going_on(self, kind: Kind) -> int:
        """The axis of hosts along which an inner dimension, or what members relay, continues inside hosts; 0 if it does not."""
        if any(self.found[i].opened for i in self._of(kind)):
            return self.inside
        if not self.within or kind not in ("cp", "ep"):
            return 0
        off_rail = any(self.division.between(self.found[i], (2,)) for i in self._of(kind))  # at another place of other hosts
        return self.inside * (not off_rail)

    def _habits(self, dp: int, tp: int, pp: int) -> Iterator[tuple[str, float]]:
        """Yield features of unusual layouts, independent of the traffic's likelihood."""
        tensor, data, stages = self.placing.cut
        yield "relayed", self.within and not all(self.found[i].opened for i in self._of("cp", "ep"))
        if self.placing.regular:
            rings = all(family[0].form == "two pair" for family in self._reducing)  # two members may also form a ring
            through = self._rounds()
            levels = data > 1 and through <= 0 and self._ways_needed() > c.MORE_WAYS
            halves = any(may_halve(family, self._hosts_of_plane) for family in self._reducing)
            yield "halving", data > 1 and data & (data - 1) == 0 and halves and not (rings or levels)
            yield "rounds", through * (not levels)
            alone = pp == 1 and {*self.kinds} == {"dp"} and not through and lasts(self._reducing)
            yield "in_levels_long" if alone else "in_levels", levels and tensor == 1
            yield "stages_in_host", stages > 1
            yield "no_tensor", tp == 1 and pp > 1 and data > 1
            yield "part_of_host", tensor > 1 and data > 1 and not self._mates
        yield "odd_tensor", tp & (tp - 1) > 0
        yield "unforeseen", self._unforeseen()
        yield "sharded", self._sharded
        yield "no_replicas", no_replicas(dp, self.n, "cp" in self.kinds)

    def _unforeseen(self) -> float:
        """Sum of the shares of octets of families that no algorithm foretells for their groups; experts exchange at will."""
        inner, out = {kind: self._inner(kind) for kind in ("edp", "cp") if kind in self.kinds}, 0.0
        for kinds, parts in ((("dp", "edp"), [self.plane]), (("tp",), [self.tp]), (("cp",), [])):
            if own := self._of(*kinds):
                parts += [inner[kind] for kind in kinds if kind in inner]
                axes = sorted({0, self.inside}) if "dp" in kinds and self._sharded > 0 else []
                parts += [self._parts((i,), axis) for i in own for axis in axes]
                out += self._left(own, parts, kinds[0] != "cp")
        return out

    @cached_property
    def _sharded(self) -> float:
        """How clearly families move and reduce shards of the plane; below 0 if not, or if groups of one kind cross or nest."""

        def size(own: tuple[int, ...], axis: int, some: Sequence[int]) -> int:
            places = tuple(own[i] for i in some)
            return self.division.sized(self._parts(places, axis * any(self.found[i].opened for i in places)))[0]

        own, tensor, whole = self._of("dp"), self._of("tp"), self.division.sized(self.plane)[0]
        cross = partial(crossing, [self.found[i] for i in tensor], partial(size, tensor, 0))
        part = partial(parted, self._reducing, partial(size, own, self.inside))
        out = c.NO_SHARDS * (self.division.known(cross, "crossing", tensor) + self.division.known(part, "parted", own))
        if {"cp", "ep", "edp"} & set(self.kinds):
            return out
        found = partial(sharded, self._reducing, whole, partial(size, own, self.inside), self.problem.hosts)
        return out + self.division.known(found, "sharded", own, whole)

    def _left(self, own: tuple[int, ...], parts: Sequence[Parts], reduce: bool) -> float:
        exchanged = self.problem.exchanged([self.found[i] for i in own], self._reduced)
        orders = {id(one): one for one in map(self.division.ranked, parts)}
        left = partial(exchanged.unforeseen, list(orders.values()), reduce)
        return self.division.always(left, "left", id(exchanged), reduce, frozenset(orders))

    def _rounds(self) -> float:
        """Log-odds by the number of their messages that rings which reduce gradients go on through hosts."""
        parts = [(self.found[i][0], self.plane if self.kinds[i] == "dp" else self._inner("edp")) for i in self._of("dp", "edp")]
        rings = [(one, self.division.sized(own)[0]) for one, own in parts if one.form == "one cycle" or one.opened]
        return sum(rounds_fit(one.rounds, len(one.edges), size) for one, size in rings)

    def _ways_needed(self) -> float:
        """Parallel ways of a reduction through each host where one would do: one reduction per rail."""
        reduced = [i for i in self._of("dp") if not may_halve(self.found[i], self._hosts_of_plane)]
        if any(own[0].form == "two clique" and len(own[0].members) > self._hosts_of_plane for own in self._reducing):
            return 1.0  # all exchange with all
        return max([1.0, *(self.division.ways(self.found[i]) for i in reduced)])

    def _groups(self, sub: Mapping[Kind, int], apart: bool) -> Iterator[Groups]:
        """Yield the groups of each dimension; members that share a group are in order."""
        yield self.division.sets("tp", self.tp)
        yield self.division.sets("pp", self.pp)
        if not apart:
            yield self.division.sets("dp", self.plane)
        if sub["cp"] > 1:
            yield self.division.sets("cp", self._inner("cp"))
        if sub["ep"] > 1:
            seen, reduced = "ep" in self.kinds, "edp" in self.kinds
            experts = self._inner("ep") if seen else self.division.neighbours(self.plane, sub["ep"])[0]
            yield self.division.sets("ep", experts)
            if reduced and sub["ep"] * sub["edp"] == self.division.sized(self.plane)[0]:
                yield self.division.within(self.plane, self._inner("edp"))
            else:
                yield self.division.replicas(self.plane, experts)


@lru_cache
def _places(every: tuple[Kind, ...], *kinds: Kind) -> tuple[int, ...]:
    """Indices of the families of some kinds."""
    return tuple(i for i, kind in enumerate(every) if kind in kinds)
