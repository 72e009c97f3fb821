"""Find the operations that were due when a job fell silent, and how well each rank explains that they are missing.

Every rank waits, directly or not, for the rank that stopped: a missing operation has this rank at one end, or depends on one
that has. So the operations whose dependencies are complete have it at one end. After the silence they come first; while it
lasts, other steps show which of the missing operations comes first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.diagnosis import constants as c
from prism.graph import constants as g
from prism.graph.job_transfers import transfers_of
from prism.graph.job_view import Floats, View
from prism.graph.transfer_events import Events
from prism.loops.arrays.edges import Edge
from prism.loops.arrays.intervals import Ints
from prism.loops.constants import EQUAL, PART
from prism.loops.detection.equal_transfers import rested, unit_of


class Stop(NamedTuple):
    """A silence of a job's payload from `start` to `end`, ns, in step `step`.

    `over`: the job continued. `gone`: it continued on other connections, or never. `since` and `until` are begin and end of
    that step of each rank, ns; int64[ranks].
    """

    start: int
    end: int
    over: bool
    gone: bool
    step: int
    since: Ints
    until: Ints


class Due(NamedTuple):
    """Operations due in a silence by sender and receiver (ranks), int64[n, 2], and the `weight` of each, 0 … 1.

    `alive`: whether sender and receiver show that they took part in later operations, or wait; bool[n, 2]. `receivers`: how
    much senders wait for late receivers, 0 … 1.
    """

    lanes: Ints
    weight: Floats
    alive: NDArray[np.bool_]
    receivers: float = 1.0


def due_operations(view: View, stop: Stop, like: Ints, *, slack: float = c.SLACK) -> Due:
    """Find the due operations of a silence. `like`: steps to compare with."""
    rank = {code: r for r, code in enumerate(view.codes.tolist())}
    edges, steps = list(view.edges.values()), own_steps(view)
    lanes = np.array([(rank[edge.src], rank[edge.dst]) for edge in edges], np.int64)
    usual = np.maximum(np.median(view.volumes[:, like], axis=1), 1.0)
    since = stop.since[lanes[:, 0]].tolist()
    moved = np.array([_between(edge, low, stop.start) for edge, low in zip(edges, since, strict=True)])
    share, own = moved / usual, [steps[r][like] for r in lanes[:, 0].tolist()]
    if stop.over and not stop.gone:
        first = np.stack([_next(edge, stop.end) for edge in edges])[:, None]
    else:
        first = np.stack(
            [_reached(*one, slack, int(view.begins[0]))[0] for one in zip(edges, own, share.tolist(), strict=True)]
        )
        first -= (view.begins[like] - view.begins[0])[:, None]
    weight = (first[..., 0] < first[..., 1].min(axis=0)).mean(axis=1)
    form, pipeline = _forms(view, edges, usual)
    least = np.full(form.max() + 1, np.inf)
    np.minimum.at(least, form[weight > 0], share[weight > 0])
    behind = (weight > 0) & (share > least[form] + slack)
    weight[behind] *= c.BEHIND / max(int(behind.sum()), 1)
    known = np.flatnonzero(weight)
    keys, at = np.unique(form * len(rank) + lanes[:, 0], return_inverse=True)
    most, ends = np.zeros(len(keys) + 1), form[known, None] * len(rank) + lanes[known]
    np.maximum.at(most, at, np.where(pipeline, 0.0, share))
    place = np.searchsorted(keys, ends)
    alive = (most[place] > share[known, None] + slack) & (np.append(keys, -1)[place] == ends)
    inside = {tuple(lanes[k].tolist()): pipeline[k] and _inside(edges[k], own[k], moved[k]) for k in known}
    for i, k in enumerate(known.tolist()):
        a, b = lanes[k].tolist()
        ready = _ready(view, edges[k], _reached(edges[k], own[k], float(share[k]), slack)[1], stop.start)
        alive[i] |= [ready is False or inside[a, b], ready is True or inside.get((b, a), False)]
    # nobody can send to a rank that left; who stopped has seldom asked for all that follows
    receivers = 1.0 if stop.gone else max(Events(view, transfers_of(view)).receivers(view.period), c.TIED_PROBABILITY)
    begun = _began(view, stop) if stop.over and not stop.gone else np.zeros(0, np.int64)
    return Due(
        np.concatenate([lanes[known], np.stack([begun, begun], axis=1)]),
        np.concatenate([weight[known], np.ones(len(begun))]),
        np.concatenate([alive, np.zeros((len(begun), 2), np.bool_)]),
        receivers,
    )


def _began(view: View, stop: Stop, *, quiet: float = 1 - g.NEAR) -> Ints:
    """Ranks that ended a silence with the first control message, as an operation of their own; none if payload came first.

    Who waits has sent its control messages before. If ranks send some during most of the silence, they show nothing.
    """
    flows = view.flows
    rows = np.flatnonzero(flows.control() & (flows.start_ns > stop.start) & (flows.start_ns < stop.end))
    times = np.sort(flows.start_ns[rows])
    gaps = np.diff(times, prepend=stop.start)
    if not len(times) or gaps.max() < quiet * (stop.end - stop.start):
        return np.zeros(0, np.int64)
    first = rows[flows.start_ns[rows] == times[np.argmax(gaps)]]
    return np.flatnonzero(np.isin(view.codes, flows.src[first]))


def usual_steps(view: View) -> Ints:
    """Steps of usual duration."""
    return np.flatnonzero(view.durations <= g.LONG * view.period)


def near(calm: Ints, step: int) -> Ints:
    """The steps of usual duration next to a step, without itself."""
    other = calm[calm != step]
    return np.sort(other[np.argsort(np.abs(other - step), kind="stable")][: c.COMPARED])


def progress(view: View, one: Stop, like: Ints) -> tuple[Floats, Floats]:
    """Share of its usual octets per step that each rank had sent when the job fell silent, and that it sent afterwards."""
    src, start, octets, usual = _sent(view, like)
    before = (start > one.since[src]) & (start <= one.start)
    begun = np.bincount(src[before], octets[before], len(usual)) / usual
    if not one.over or one.gone:
        return begun, np.maximum(1 - begun, 0.0)
    after = (start >= one.end) & (start <= one.until[src])
    return begun, np.bincount(src[after], octets[after], len(usual)) / usual


def completes(view: View, sent: Floats, like: Ints) -> bool:
    """Check whether each rank sent the octets of one step before its first step and in its last one together.

    Then a whole number of steps was recorded: the job ended, and its steps end earlier or later than the bounds say. `sent`:
    share of the last step that each rank had sent, as from `progress`.
    """
    src, start, octets, usual = _sent(view, like)
    first = np.array([own[0, 0] for own in own_steps(view)])
    early = start <= first[src]
    head = np.bincount(src[early], octets[early], len(usual)) / usual
    return bool((np.abs(head + sent - 1) <= c.SLACK).all() and np.median(np.minimum(head, sent)) > c.SLACK)


def _sent(view: View, like: Ints) -> tuple[Ints, Ints, Ints, Floats]:
    """Sending rank, start and octets of each record with payload, and the usual octets of each rank in a step."""
    flows, n = view.flows, len(view.job.endpoints)
    rank = np.full(len(flows.endpoints), -1)
    rank[view.codes] = np.arange(n)
    rows = np.flatnonzero(~flows.control() & (rank[flows.src] >= 0))
    source = rank[np.array([edge.src for edge in view.edges.values()])]
    usual = np.maximum(np.bincount(source, np.median(view.volumes[:, like], axis=1), n), 1.0)
    return rank[flows.src[rows]], flows.sent_ns[rows], flows.octets[rows], usual


def broken(view: View) -> bool:
    """Whether the last step is incomplete: a rank that falls silent within a step seems to have ended it."""
    moved = view.volumes.sum(axis=0)
    return len(moved) > 1 and float(moved[-1]) < c.INCOMPLETE * float(np.median(moved))


def own_steps(view: View) -> list[Ints]:
    """Steps of each rank; those of the whole job for a rank with fewer steps."""
    shared = np.stack([view.begins, view.ends], axis=1)
    return [s if len(s) >= len(view.ends) else shared for s in view.timeline.steps]


def _forms(view: View, edges: list[Edge], usual: Floats) -> tuple[Ints, NDArray[np.bool_]]:
    """Number the kinds of edges with equal octets, as those of one ring, and whether each is between stages.

    Hand-overs are alike between the same two stages only: a pipeline's edges forward are ahead of those backward.
    """
    order = np.argsort(usual, kind="stable")
    size = np.empty(len(edges), np.int64)
    size[order] = np.cumsum(np.append(False, np.diff(usual[order]) > EQUAL * usual[order][1:]))
    kinds, kind = np.unique([view.kinds.get(edge.key, "unknown") for edge in edges], return_inverse=True)
    pipeline, stages = kinds[kind] == "pp", view.parallelism.stages
    at = np.array([[stages.get(view.flows.endpoints[code], 0) for code in edge.key] for edge in edges])
    pairs = np.where(pipeline, at[:, 0] * (at.max() + 1) + at[:, 1], 0)
    return np.unique(np.stack([size, kind, pairs]), axis=1, return_inverse=True)[1].ravel(), pipeline


def _between(edge: Edge, after: int, until: int) -> float:
    """Octets of an edge's records that start after a time, and until another, ns."""
    return float(edge.octets[slice(*np.searchsorted(edge.start, [after, until], "right"))].sum())


