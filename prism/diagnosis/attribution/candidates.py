"""List candidate causes of delays: a rank's own work, its host, a NIC, a link or switch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from prism.graph.job_steps import Steps
from prism.graph.job_transfers import Transfers
from prism.loops.arrays.intervals import Ints
from prism.loops.detection.transfer_delays import Codes
from prism.model import SubjectType

Cause = Literal["work", "network"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A cause, the parts it names, and the lanes whose transfers it may delay: as sender, as receiver.

    Own work delays the start of transfers. The network delays transfers while they last.
    """

    cause: Cause
    subject: SubjectType
    ids: tuple[str, ...]
    sends: Ints  # numbers of lanes
    receives: Ints  # numbers of lanes
    way: str = ""
    ranks: int = 1

    @cached_property
    def lanes(self) -> Ints:
        """All lanes that the candidate may delay."""
        return np.union1d(self.sends, self.receives)

    @property
    def larger(self) -> int:
        """How much larger the candidate is than one rank or one NIC: 0 these, 1 a host, link or switch, 2 a group."""
        return 2 if self.subject == "group" else int(self.subject != "endpoint")

    def gone(self, transfers: Transfers, steps: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Mark the delays that vanish without this candidate in the steps `steps`; bool[2, transfers]."""
        inside = np.zeros(len(transfers.lanes), np.bool_)
        inside[self.lanes] = True
        own = inside[transfers.lane] & steps[transfers.step]
        return np.stack([own, own if self.cause == "network" else np.zeros_like(own)])


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
        paths.
    """
    ranks = view.job.endpoints
    out = []
    none = np.zeros(0, np.int64)
    places = _by(transfers.lanes, np.arange(len(ranks)))
    for address, (sends, receives) in zip(ranks, places, strict=True):
        if len(sends) or len(receives):
            out.append(Candidate("work", "endpoint", (address,), sends, receives))
            ways = (("both", sends, receives), ("out", sends, none), ("in", none, receives))
            out += [
                Candidate("network", "endpoint", (address,), out_of, into, way)
                for way, out_of, into in ways
                if len(out_of) + len(into)
            ]
    hosts, of = np.unique([view.host(address) for address in ranks], return_inverse=True)
    many = np.bincount(of)
    for host, (sends, receives) in enumerate(_by(transfers.lanes, of)):
        if many[host] > 1:
            name, more = (str(hosts[host]),), int(many[host])
            out.append(Candidate("work", "host", name, sends, np.setdiff1d(receives, sends), ranks=more))
            out.append(Candidate("network", "host", name, sends, receives, ranks=more))
    return [*out, *_replicas(view, transfers), *_between(view, transfers)]


def _replicas(view: Steps, transfers: Transfers) -> list[Candidate]:
    """List the work of each pipeline on several hosts: its data are longer if several stages work longer at the same time.

    None if the job has one pipeline.
    """
    ranks = view.job.endpoints
    place = {address: i for i, address in enumerate(ranks)}
    groups = [[place[member] for member in g.members] for g in view.parallelism.groups if g.kind in ("pp", "tp", "cp")]
    if not any(g.kind == "pp" for g in view.parallelism.groups):
        return []
    rows, columns = np.array([(own[0], other) for own in groups for other in own], np.int64).T
    links = coo_array((np.ones(len(rows)), (rows, columns)), shape=(len(ranks),) * 2)
    many, of = connected_components(links, directed=False)
    out = []
    for replica, (sends, receives) in enumerate(_by(transfers.lanes, of)):
        members = tuple(address for address, own in zip(ranks, of.tolist(), strict=True) if own == replica)
        if many > 1 and len({view.host(address) for address in members}) > 1:
            receives = np.setdiff1d(receives, sends)
            out.append(Candidate("work", "group", members, sends, receives, ranks=len(members)))
    return out


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
