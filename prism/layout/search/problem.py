"""Collect the evidence of one job: its members, their placement, and their communicators."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log2

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows
from prism.evidence.communicators import Communicator, communicators
from prism.evidence.families import Family, families
from prism.evidence.host_lockstep import Lockstep, lockstep_of
from prism.evidence.member_graphs import connected
from prism.evidence.step_period import Steps, steps_of
from prism.evidence.stream_periods import Rhythms, rhythms_of
from prism.evidence.streams import Streams, streams_of
from prism.layout import constants as c
from prism.layout.constants import KINDS, Kind
from prism.layout.features.foretold_edges import Exchanged
from prism.layout.features.handover_paces import forward, other_data, stages, twins_closer
from prism.layout.features.likelihood import fit
from prism.layout.features.message_times import at_once, turns
from prism.layout.features.size_ratios import are_rounds
from prism.layout.search._member_groups import Kept
from prism.layout.search.placement import Placing
from prism.steps.constants import PARTS_OF_LIFE
from prism.steps.record_sequences import recurs
from prism.topology import Topology


@dataclass(frozen=True, eq=False)
class Problem:
    """Evidence about `members`, in order of host and rail; some of them may send no payload."""

    members: tuple[str, ...]
    hosts: tuple[int, ...]
    rails: tuple[int, ...]
    streams: Streams
    steps: Steps
    rhythms: Rhythms
    found: Sequence[Communicator]
    kept: Kept = field(default_factory=Kept)
    _fits: dict[Family, dict[Kind, float]] = field(default_factory=dict)
    _compared: dict[tuple[object, ...], Lockstep] = field(default_factory=dict)  # by families and parts
    _times: dict[tuple[object, ...], float] = field(default_factory=dict)  # by families
    _exchanged: dict[tuple[object, ...], Exchanged] = field(default_factory=dict)
    _forward: dict[Family, NDArray[np.int64]] = field(default_factory=dict)  # pairs that hand over (`handover_paces`)

    @cached_property
    def per_host(self) -> int:
        """The largest number that divides the number of members of every host."""
        return int(np.gcd.reduce(list(Counter(self.hosts).values())))

    @cached_property
    def families(self) -> list[Family]:
        """Families of communicators on the wire, the largest first."""
        return self._weighty(families(self.found, self.steps, self.hosts))

    def fits(self, family: Family) -> dict[Kind, float]:
        """Log-likelihood of a family for each kind; "none" means that it serves no dimension."""
        if family not in self._fits:
            share = family.octets / self.octets
            unused = c.UNEXPLAINED * min(share / c.FEW_OCTETS, 1.0) + c.UNEXPLAINED_SHARE * share
            beside = sum(one.octets for one in self.families if one is not family and self._one_operation(one, family))
            part = family.octets / (family.octets + beside)
            found = fit(family, share, self.handed_runs(family))
            self._fits[family] = {kind: part * own for kind, own in found.items()} | {"none": unused}
        return self._fits[family]

    def handed_runs(self, family: Family) -> float:
        """Runs per step of what other families rather hand over, judged alone; 0 if none does, or `family` does so itself."""
        runs = {one: one.rhythm.runs for one in self._handing}
        return 0.0 if family in runs else max(runs.values(), default=0.0)

    @cached_property
    def _handing(self) -> list[Family]:
        weighty = [one for one in self.families if one.octets >= c.FEW_OCTETS * self.octets]
        alone = [fit(one, one.octets / self.octets) for one in weighty]
        return [one for one, fits in zip(weighty, alone, strict=True) if max(fits, key=lambda kind: fits[kind]) == "pp"]

    def _one_operation(self, one: Family, other: Family) -> bool:
        """Check whether two families are parts of one reduction; parts of a tree only where hosts hide nothing."""
        hidden = len(set(self.hosts)) < len(self.members)
        return are_rounds(one, other) or (not hidden and are_rounds(one, other, branches=True))

    def leaves_twice(self, found: Sequence[Family], pipelines: NDArray[np.int64]) -> bool:
        """Check whether a pipeline leaves a host twice more than it enters it, or the reverse: then these are two pipelines.

        `pipelines`: the number of each member's.
        """
        src, dst = self._hands_over(found)
        ends = np.concatenate([src, dst])
        at = np.unique(pipelines[ends] * len(pipelines) + np.array(self.hosts)[ends], return_inverse=True)[1]
        return bool(np.abs(np.bincount(at, np.repeat([1, -1], len(src)))).max(initial=0) > 1)

    def _hands_over(self, found: Sequence[Family]) -> NDArray[np.int64]:
        """Pairs of members of some families that clearly hand over, int64[2, pairs]: from the first to the second."""
        for family in found:
            if family not in self._forward:
                self._forward[family] = forward(family, self.steps)
        return np.concatenate([self._forward[family] for family in found], axis=1)

    def likeliest(self, family: Family) -> Kind:
        """Return the kind that fits a family best."""
        fits = self.fits(family)
        return max(KINDS, key=lambda kind: fits[kind])

    @cached_property
    def lockstep(self) -> Lockstep:
        """Offsets between members of one host that send the same. Scalars that all ranks reduce show no dimension."""
        weighty = [family for family in self.families if family.octets >= c.FEW_OCTETS * self.octets]
        collective = [family for family in weighty if self.likeliest(family) != "pp"]
        return self.compared([one for one in collective if self.likeliest(one) != "tied"] or collective, self.hosts)

    @cached_property
    def handed(self) -> Lockstep:
        """Offsets between members of one host that hand over the same. Collectives bind their members more closely."""
        return self.compared([family for family in self.families if self.likeliest(family) == "pp"], self.hosts)

    @cached_property
    def uneven(self) -> bool:
        """Whether steps differ in duration. In a job without any variation all members move in lockstep."""
        whole = np.diff(self.steps.bounds[1:-1])
        return len(whole) > 1 and float(np.median(np.abs(whole - np.median(whole)))) > c.FINEST * self.steps.period

    @cached_property
    def dimensions(self) -> float:
        """Independent relations inside a host, of two ranks each."""
        return float(np.log2(np.bincount(self.hosts).max()))

    def compared(self, found: Sequence[Family], parts: tuple[int, ...]) -> Lockstep:
        """Offsets between members of one part in some families; `parts`: the number of each member's part, or its host."""
        key = (*found, parts)
        if key not in self._compared:
            self._compared[key] = lockstep_of([one for family in found for one in family], parts, self.steps)
        return self._compared[key]

    def exchanged(self, found: Sequence[Family], reduced: Family | None) -> Exchanged:
        """Pairs of members that exchange messages of some families; `reduced` is the largest that reduces gradients."""
        in_shards = self._joined_before(reduced)
        key = (*found, in_shards)
        if key not in self._exchanged:
            self._exchanged[key] = Exchanged(found, np.array(self.hosts), in_shards)
        return self._exchanged[key]

    def twins_closer(self, found: Sequence[Family], at: NDArray[np.int64]) -> dict[str, float]:
        """Features of how much closer in time twins of the placing `at` hand over than replicas do (`handover_paces`).

        All hypotheses compare what looks like hand-overs and reductions.
        """
        likeliest = [self.likeliest(family) for family in found]
        handed = [family for family, kind in zip(found, likeliest, strict=True) if kind == "pp"]
        if not handed:
            return {}
        reduce: Kind = "dp" if "dp" in likeliest else "tied"
        reduced = [family for family, kind in zip(found, likeliest, strict=True) if kind == reduce]
        pipeline, replicas = (
            connected(len(self.members), np.concatenate([np.zeros((0, 2), np.int64), *(family.joins for family in own)]))
            for own in (handed, reduced)
        )
        inside, beyond = (self.compared(handed, own) for own in (self.hosts, tuple(replicas.tolist())))
        apart = np.all([part[beyond.first] != part[beyond.second] for part in (pipeline, np.array(self.hosts))], axis=0)
        if reduce == "tied":  # it joins the first stage with the last
            stage = stages(self._hands_over(handed), len(self.members))
            apart &= stage[beyond.first] == stage[beyond.second]
        chains = (family for family in found if family in handed or family[0].form == "two path")
        sizes = {member: own for family in chains for member, own in family.varying.items()}
        return twins_closer(inside, beyond.of(apart), at) | other_data(sizes, self.hosts, at)

    def in_turn(self, found: Sequence[Family], kinds: Sequence[Kind]) -> float:
        """Score whether inner dimensions take turns with one another many times a step, and reductions of gradients do not.

        Log2 of the turns, less that of even odds (`message_times`); octets weigh the families of both. Little octets may be
        scalars.
        """
        key = *found, *kinds
        if key not in self._times:
            self._times[key] = self._in_turn(found, kinds)
        return self._times[key]

    def _in_turn(self, found: Sequence[Family], kinds: Sequence[Kind]) -> float:
        weighty = [i for i, family in enumerate(found) if family.octets >= c.FEW_OCTETS * self.octets]
        inner, out = [i for i in weighty if kinds[i] in ("pp", *c.INNER)], 0.0
        for sign, own in ((1, c.INNER), (-1, ("dp", "edp"))):
            often = [(self._turns(found, i, tuple(k for k in inner if k != i)), i) for i in weighty if kinds[i] in own]
            if known := [(min(max(log2(number), -c.MOST_TURNS), 1), found[i].octets) for number, i in often if number]:
                octets = sum(moved for _, moved in known)
                out += sign * sum((turns + c.EVEN_TURNS) * moved for turns, moved in known) / octets
        return out

    def _turns(self, found: Sequence[Family], one: int, others: tuple[int, ...]) -> float:
        key = tuple(found[i] for i in (one, *others))
        if key not in self._times:
            self._times[key] = turns(found[one], [found[i] for i in others], self.steps.count)
        return self._times[key]

    def _joined_before(self, family: Family | None) -> bool:
        """Whether most members of a host that send the same of a family start at one instant: an operation joined them."""
        key = ("joined before", family)
        if key not in self._times:
            together = self.compared([family] if family else [], self.hosts).together
            self._times[key] = bool(2 * np.count_nonzero(together >= c.TOGETHER) > len(together))
        return bool(self._times[key])

    def at_once(self, family: Family) -> bool:
        """Whether both directions of a family's exchanges start at one instant (`message_times`)."""
        key = ("at once", family)
        if key not in self._times:
            self._times[key] = at_once(family, self.steps.period)
        return bool(self._times[key])

    @cached_property
    def octets(self) -> float:
        """Octets of all communicators."""
        return sum(one.octets for one in self.found)

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """Pairs of members that exchange payload; int64[n, 2]."""
        return np.array(sorted({(min(pair), max(pair)) for one in self.found for pair in one.edges}), np.int64).reshape(-1, 2)

    @cached_property
    def opened(self) -> float:
        """Share of the octets in communicators that enter a host at one member and leave it at another."""
        return sum(one.octets for one in self.found if one.opened) / self.octets

    def through(self, placing: Placing) -> list[Family]:
        """Return the families if communicators may continue inside hosts from one data-parallel rank to the next."""
        if placing.cut[1] == 1 or not self.opened:
            return self.families
        closed = [one for one in self.found if not one.opened]
        open_streams = [s for one in self.found if one.opened for s in one.streams]

        def inside(ends: NDArray[np.int64]) -> NDArray[np.int64]:
            return placing.links(2, placing.distance(ends), np.unique(ends))

        joined = communicators(open_streams, self.rhythms, self.steps, self.hosts, inside)
        return self._weighty(families([*closed, *joined], self.steps, self.hosts))

    def _weighty(self, found: list[Family]) -> list[Family]:
        """Keep families with enough octets, or with traffic throughout the step.

        Others span all dimensions: all ranks reduce the loss and the norm of the gradients.
        """
        return [f for f in found if f.octets >= c.WEIGHTY * self.octets or f.rhythm.runs > c.SCALARS][: c.MOST_FAMILIES]