def _next(edge: Edge, after: int) -> Floats:
    """Start and end of an edge's first record after a time, ns since then; infinite if there is none."""
    i = int(np.searchsorted(edge.start, after))
    return np.array([edge.start[i] - after, edge.end[i] - after], np.float64) if i < len(edge.start) else np.full(2, np.inf)


def _reached(edge: Edge, steps: Ints, share: float, slack: float, zero: int = 0) -> tuple[Floats, Ints]:
    """Where an edge exceeds a share of its octets: start and end of the record by step, ns since `zero`, float64[steps, 2],
    infinite if never; and its place in the edge, if it is not the first.
    """
    out, places = np.full((len(steps), 2), np.inf), []
    for k, (begin, end) in enumerate(steps.tolist()):
        low, high = np.searchsorted(edge.start, [begin, end], "right").tolist()
        total = np.cumsum(edge.octets[low:high])
        if len(total) and share < 1 - slack:
            i = int(np.searchsorted(total, (share + slack) * total[-1], "right"))
            start, stop = int(edge.start[low + i]), int(edge.end[low + i])
            part = max((share * total[-1] - total[i]) / edge.octets[low + i] + 1, 0.0)
            start += int(part * (stop - start)) if part > slack else 0
            out[k] = start - zero, stop - zero
            places += [low + i] if low + i else []
    return out, np.array(places, np.int64)


