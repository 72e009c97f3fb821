"""Find the pairs of a job that hand over work between pipeline stages, separate from reductions that look alike, such as
trees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

import networkx as nx
import numpy as np

from prism.loops import constants as c
from prism.loops.arrays.edges import Edge, Pair, ends, flipped
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.medians import in_order
from prism.loops.communicators.handover_test import NEITHER, NEVER, Handover, handings
from prism.loops.periods.stream_rhythm import Rhythm, rhythm


def handovers(
    edges: Mapping[Pair, Edge], breaks: Ints = NEVER, *, equal: float = c.BALANCED, most: int = c.TESTED_PAIRS
) -> tuple[dict[Pair, Handover], list[frozenset[Pair]]]:
    """Return the lanes that hand over, keyed by the direction from the lower endpoint; and trees, which look alike but branch.

    Pairs of equal volume are decided together by majority; about `most` of many are tested first. A stage has one neighbour
    before and one after it; branching pairs of a volume are a tree that reduces. `breaks` are times, ns, at which the job
    restarted.
    """
    moved = {k: e.volume + edges[flipped(k)].volume for k, e in edges.items() if k[0] < k[1] and flipped(k) in edges}
    piped: list[tuple[float, dict[Pair, Handover]]] = []
    trees: list[frozenset[Pair]] = []
    classes = _classes(moved, moved, equal)
    tides: dict[Pair, Handover | None] = {}
    for few in (most, len(moved)):  # some of each class first, then all pairs of the classes that seem to hand over
        asked = [pair for own in classes for pair in own[:: max(len(own) // few, 1)] if pair not in tides]
        told = handings([(edges[pair], edges[flipped(pair)]) for pair in asked], breaks)
        tides |= zip(asked, told, strict=True)
        classes = [own for own in classes if _mostly([tides[pair] for pair in own if pair in tides])]
    for own in classes:
        graph = nx.Graph((pair[0], pair[1]) for pair in own)
        lines: dict[Pair, Handover] = {}
        parts = list(nx.connected_components(graph))
        of = {node: i for i, part in enumerate(parts) for node in part}
        pairs: list[list[Pair]] = [[] for _ in parts]
        for pair in own:
            pairs[of[pair[0]]].append(pair)
        for inside in pairs:
            handing = _handing(inside, tides, moved, equal / 3)
            if _branches(handing):
                trees.append(frozenset(inside) | {flipped(pair) for pair in inside})
            else:
                lines |= {pair: tides[pair] or NEITHER for pair in handing}
        piped.append((float(np.median([moved[pair] for pair in own])), lines))
    return {pair: tide for own in _without_crossing(_without_halving(piped), edges) for pair, tide in own.items()}, trees


def _mostly(tides: Collection[Handover | None]) -> bool:
    """Check whether most of some pairs hand over."""
    return 2 * sum(tide is not None for tide in tides) > len(tides)


def _classes(moved: Mapping[Pair, int], pairs: Iterable[Pair], equal: float) -> list[list[Pair]]:
    """Group pairs by octets, ascending: neighbours in a class differ by at most the share `equal`."""
    classes: list[list[Pair]] = []
    for pair in sorted(pairs, key=lambda k: (moved[k], k)):
        if classes and moved[pair] <= moved[classes[-1][-1]] * (1 + equal):
            classes[-1].append(pair)
        else:
            classes.append([pair])
    return classes


def _handing(pairs: list[Pair], tides: Mapping[Pair, Handover | None], moved: Mapping[Pair, int], equal: float) -> list[Pair]:
    """Select the connected pairs that hand over: all, unless they branch and part of them does not.

    A reduction may move octets equal to those of a hand-over: it is a finer class, or joins pipelines like the rungs of a
    ladder.
    """
    if not _branches(pairs):
        return pairs
    finer = _classes(moved, pairs, equal)
    does = [_mostly([tides[pair] for pair in own]) for own in finer]
    if not any(map(_branches, finer)):
        return [pair for own, hands in zip(finer, does, strict=True) if hands for pair in own]
    handing = [pair for pair in pairs if tides[pair] is not None]
    rungs = [pair for pair in pairs if tides[pair] is None]
    return handing if not _branches(handing) and _lone(rungs) and _ladder(rungs, handing) else pairs


def _branches(pairs: Iterable[Pair]) -> bool:
    """Check whether an endpoint is in more than two of some pairs."""
    return max(Counter(end for both_ends in _joined(pairs) for end in both_ends).values(), default=0) > 2


def _without_halving(piped: list[tuple[float, dict[Pair, Handover]]]) -> list[dict[Pair, Handover]]:
    """Remove single pairs beside others with half or twice their octets: those are halving and doubling."""
    at = [{end for pair in own for end in ends(pair)} for _, own in piped]
    lone = [2 * len(own) == len(at[i]) for i, (_, own) in enumerate(piped)]
    out = []
    for i, (volume, own) in enumerate(piped):
        halved = any(
            j != i
            and lone[i]
            and lone[j]
            and at[i] & at[j]
            and any(abs(volume / other - times) <= c.BALANCED * times for times in (0.5, 2.0))
            for j, (other, _) in enumerate(piped)
        )
        out += [] if halved else [own]
    return out


def _without_crossing(piped: list[dict[Pair, Handover]], edges: Mapping[Pair, Edge]) -> list[dict[Pair, Handover]]:
    """Remove single pairs that join the same two pipelines of another class more than once.

    They are members of a collective of which one is always late. Of two classes of single pairs that cross, the one that is
    idle longer is no pipeline.
    """
    return [own for own in piped if not any(other is not own and _crosses(own, other, edges) for other in piped)]


def _crosses(own: Mapping[Pair, Handover], other: Mapping[Pair, Handover], edges: Mapping[Pair, Edge]) -> bool:
    """Check whether single pairs join pipelines of `other` pairs like rungs of a ladder, and not the reverse."""
    return _lone(own) and _ladder(own, other) and (not _lone(other) or _rest(own, edges) > _rest(other, edges))


def _ladder(rungs: Collection[Pair], lines: Collection[Pair]) -> bool:
    """Check whether pairs join lines of others like rungs: each two lines more than once."""
    home = nx.utils.UnionFind(end for pairs in (rungs, lines) for pair in pairs for end in ends(pair))
    for pair in lines:
        home.union(pair[0], pair[1])
    joined = Counter(frozenset((home[a], home[b])) for a, b in _joined(rungs))
    return bool(rungs and lines) and all(times > 1 and len(both_ends) == 2 for both_ends, times in joined.items())


def _lone(pairs: Collection[Pair]) -> bool:
    """Check whether no two pairs share an endpoint."""
    return 2 * len(_joined(pairs)) == len({end for pair in pairs for end in ends(pair)})


def _joined(pairs: Iterable[Pair]) -> set[tuple[int, int]]:
    """Return the endpoint pairs, regardless of lanes."""
    return {(pair[0], pair[1]) for pair in pairs}


def _rest(pairs: Mapping[Pair, Handover], edges: Mapping[Pair, Edge], *, max_pairs: int = c.COMPARED_PAIRS) -> float:
    """Usual idle share of a step, from some of the pairs."""
    return float(np.median([both(edges[pair], edges[flipped(pair)]).rest for pair in sorted(pairs)[:max_pairs]]))


def both(there: Edge, back: Edge) -> Rhythm:
    """Compute the rhythm of both directions of a pair."""
    start, end, octets = (np.concatenate(columns) for columns in zip(there.moved, back.moved, strict=True))
    order = in_order(start)
    return rhythm(start[order], end[order], octets[order])
