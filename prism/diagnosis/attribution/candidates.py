"""List candidate causes of delays: a rank's own work, its host, a NIC, a link or switch."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from prism.graph import constants as g
from prism.graph.job_steps import Steps
from prism.graph.job_transfers import Transfers, passed_hosts
from prism.graph.new_delays import Delays
from prism.loops.arrays.group_sums import ranges
from prism.loops.arrays.intervals import Ints
from prism.loops.detection.transfer_delays import Codes
from prism.model import SubjectType

Cause = Literal["work", "network"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A cause, the parts it names, and the lanes whose transfers it may delay: as sender, as receiver.

    Own work delays the start of transfers, and the end of those that wait for these. The network delays transfers while they
    last.
    """

    cause: Cause
    subject: SubjectType
    ids: tuple[str, ...]
    sends: Ints  # numbers of lanes
    receives: Ints  # numbers of lanes
    way: str = ""
    as_one: bool = False  # whether the ranks of a host wait for each other, so that one slow rank makes all of them slow

    @cached_property
    def lanes(self) -> Ints:
        """All lanes that the candidate may delay."""
        return np.union1d(self.sends, self.receives)

    @property
    def larger(self) -> int:
        """How much larger the candidate is than one rank or one NIC: 0 these, and ranks that wait for each other; else 1."""
        return int(self.subject != "endpoint" and not self.as_one)

    def gone(self, delays: Delays, steps: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Mark the delays that vanish without this candidate in the steps `steps`; bool[2, transfers]."""
        t, out = delays.transfers, np.zeros((2, len(delays.transfers.rows)), np.bool_)
        cells = (self.lanes[:, None] * t.steps + np.flatnonzero(steps)).ravel()
        own = ranges(t.begin[cells], t.begin[cells + 1])
        out[0, own] = True
        held, waiting = out[0, delays.holder[delays.held]], out[0, delays.awaited[delays.waiting]]
        out[0, delays.waiting] |= waiting
        out[0, delays.released[steps[t.step[delays.released]]]] = True
        if self.cause == "network":
            out[1, own] = True
        else:
            out[1, delays.held] = held
        return out


def quiet_hosts(view: Steps, transfers: Transfers, *, least: float = g.TRIFLE) -> set[str]:
    """Return the hosts some of whose ranks have no lane that carries a share of what the busiest one does, `least`: others may
    wait for these.
    """
    moved = transfers.moved.sum(axis=1)
    large = transfers.lanes[moved >= least * moved.max(initial=0.0)]
    speaking = {view.job.endpoints[i] for i in large.ravel().tolist()}.difference(view.job.silent)
    return {view.host(name) for name in view.job.endpoints if name not in speaking}


def candidates(view: Steps, transfers: Transfers) -> list[Candidate]:
    """List all candidates of a job.

    Parameters
    ----------
    view : Steps
        The job by step and edge.
    transfers : Transfers
        Its transfers by lane and step.

    Returns
    -------
    list of Candidate
        Own work and network of each rank; own work and network of each host with several ranks; links and switches on known
        paths. Several NICs of a host are seldom slow together: if the lanes of one are those of a path, it is the path.
    """
    ranks = view.job.endpoints
    out = []
    none = np.zeros(0, np.int64)
    places = _by(transfers.lanes, np.arange(len(ranks)))
    names = [view.host(address) for address in ranks]
    senders = Counter(name for name, (sends, _) in zip(names, places, strict=True) if len(sends))
    passed = passed_hosts(view, transfers.lanes)
    for address, name, (sends, receives) in zip(ranks, names, places, strict=True):
        if len(sends) or len(receives):
            leaves = len(sends) > 0 and name in passed and senders[name] == 1
            out += [] if leaves else [Candidate("work", "endpoint", (address,), sends, receives)]
            ways = (("both", sends, receives), ("out", sends, none), ("in", none, receives))
            out += [
                Candidate("network", "endpoint", (address,), out_of, into, way)
                for way, out_of, into in ways
                if len(out_of) + len(into)
            ]
    hosts, of = np.unique(names, return_inverse=True)
    between = _between(view, transfers)
    paths = {one.lanes.tobytes() for one in between}
    many = np.bincount(of)
    together = passed.union(view.host(member) for members in view.parallelism.unseen for member in members)
    for host, (sends, receives) in enumerate(_by(transfers.lanes, of)):
        if many[host] > 1:
            ids = (str(hosts[host]),)
            out.append(Candidate("work", "host", ids, sends, np.setdiff1d(receives, sends), as_one=ids[0] in together))
            network = Candidate("network", "host", ids, sends, receives)
            out += [] if network.lanes.tobytes() in paths else [network]
    return [*out, *between]


def _by(lanes: Codes, of: NDArray[np.integer]) -> list[tuple[Ints, Ints]]:
    """Lanes that leave and lanes that enter each place; `of` is the place of each rank."""
    n = int(of.max(initial=-1)) + 1
    parts = []
    for end in lanes.T:
        order = np.argsort(of[end], kind="stable").astype(np.int64)
        begins = np.searchsorted(of[end][order], np.arange(n + 1)).tolist()
        parts.append([order[low:high] for low, high in pairwise(begins)])
    return list(zip(*parts, strict=True))


def _between(view: Steps, transfers: Transfers) -> list[Candidate]:
    """List the parts between switches: uplinks of a leaf, links, spine switches. Parts that the same lanes cross become one
    candidate.

    If they contain two leaves or several links the candidate is the path between its ends: the traffic cannot distinguish its
    parts. A leaf with one uplink is named by this link.
    """
    codes = view.codes.tolist()
    crossed: dict[tuple[str, ...], list[int]] = {}
    for i, (a, b) in enumerate(transfers.lanes.tolist()):
        crossed.setdefault(view.paths.get((codes[a], codes[b]), ()), []).append(i)
    lanes: dict[tuple[str, ...], list[int]] = {}
    leaves = set()
    for path, own in crossed.items():
        if len(path) < 2:
            continue
        leaves |= {path[0], path[-1]}
        parts: list[tuple[str, ...]] = [(min(pair), max(pair)) for pair in pairwise(path)]
        for part in dict.fromkeys([*parts, *((switch,) for switch in path)]):
            lanes.setdefault(part, []).extend(own)
    alike: dict[tuple[int, ...], list[tuple[str, ...]]] = {}
    for ids, own in lanes.items():
        alike.setdefault(tuple(sorted(own)), []).append(ids)
    out = []
    for crossing, names in alike.items():
        links: list[tuple[str, ...]] = sorted(ids for ids in names if len(ids) == 2)
        hops = [name for ids in links for name in ids]
        ends = sorted(
            {ids[0] for ids in names if len(ids) == 1 and ids[0] in leaves} or {h for h in hops if hops.count(h) == 1}
        )
        what: tuple[str, ...] = tuple(ends) if len(ends) == 2 else (links or sorted(names))[0]
        own_lanes = np.array(crossing, np.int64)
        out.append(Candidate("network", "link" if len(what) == 2 else "switch", what, own_lanes, own_lanes[:0]))
    return out
