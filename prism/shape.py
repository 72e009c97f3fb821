"""The groups of a job and the sizes of its dimensions, from labelled collectives and pipelines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from collectors.record import Flows
from prism.kernels.lockstep import Collective
from prism.model import Group, GroupKind, Layout
from prism.topology import Topology

Members = frozenset[int]


class Shape:
    """The groups of a job and the sizes of its dimensions, from labelled collectives and pipelines."""

    def __init__(
        self,
        flows: Flows,
        members: list[int],
        host: Mapping[int, str | None],
        topology: Topology | None,
        kinds: list[tuple[GroupKind, Collective]],
        chains: list[list[int]],
        stage: Mapping[int, int],
    ) -> None:
        self.address = flows.endpoints
        self.members, self.host, self.stage, self.chains = members, host, stage, chains
        self.reductions = [one for kind, one in kinds if kind == "dp"]
        self.rail = {m: _rail(topology, flows.endpoints[m]) for m in members}
        self.sets: dict[GroupKind, list[Members]] = {
            kind: sorted({one.members for k, one in kinds if k == kind}, key=sorted) for kind in ("dp", "tp", "ep", "cp")
        }
        self.dp = _mode([len(s) for m in members for s in self._largest("dp", m)])
        self.pp = _mode([len(chain) for chain in chains for _ in chain])
        self.tp = _mode([len(s) for s in self.sets["tp"] for _ in s])
        self.ep = _mode([len(s) for s in self.sets["ep"] for _ in s])
        self.cp = _mode([len(s) for s in self.sets["cp"] for _ in s])
        seen = self.dp * self.pp * self.tp
        self.hidden = len(members) // seen if len(members) % seen == 0 else 1
        self.placed = self._placed() if self.hidden > 1 else []

    def _largest(self, kind: GroupKind, member: int) -> list[Members]:
        own = [s for s in self.sets[kind] if member in s]
        return [max(own, key=len)] if own else []

    def _placed(self) -> list[tuple[int, ...]]:
        """Endpoints of one host and stage that no traffic joins: tensor parallel by placement, neighbours by rail."""
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

    def layout(self) -> Layout:
        """Sizes, with how far they agree with one another as confidence."""
        tp = self.tp * (self.hidden if self.placed or self.hidden > 1 else 1)
        whole = self.dp * self.pp * tp == len(self.members)
        even = [
            len({len(s) for m in self.members for s in self._largest("dp", m)}) <= 1,
            len({len(c) for c in self.chains}) <= 1,
            sum(len(c) for c in self.chains) in (0, len(self.members)),
            all(self._largest("dp", m) for m in self.members) or self.dp == 1,
            self.hidden == 1 or bool(self.placed),
            all(_closed(one, self.host) for one in self.reductions),
        ]
        confidence = (0.98 if whole else 0.5) * 0.7 ** even.count(False)
        dp = self.dp // self.cp if self.cp > 1 and self.dp % self.cp == 0 else self.dp
        return Layout(dp=dp, pp=self.pp, tp=tp, ep=self.ep, cp=self.cp, confidence=round(confidence, 3))

    def groups(self) -> tuple[Group, ...]:
        """Every group of two or more, the pipelines in order of stage."""
        sure = self.layout().confidence
        out = [Group(kind, self._names(sorted(s)), "traffic", sure) for kind, own in self.sets.items() for s in own]
        out += [Group("pp", self._names(chain), "traffic", sure) for chain in self.chains]
        out += [Group("tp", self._names(own), "placement", sure) for own in self.placed]
        return tuple(out)

    def _names(self, codes: list[int] | tuple[int, ...]) -> tuple[str, ...]:
        return tuple(self.address[code] for code in codes)


def _closed(one: Collective, host: Mapping[int, str | None]) -> bool:
    """Whether what goes into a collective's members comes out again, of each of them or of another in its host."""
    balance: Counter[int | str] = Counter()
    senders, receivers = {src for src, *_ in one.edges}, {dst for _, dst, *_ in one.edges}
    for node in senders - receivers:
        balance[host.get(node) or node] += 1
    for node in receivers - senders:
        balance[host.get(node) or node] -= 1
    return not any(balance.values())


def _rail(topology: Topology | None, address: str) -> int:
    found = topology.endpoints.get(address) if topology is not None else None
    return found.rail if found is not None and found.rail is not None else -1


def _mode(sizes: list[int]) -> int:
    """The commonest size, the larger of equals; 1 where there is none."""
    count = Counter(sizes)
    return max(count, key=lambda size: (count[size], size), default=1)
