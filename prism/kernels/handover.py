"""Whether a pair hands work over, as stages of a pipeline do, or exchanges, as members of a collective do.

Activations that have gone down and whose gradients have not come back are in flight: while nothing is sent, work is being done
on them. A collective of two leaves nothing in flight once it rests. Every step a pipeline runs empty, so that what went down
and what came up are equal again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from prism.kernels.edges import Edge, Pair, flipped
from prism.kernels.intervals import Floats, Ints, union, weighted_median


class Tide(NamedTuple):
    """`busy` is the share of idle time in which something was in flight. It was empty again at `empty`, ns, for `rest` ns."""

    busy: float
    empty: Ints
    rest: float


class Handover(NamedTuple):
    """How a pair stands if its first edge goes down the pipeline, or, the `second`, if its other one does."""

    first: Tide
    second: Tide


NEITHER = Handover(Tide(0.0, np.zeros(0, np.int64), 0.0), Tide(0.0, np.zeros(0, np.int64), 0.0))


def handovers(edges: Mapping[Pair, Edge], *, equal: float = 0.03) -> tuple[dict[Pair, Handover], list[frozenset[Pair]]]:
    """The lanes that hand over, by the direction that begins at the lower endpoint; and trees, which look alike but branch.

    Pairs of equal volume do the same and are judged together, by most of them. A stage has one before it and one after it;
    where pairs of a volume branch they are a tree that reduces.
    """
    moved = {k: e.volume + edges[flipped(k)].volume for k, e in edges.items() if k[0] < k[1] and flipped(k) in edges}
    classes: list[list[Pair]] = []
    for pair in sorted(moved, key=lambda k: (moved[k], k)):
        if classes and moved[pair] <= moved[classes[-1][-1]] * (1 + equal):
            classes[-1].append(pair)
        else:
            classes.append([pair])
    found: dict[Pair, Handover] = {}
    trees: list[frozenset[Pair]] = []
    for own in classes:
        tides = {pair: handover(edges[pair], edges[flipped(pair)]) for pair in own}
        if 2 * sum(tide is not None for tide in tides.values()) <= len(own):
            continue
        graph = nx.Graph((pair[0], pair[1]) for pair in own)
        for part in nx.connected_components(graph):
            inside = [pair for pair in own if pair[0] in part]
            if max(degree for _, degree in graph.degree(part)) > 2:
                trees.append(frozenset(inside) | {flipped(pair) for pair in inside})
            else:
                found |= {pair: tides[pair] or NEITHER for pair in inside}
    return found, trees


def handover(there: Edge, back: Edge, *, share: float = 0.15, level: float = 0.25, apart: float = 0.35) -> Handover | None:
    """What is in flight between two endpoints; None where they hand nothing over.

    In flight is more than `level` of a typical record from the level at which a pair stays longest, for at least `share` of the
    time in which neither sends. It is empty again and again: never apart by more than the share `apart` of its life.
    """
    if len(there.rows) < 4 or len(back.rows) < 4:
        return None
    times, excess, idle = _excess(there, back)
    unit = level * float(min(np.median(there.octets), np.median(back.octets)))
    total = float(idle.sum())
    if total <= 0 or unit <= 0 or _longest(excess, idle, unit) > (1 - share) * total:
        return None
    tides = [_tide(times, way * excess, idle, unit) for way in (1, -1)]
    life = float(times[-1] - times[0])
    if not any(
        len(t.empty) >= 3 and np.diff(np.concatenate([times[:1], t.empty, times[-1:]])).max() <= apart * life for t in tides
    ):
        return None
    return Handover(*tides)


def _longest(excess: Floats, idle: Floats, unit: float) -> float:
    """How long a pair stays, all in all, within a unit of the level at which it stays longest."""
    order = np.argsort(excess)
    level, time = excess[order], np.concatenate([[0.0], np.cumsum(idle[order])])
    low, high = np.searchsorted(level, level - unit), np.searchsorted(level, level + unit, "right")
    return float((time[high] - time[low]).max())


def _tide(times: Ints, level: Floats, idle: Floats, unit: float) -> Tide:
    above = level - _floor(level, idle)
    calm = above <= unit
    begun = np.flatnonzero(calm & ~np.concatenate([[False], calm[:-1]]))
    visit = np.cumsum(calm & ~np.concatenate([[False], calm[:-1]]))[calm] - 1
    rest = np.zeros(len(begun))
    np.maximum.at(rest, visit, idle[calm])
    return Tide(float(idle[~calm].sum() / idle.sum()), times[begun], float(np.median(rest)) if len(rest) else 0.0)


def _excess(there: Edge, back: Edge) -> tuple[Ints, Floats, Floats]:
    """For each pause of both: when it began, by how many octets one side was ahead, and how long it lasted, ns.

    Pauses count for no more than four times the length that half of the idle time exceeds: an evaluation says nothing.
    """
    ends = np.concatenate([there.end, back.end])
    ratio = there.volume / max(back.volume, 1)
    ratio = 1.0 if 0.95 <= ratio <= 1.05 else ratio  # equal but for what was cut off
    octets = np.concatenate([there.octets.astype(np.float64), -back.octets * ratio])
    order = np.argsort(ends, kind="stable")
    level = np.cumsum(octets[order])
    start, stop = union(np.concatenate([there.start, back.start]), ends)
    pause = (start[1:] - stop[:-1]).astype(np.float64)
    at = np.searchsorted(ends[order], stop[:-1], "right") - 1
    return stop[:-1], level[at], np.minimum(pause, 4 * weighted_median(pause, pause))


def _floor(level: Floats, idle: Floats, *, share: float = 0.02) -> float:
    """The lowest level at which a pair stays for a while: the `share` quantile of its idle time."""
    order = np.argsort(level)
    time: NDArray[np.float64] = np.cumsum(idle[order])
    return float(level[order][int(np.searchsorted(time, share * time[-1]))])