def _inside(edge: Edge, steps: Ints, moved: float, *, slack: float = PART) -> bool:
    """Whether an edge fell silent within one of the equal transfers that its steps consist of: its sender waits."""
    bounds = np.searchsorted(edge.start, steps, "right")
    unit = unit_of(edge.octets.astype(np.float64), rested(edge.start, edge.end), bounds)
    return slack < moved / max(unit, 1.0) % 1.0 < 1 - slack


def _ready(view: View, edge: Edge, places: Ints, until: int, *, share: float = c.ALWAYS) -> bool | None:
    """Whether the receiver had sent all control messages that it sends between the last transfer and this one in other steps.

    `places`: the record with which the edge continued in other steps. None if their number varies, or is 0.
    """
    flows = view.flows
    words = np.sort(flows.start_ns[(flows.src == edge.dst) & (flows.dst == edge.src) & flows.control()])
    before = np.searchsorted(words, edge.start[places], "right") - np.searchsorted(words, edge.end[places - 1], "right")
    usual = np.median(before) if len(before) else 0
    if usual < 1 or np.mean(before == usual) < share:
        return None
    since = np.append(0, edge.end)[np.searchsorted(edge.start, until, "right")]
    return bool(np.diff(np.searchsorted(words, [since, until], "right"))[0] >= usual)


def explained(
    view: View,
    found: Due,
    *,
    hidden: float = c.HIDDEN,
    chance: float = c.CHANCE,
    nobody: float = c.NOBODY,
    alive: float = c.ALIVE,
) -> tuple[Floats, Floats]:
    """Probability that each rank stopped, and that a rank of each rank's host did that keeps others waiting invisibly.

    Both float64[ranks]; the second one is divided by the ranks of the host. The rest of 1 is nobody's. A due operation is
    explained by its sender, and by its receiver as often as senders wait for late receivers; another one is there by `chance`.
    Operations between the same two hosts show no more of these than one does.
    """
    n = len(view.job.endpoints)
    _, host, mates = np.unique(np.where(view.hosts < 0, -1 - np.arange(n), view.hosts), return_inverse=True, return_counts=True)
    logs = []
    for place, many in ((host, len(mates)), (np.arange(n), n)):
        ends = place[found.lanes]
        exchange, which = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)
        weight = np.zeros(len(exchange))
        np.maximum.at(weight, which, found.weight)
        each = np.full((many, len(exchange)), chance / many)
        for end, part in ((1, found.receivers), (0, 1.0)):
            shown = part * np.where(found.alive[:, end] & (many == n), alive, 1.0) * (found.weight >= weight[which])
            np.maximum.at(each, (ends[:, end], which), np.maximum(shown, chance / many))
        logs.append(np.log(each) @ weight)
    parts = [
        logs[1] + np.log(1 - hidden),
        np.where(mates > 1, logs[0] + np.log(hidden), -np.inf),
        [(weight.sum() + 1) * np.log(nobody)],
    ]
    share = np.exp(np.concatenate(parts) - max(map(np.max, parts)))
    share /= share.sum()
    return share[:n], (share[n:-1] / mates)[host]