def problem_of(flows: Flows, endpoints: Sequence[str], topology: Topology | None) -> Problem | None:
    """Build the evidence of a job from its records.

    Parameters
    ----------
    flows : Flows
        Records that include those of the job.
    endpoints : sequence of str
        Ranks, also those without traffic.
    topology : Topology or None
        Host and rail of the ranks; without it every rank has its own host.

    Returns
    -------
    Problem or None
        None if nothing repeats, or if there are too many streams or communicators to compare.
    """
    host = {e: (topology.host(e) if topology is not None else None) or e for e in endpoints}
    rail = {e: topology.rail(e) if topology is not None else 0 for e in host}
    members = tuple(sorted(host, key=lambda e: (_natural(host[e]), rail[e], e)))
    number = {name: i for i, name in enumerate(dict.fromkeys(host[e] for e in members))}
    hosts = tuple(number[host[e]] for e in members)
    streams = _recurring(streams_of(flows, members, origin=flows.window[0]))
    steps = steps_of(streams) if 0 < len(streams) <= c.MOST_STREAMS * max(len(members), c.ALL_TO_ALL) else None
    if steps is None:
        return None
    rhythms = rhythms_of(streams, steps)
    found = communicators(streams, rhythms, steps, hosts)
    if len(found) > c.MOST_COMMUNICATORS * len(members):
        return None
    return Problem(members, hosts, tuple(rail[e] for e in members), streams, steps, rhythms, found)


def _natural(name: str) -> tuple[object, ...]:
    """Return a key that orders names by the numbers in them: server2 before server10, as ranks are dealt out."""
    parts = re.split(r"0*([0-9]+)", name)
    return tuple((len(part), part) if i % 2 else part for i, part in enumerate(parts))


def _recurring(streams: Streams) -> Streams:
    """Keep recurrent streams, as in training. Broadcasts at the start and bulk copies are dropped."""
    if not streams:
        return streams
    _, start, _, octets = streams.records
    low, high = start.min(), start.max() + 1
    part = ((start - low) / (high - low) * PARTS_OF_LIFE).astype(np.int64)
    kept = recurs(np.repeat(np.arange(len(streams)), np.diff(streams.begins)), part, octets, len(streams))
    return streams if kept.all() else Streams(s for s, own in zip(streams, kept.tolist(), strict=True) if own)
