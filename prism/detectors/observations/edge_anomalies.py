"""Find spans of steps in which some edges deviate together from usual, or in all steps from similar edges."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from prism.detectors.observations import constants as c
from prism.graph.job_view import Floats, View
from prism.loops.arrays.change_points import Shift, by_chance, even, may_shift, middle, shift, spread, trimmed, usual
from prism.loops.arrays.edges import Pair
from prism.loops.constants import RARE


class Incident(NamedTuple):
    """Steps `start` to `stop` with bad and good edges; `height` is the logarithm of the slowdown of the bad ones.

    `worst` are the bad edges with at least half of the largest deviation (in logarithms).
    """

    start: int
    stop: int
    height: float
    score: float
    bad: list[Pair]
    good: list[Pair]
    worst: list[Pair]


def against_usual(level: Floats) -> Floats:
    """Logarithm of the slowness of each edge relative to its own usual value."""
    return level - usual(level)


def incidents(
    keys: list[Pair],
    moved: Floats,
    height: float,
    sigmas: float,
    *,
    floor: float = c.RATE_NOISE,
    least: int = c.LEAST_SPAN,
    over: int | None = None,
) -> list[Incident]:
    """Find spans of `least` steps or more in which edges deviated together, the strongest first; an edge is in one at a time.

    `over` is the number of completed steps, if the last column is the current one. Then a span of the last completed and the
    current step must be even, and rare by chance, because it consists of single values.
    """
    sigma = spread(moved, floor=floor)
    rest, out = moved.copy(), []
    highest: dict[int, Shift | None] = {}
    for _ in range(c.MOST_INCIDENTS):
        for row in may_shift(rest, least=least, height=height):
            if row not in highest:
                highest[row] = shift(rest[row], sigma, least=least, height=height)
        own = [
            (row, one)
            for row, one in sorted(highest.items())
            if one is not None and one.score >= sigmas
            if over is None or one.stop <= over or one.start < over - 1 or _likely(rest, row, one, sigma)
        ]
        if not own:
            break
        worst, top = max(own, key=lambda o: o[1].score)
        height_of = middle(rest[:, top.start : top.stop], axis=1)[:, 0]
        others = np.arange(len(keys)) != worst
        bad = np.flatnonzero(~others | (height_of >= max(height * c.NEARLY_AS_SLOW, top.height / 4))).tolist()
        good = np.flatnonzero(others & (height_of < height / 2)).tolist()
        chosen = set(bad)
        spans = [one for row, one in own if row in chosen and one.start < top.stop and top.start < one.stop] or [top]
        start, stop = int(np.median([s.start for s in spans])), int(np.median([s.stop for s in spans]))
        level = middle(rest[bad], axis=0)[0]  # the incident begins when most edges reach half of it
        start, stop = trimmed(level, start, stop, least, float(middle(level[start:stop])) / 2)
        worst_of = [i for i in bad if height_of[i] >= height_of[bad].max() / 2]
        names = [[keys[i] for i in own] for own in (bad, good, worst_of)]
        out.append(Incident(start, stop, float(middle(height_of[bad])), top.score, *names))
        rest[bad, max(min(s.start for s in spans) - 1, 0) : max(s.stop for s in spans) + 1] = np.nan
        highest = {row: one for row, one in highest.items() if row not in chosen}
    return out


def _likely(moved: Floats, row: int, one: Shift, sigma: float) -> bool:
    """Whether a deviation is equally high in the whole span, and more than adjacent hiccups."""
    return even(moved[row], one, sigma) and by_chance(moved, row, one) <= RARE


def always_slow_edges(view: View, keys: list[Pair], level: Floats, height: float) -> list[Incident]:
    """Find edges that are slow in all steps, compared with edges of the same kind of traffic.

    Edges with less than half of the slowest edge's deviation (in logarithms) may only share a path with it.
    """
    slowness = middle(level, axis=1)[:, 0]
    above = np.full(len(keys), np.nan)
    known: dict[str | None, list[int]] = defaultdict(list)
    for i in np.flatnonzero(np.isfinite(slowness)).tolist():
        known[view.kinds.get(keys[i])].append(i)
    for own in (own for own in known.values() if len(own) >= c.LEAST_ALIKE):
        rise = slowness[own] - np.median(slowness[own])
        least = max(height, c.APART * max(spread(slowness[own]), c.EDGE_NOISE))
        above[own] = np.where(rise >= least, rise, np.minimum(rise, 0.0))
    top = float(np.nanmax(above)) if np.isfinite(above).any() else 0.0
    bad, good = (np.flatnonzero(which).tolist() for which in (above >= max(height, top / 2), above <= 0))
    if not bad or len(bad) > len(good):
        return []
    score = top * np.sqrt(level.shape[1]) / max(spread(against_usual(level)), c.RATE_NOISE)
    names = [[keys[i] for i in own] for own in (bad, good, bad)]
    return [Incident(0, level.shape[1], float(np.median(above[bad])), float(score), *names)]


def erratic(one: Incident, moved: Mapping[Pair, Floats], *, sigmas: float = 2.0, few: int = c.OTHER_STEPS) -> bool:
    """Whether the edges of an incident vary as much in other steps: `sigmas` of their spread are as high as the incident.

    False with fewer than a `few` other steps.
    """
    level = middle(np.array([moved[key] for key in one.bad]), axis=0)[0]
    level = np.delete(level, np.s_[one.start : one.stop])
    known = np.isfinite(level)
    return bool(np.count_nonzero(known) >= few and sigmas * spread(level) >= one.height)


def in_short_steps(view: View, one: Incident, moved: Mapping[Pair, Floats], *, longer: float) -> bool:
    """Whether nearly all steps in which an incident's edges were not slow were `longer` than its own: those were the slow ones.

    A sender that finally gets its data, for many waiting receivers, may send faster than ever.
    """
    other = middle(np.array([moved[key] for key in one.bad]), axis=0)[0] < one.height / 2
    other[one.start : one.stop] = False
    durations = view.durations[other & np.isfinite(view.durations)]
    return len(durations) > 0 and bool(
        np.quantile(durations, c.NEARLY_ALL_LONGER) > longer * middle(view.durations[one.start : one.stop])
    )


def without_fed_edges(one: Incident, moved: Mapping[Pair, Floats], less: float) -> Incident:
    """Remove edges from an incident that are slow because they wait for others, by `less` (log) than these.

    They forward data from a slower edge; or all edges of one endpoint are slower than all others. A NIC that is slow in both
    directions is equally slow in each; so is a rank that sends over it.
    """
    slow = {key: float(middle(moved[key][one.start : one.stop])) for key in one.bad}
    top = max(slow, key=slow.__getitem__)
    for side in (0, 1):
        own = {key for key in moved if key[side] == top[side]}
        rest = max((slow[key] for key in one.bad if key not in own), default=0.0)
        if len(own) > 1 and own <= slow.keys() and min(slow[key] for key in own) >= rest + less:
            return one._replace(bad=sorted(own), worst=sorted(own))
    fed = {b: slow[b] + less <= max((slow[a] for a in one.bad if a[1] == b[0] and a[0] != b[1]), default=0.0) for b in one.bad}
    return one._replace(bad=[b for b in one.bad if not fed[b]], worst=[b for b in one.worst if not fed[b]])


def head_of_chain(view: View, one: Incident) -> Incident:
    """Reduce an incident to the bad edge that feeds all others in sequence, through an endpoint or inside its host.

    Unchanged if the edges form no such chain. In a ring each endpoint sends to one, and receives from one.
    """

    def home(code: int) -> int | str:
        address = view.flows.endpoints[code]
        host = view.topology.host(address) if view.topology is not None else None
        return code if host is None else host

    homes = [(home(src), home(dst)) for src, dst, *_ in one.bad]
    senders, receivers = (Counter(side) for side in zip(*homes, strict=True))
    heads = [key for key, (src, _) in zip(one.bad, homes, strict=True) if src not in receivers]
    chained = len(heads) == 1 and max(*senders.values(), *receivers.values()) == 1
    return one._replace(bad=heads, worst=heads) if chained else one
