"""Join slow ranks of the same time to one finding: ranks of one host, of one pipeline, or that exchange data."""

from __future__ import annotations

from typing import Literal, NamedTuple

import networkx as nx
import numpy as np

from prism.detectors.peers import constants as c
from prism.detectors.peers.peer_ranks import ranks_elsewhere
from prism.graph.job_view import View
from prism.graph.record_dependencies import COLLECTIVES
from prism.loops.arrays.change_points import Shift
from prism.loops.arrays.intervals import Ints

Piece = Literal["typical", "largest"]
PIECES: tuple[Piece, ...] = ("typical", "largest")  # as in View.work


class Slow(NamedTuple):
    """A rank that was slow in some steps, its loss, ns per step, the change of the others, and the growth of the steps.

    `piece` is the piece of its work that shows it. `partner`, unless -1, is a rank that began together with it, because they
    exchange: one of the two was slow, the other waited. `beside` are the only ranks it was compared with, if not all.
    """

    rank: int
    one: Shift
    lost: float
    rest: float
    grew: float
    piece: Piece = "typical"
    partner: int = -1
    beside: tuple[int, ...] = ()


def overlapping(one: Shift, other: Shift) -> bool:
    """Whether two spans share a step."""
    return one.start < other.stop and other.start < one.stop


def partner(view: View, rank: int, along: Ints) -> int:
    """The only rank that was late together with another, if the two exchange data in a collective; else -1."""
    if len(along) != 1:
        return -1
    two = [view.job.endpoints[r] for r in (rank, int(along[0]))]
    a, b = (view.code[address] for address in two)
    group = any(g.kind in COLLECTIVES and set(two) <= set(g.members) for g in view.parallelism.groups)
    return int(along[0]) if group and (a, b) in view.edges and (b, a) in view.edges else -1


def one_of_two(view: View, found: list[Slow], *, clear: float = c.CLEARLY_SLOWER) -> list[Slow]:
    """Join two ranks of one pipeline that were equally slow in the same steps: one of the two was slow, the other waited.

    Their spans may begin or end a step apart. A rank that is slower by `clear` is reported alone.
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
                break  # found twice
            alike = same and max(slow.partner, known.partner) < 0 and known.one.height < clear * slow.one.height
            other = view.code[view.job.endpoints[known.rank]]
            if alike and own in pipes and other in pipes and nx.has_path(pipes, own, other):
                out[i] = known._replace(partner=slow.rank)
                break
        else:
            out.append(slow)
    return out


def by_host(view: View, found: list[Slow], *, clear: float = c.CLEARLY_SLOWER) -> list[tuple[Slow, list[int]]]:
    """Select the slowest rank of each host and time, with other slow ranks there, unless it is slower by `clear`."""
    out: list[tuple[Slow, list[int]]] = []
    for slow in sorted(found, key=lambda f: -f.one.height):
        for known, mates in out:
            meet = overlapping(slow.one, known.one)
            if meet and known.partner == slow.rank:
                break
            if meet and slow.rank not in ranks_elsewhere(view, np.array([slow.rank]), known.rank) and slow.rank != known.rank:
                if known.one.height < clear * slow.one.height:
                    mates.append(slow.rank)
                break
        else:
            out.append((slow, []))
    return out
