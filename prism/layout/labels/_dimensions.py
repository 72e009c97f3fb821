"""Compute the groups of a job and the sizes of its dimensions from labelled collectives and pipelines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise

import numpy as np

from collectors.columns.record import Flows
from prism.layout import constants as c
from prism.loops.arrays.edges import Edge, Pair
from prism.loops.communicators.pair_lockstep import Collective
from prism.loops.communicators.parallel_handovers import own_pace
from prism.model import Group, GroupKind, Layout

Members = frozenset[int]


class Shape:
    """The groups of a job and the sizes of its dimensions, from labelled collectives and pipelines."""

    def __init__(
        self,
        flows: Flows,
        members: list[int],
        host: Mapping[int, str | None],
        rail: Mapping[int, int],
        kinds: list[tuple[GroupKind, Collective]],
        chains: list[list[int]],
        stage: Mapping[int, int],
        hands: Mapping[Pair, Edge],
    ) -> None:
        self.address = flows.endpoints
        self.members, self.host, self.rail, self.stage, self.chains = members, host, rail, stage, chains
        self.seen = {key[:2] for key in hands}
        self.reductions = [one for kind, one in kinds if kind == "dp"]
        self.sets: dict[GroupKind, list[Members]] = {
            kind: sorted({one.members for k, one in kinds if k == kind}, key=sorted) for kind in ("dp", "tp", "ep", "cp")
        }
        self.largest: dict[int, Members] = {}  # largest set that reduces gradients, by member
        for own in sorted(self.sets["dp"], key=len):
            self.largest |= {m: own for m in own if len(own) > len(self.largest.get(m, ()))}
        self.dp = _mode([len(self.largest[m]) for m in members if m in self.largest])
        self.pp = _mode([len(chain) for chain in chains for _ in chain])
        self.tp = _mode([len(s) for s in self.sets["tp"] for _ in s])
        self.ep = _mode([len(s) for s in self.sets["ep"] for _ in s])
        self.cp = _mode([len(s) for s in self.sets["cp"] for _ in s])
        seen = self.dp * self.pp * self.tp
        self.hidden = len(members) // seen if len(members) % seen == 0 else 1
        self.placed = self._placed() if self.hidden > 1 else []
        self.together = self._together(hands) if self.placed else self.hidden

    def _placed(self) -> list[tuple[int, ...]]:
        """Return endpoints of one host and stage that no traffic joins: parallel by placement, neighbours by rail."""
        at: dict[tuple[str, int], list[int]] = defaultdict(list)
        for m in self.members:
            if (host := self.host[m]) is not None:
                at[host, self.stage.get(m, 0)].append(m)
        groups = []
        for own in at.values():
            own.sort(key=lambda m: (self.rail[m], m))
            if len(own) % self.hidden:
                return []
            groups += [tuple(own[i : i + self.hidden]) for i in range(0, len(own), self.hidden)]
        joined = any(len(s & set(g)) > 1 for s in self.sets["dp"] for g in groups)
        return [] if joined or not groups else groups

    def _together(self, hands: Mapping[Pair, Edge], *, max_hosts: int = c.HANDING_HOSTS) -> int:
        """Return how many neighbours in one host hand over in step, as tensor-parallel ranks do; at most `max_hosts` are
        examined.

        If gradients are reduced between hosts, all of them do: replicas would show in those reductions.
        """
        sample = self.placed[:: max(len(self.placed) // max_hosts, 1)]
        on: dict[int, dict[int, Edge]] = defaultdict(dict)
        for (src, dst, *_), edge in hands.items():
            on[src][self.stage.get(dst, -1)] = edge
        begins = [0]
        for i in range(1, self.hidden if not self.reductions else 1):
            paces = [
                own_pace(on[one][stage].activity()[0], on[other][stage].activity()[0])
                for one, other in (group[i - 1 : i + 1] for group in sample)
                for stage in on[one].keys() & on[other].keys()
            ]
            known = [pace for pace in paces if not np.isnan(pace)]
            if known and np.median(known) >= c.OWN_PACE:
                begins.append(i)
        sizes = {high - low for low, high in pairwise([*begins, self.hidden])}
        return sizes.pop() if len(sizes) == 1 else self.hidden

    @cached_property
    def layout(self) -> Layout:
        """Sizes of the dimensions. The confidence is how well they agree with one another."""
        tp, dp = self.tp * self.together, self.dp * (self.hidden // self.together)
        whole = dp * self.pp * tp == len(self.members)
        even = [
            len({len(self.largest[m]) for m in self.members if m in self.largest}) <= 1,
            len({len(chain) for chain in self.chains}) <= 1,
            sum(len(chain) for chain in self.chains) in (0, len(self.members)),
            all(m in self.largest for m in self.members) or self.dp == 1,
            self.hidden == 1 or bool(self.placed),
            all(_closed(one, self.host) for one in self.reductions),
        ]
        confidence = (c.WHOLE_GRID if whole else c.EVEN) * c.EACH_ODDITY ** even.count(False)
        dp = dp // self.cp if self.cp > 1 and dp % self.cp == 0 else dp
        return Layout(dp=dp, pp=self.pp, tp=tp, ep=self.ep, cp=self.cp, confidence=round(confidence, 3))

    def groups(self) -> tuple[Group, ...]:
        """Return every group of two or more members, pipelines in order of stage."""
        confidence = self.layout.confidence
        out = [Group(kind, self._names(sorted(s)), "traffic", confidence) for kind, own in self.sets.items() for s in own]
        for chain in self.chains:
            seen = self.seen.issuperset(pairwise(chain))
            out.append(Group("pp", self._names(chain), "traffic" if seen else "placement", confidence))
        n = self.together
        for own in self.placed:
            tp = [own[i : i + n] for i in range(0, len(own), n)] if n > 1 else []
            dp = [own[i::n] for i in range(n)] if n < len(own) else []
            out += [Group("tp", self._names(one), "placement", confidence) for one in tp]
            out += [Group("dp", self._names(one), "placement", confidence) for one in dp]
        return tuple(out)

    def _names(self, codes: list[int] | tuple[int, ...]) -> tuple[str, ...]:
        return tuple(self.address[code] for code in codes)


def _closed(one: Collective, host: Mapping[int, str | None]) -> bool:
    """Check whether each member, or its host, sends as many of a collective's lanes as it receives."""
    balance: Counter[int | str] = Counter()
    senders, receivers = {key[0] for key in one.edges}, {key[1] for key in one.edges}
    for node in senders - receivers:
        balance[host.get(node) or node] += 1
    for node in receivers - senders:
        balance[host.get(node) or node] -= 1
    return not any(balance.values())


def _mode(sizes: list[int]) -> int:
    """Return the most frequent size, the larger of equals; 1 if there is none."""
    count = Counter(sizes)
    return max(count, key=lambda size: (count[size], size), default=1)
