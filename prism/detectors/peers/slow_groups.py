"""What is told of ranks that were slow at once: of one host, of one pipeline, or in exchange with one another."""

from __future__ import annotations

from typing import Literal, NamedTuple

import networkx as nx
import numpy as np

from prism.detectors.peers.peer_ranks import strangers_of
from prism.graph.job_view import View
from prism.graph.record_dependencies import COLLECTIVES
from prism.loops.arrays.change_points import Shift
from prism.loops.arrays.intervals import Ints

Piece = Literal["typical", "largest"]
PIECES: tuple[Piece, ...] = ("typical", "largest")  # as in View.work


class Slow(NamedTuple):
    """A rank that was slow for some steps, what it lost, ns per step, how far the others moved, how much the steps grew.

    `piece` is the piece of its work that shows it; `partner`, unless -1, a rank that began whenever it did, for they exchange:
    one of the two was slow, the other waited. `beside` are the ranks with which alone it was compared, if not all.
    """

    rank: int
    one: Shift
    lost: float
    rest: float
    grew: float
    piece: Piece = "typical"
    partner: int = -1
    beside: tuple[int, ...] = ()


def at_once(one: Shift, other: Shift) -> bool:
    """Whether two stretches share a step."""
    return one.start < other.stop and other.start < one.stop


def partner(view: View, rank: int, along: Ints) -> int:
    """The only rank of those that were late along with another, if the two exchange in a collective; else -1."""
    if len(along) != 1:
        return -1
    two = [view.job.endpoints[r] for r in (rank, int(along[0]))]
    a, b = (view.code[address] for address in two)
    group = any(g.kind in COLLECTIVES and set(two) <= set(g.members) for g in view.parallelism.groups)
    return int(along[0]) if group and (a, b) in view.edges and (b, a) in view.edges else -1


def one_of_two(view: View, found: list[Slow], *, clear: float = 1.5) -> list[Slow]:
    """Two ranks of one pipeline that were slow alike in the same steps told as one of the two: the other one waited for it.

    Their stretches may begin or end a step apart; one that works so much longer that it is `clear` ahead is told alone.
    """
    if len(found) < 2:
        return found
    out: list[Slow] = []
    pipes: nx.Graph[int] = nx.Graph()
    pipes.add_edges_from((a, b) for a, b, *_ in view.edges if view.kinds.get((a, b)) == "pp")
    for slow in sorted(found, key=lambda f: -f.one.height):
        own = view.code[view.job.endpoints[slow.rank]]
        for i, known in enumerate(out):
            same = abs(known.one.start - slow.one.start) <= 1 and abs(known.one.stop - slow.one.stop) <= 1
            if same and known.rank == slow.rank:
                break  # seen in two ways
            alike = same and max(slow.partner, known.partner) < 0 and known.one.height < clear * slow.one.height
            other = view.code[view.job.endpoints[known.rank]]
            if alike and own in pipes and other in pipes and nx.has_path(pipes, own, other):
                out[i] = known._replace(partner=slow.rank)
                break
        else:
            out.append(slow)
    return out


def by_host(view: View, found: list[Slow], *, clear: float = 1.5) -> list[tuple[Slow, list[int]]]:
    """The slowest rank of each host and time, with the others slow there too, unless it is `clear` ahead of them."""
    out: list[tuple[Slow, list[int]]] = []
    for slow in sorted(found, key=lambda f: -f.one.height):
        for known, mates in out:
            meet = at_once(slow.one, known.one)
            if meet and known.partner == slow.rank:
                break
            if meet and slow.rank not in strangers_of(view, np.array([slow.rank]), known.rank) and slow.rank != known.rank:
                if known.one.height < clear * slow.one.height:
                    mates.append(slow.rank)
                break
        else:
            out.append((slow, []))
    return out
