"""Compute what an interrupted step left undone: each stream between ranks, and when it would have continued in other steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import UDP, Flows
from prism.loops import constants as c
from prism.loops.arrays.connection_lanes import connections, lanes
from prism.loops.arrays.edges import sending
from prism.loops.arrays.intervals import Ints
from prism.loops.detection.equal_transfers import borders, rested, unit_of

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(eq=False)
class Stream:
    """Payload of one lane, or readiness messages, from one rank to another; times of its records, ns, and weight of each.

    `low` to `high` are records of the interrupted step, those between `bounds`, int64[n, 2], of compared ones. By compared
    step: `due`, when it would have continued, and `did`, when it last began a transfer, ns since the step's begin; `place`, the
    due record; `halfway`, whether that is within a transfer. `waits`: the sender waits until the receiver is ready, as over
    RDMA.
    """

    src: int
    dst: int
    control: bool
    begin: Ints
    end: Ints
    octets: Floats
    low: int
    high: int
    due: Floats
    did: Floats
    place: Ints
    halfway: NDArray[np.bool_]
    bounds: Ints
    waits: bool
    usual: float = 0.0

    @property
    def moved(self) -> float:
        """Octets in the interrupted step."""
        return 0.0 if self.control else float(self.octets[self.low : self.high].sum())

    @cached_property
    def unit(self) -> float:
        """Octets of one of the equal transfers that a step consists of; 0 if it does not."""
        return unit_of(self.octets, rested(self.begin, self.end), self.bounds)


def by_lane(flows: Flows, codes: Ints) -> list[Rows]:
    """Records between endpoints `codes`, sorted by start, lane by lane; control records are separate lanes."""
    control, place = flows.control(), np.full(len(flows.endpoints), -1)
    place[codes] = np.arange(len(codes))
    inside = np.flatnonzero((place[flows.src] >= 0) & (place[flows.dst] >= 0) & (flows.octets > 0))
    lane = np.zeros(len(inside), np.int64)
    lane[~control[inside]] = 1 + lanes(flows, connections(flows, inside[~control[inside]]))
    key = (flows.src[inside].astype(np.int64) * len(place) + flows.dst[inside]) * (lane.max(initial=0) + 1) + lane
    by = np.lexsort((sending(flows)[inside], key))
    return np.split(inside[by], np.flatnonzero(np.diff(key[by])) + 1) if len(by) else []


def streams_of(
    flows: Flows,
    parts: Sequence[Rows],
    codes: Ints,
    like: Ints,
    since: Ints,
    until: int,
    slack: float,
    *,
    border: float = c.STEP_BORDER,
) -> list[Stream]:
    """Build the streams between ranks, by lane (`parts` as from `by_lane`).

    A step of a stream begins at its longest rest within the share `border` of the step's begin.
    """
    start, control = sending(flows), flows.control()
    place = np.full(len(flows.endpoints), -1)
    place[codes] = np.arange(len(codes))
    zero = np.min(like[:, :, 0], axis=0)
    waits = all(bool((flows.protocol[rows] == UDP).all()) for rows in parts)
    out, words = list[Stream](), dict[tuple[int, int], Ints]()
    for rows in parts:
        src, is_control = int(place[flows.src[rows[0]]]), bool(control[rows[0]])
        octets = np.ones(len(rows)) if is_control else flows.octets[rows].astype(np.float64)
        reach = 0.0 if is_control else border * float(np.median(like[src, :, 1] - like[src, :, 0]))
        low, *bounds = borders(start[rows], flows.end_ns[rows], np.append(since[src], like[src].ravel()), until, reach).tolist()
        none = np.full(like.shape[1], np.inf)
        one = Stream(
            src, int(place[flows.dst[rows[0]]]), is_control, start[rows], flows.end_ns[rows], octets,
            low, int(np.searchsorted(start[rows], until, "right")),
            none, -none, np.zeros(len(none), np.int64), np.zeros(len(none), np.bool_),
            np.reshape(bounds, (-1, 2)), waits,
        )  # fmt: skip
        out.append(one)
        if is_control:
            words[one.src, one.dst] = one.end
    for one in out:
        _compare(one, zero, slack, words.get((one.dst, one.src)))
    return out


def _compare(one: Stream, zero: Ints, slack: float, words: Ints | None) -> None:
    """Compute when the stream would have continued in other steps; `words` are times of the receiver's readiness
    messages, if any.
    """
    bounds = one.bounds
    size = one.octets if one.control else _steady(one, bounds, 4 * slack)
    done = float(size[one.low : one.high].sum())
    itself = float(size[one.low : _unprompted(one, words)].sum())
    border = one.control and np.ptp(np.diff(bounds, axis=1)) > 0  # control messages near a step border are on either side
    totals = []
    for k, (a, b) in enumerate(bounds.tolist()):
        totals.append(0.0 if one.control else float(one.octets[a:b].sum()))
        if a < b and not border:
            place, part = _reached(size[a:b], itself, slack)
            if place or part:
                one.did[k] = one.begin[a + _last_begun(one, a, place - (part == 0))] - zero[k]
            place, part = _reached(size[a:b], done, slack)
            if place < b - a:
                i = a + place
                straight = place > 0 and one.begin[i] - one.end[i - 1] <= np.median(one.end[a:b] - one.begin[a:b])
                one.due[k] = one.begin[i] + part * (one.end[i] - one.begin[i]) - zero[k]
                one.place[k], one.halfway[k] = i, part > 0 or straight
    one.usual = float(np.median(totals))


def _unprompted(one: Stream, words: Ints | None) -> int:
    """Position after the last record of the interrupted step that did not begin directly after a readiness message.

    The sender of prompted records may have been ready long before, and may have left since.
    """
    if one.control or words is None or not len(words):
        return one.high
    at = np.searchsorted(words, one.begin)
    since = np.where(at > 0, one.begin - words[np.maximum(at - 1, 0)], np.iinfo(np.int64).max)
    prompt = since <= c.PROMPT * np.quantile(since, c.PROMPTEST)
    own = np.flatnonzero(~prompt[one.low : one.high])
    return one.low + (int(own[-1]) + 1 if len(own) else 0)


def _last_begun(one: Stream, first: int, last: int) -> int:
    """The record from `first` to `last` with which the sender began the last transfer.

    The remainder of a transfer is sent when the receiver is ready, even if the sender still works.
    """
    if not one.unit:
        return last
    total = np.cumsum(one.octets[first : first + last + 1])
    whole = np.ceil(total[-1] / one.unit - c.PART) - 1
    return int(min(np.searchsorted(total, (whole + c.PART) * one.unit, "right"), last))


def _steady(one: Stream, bounds: Ints, slack: float) -> Floats:
    """Weight of each record: its octets, or if these vary between steps, its share of a run of records."""
    total = np.array([one.octets[a:b].sum() for a, b in bounds.tolist()])
    if not len(total) or np.ptp(total) <= slack * np.median(total):
        return one.octets
    pause = one.begin[1:] - np.maximum.accumulate(one.end)[:-1]
    wide = _as_many(pause, bounds) or float(np.median(one.end - one.begin))
    run = np.concatenate([[0], np.cumsum(pause > wide)])
    return np.asarray(1.0 / np.bincount(run)[run], dtype=np.float64)


def _as_many(pause: Ints, bounds: Ints, *, clear: float = 2.0) -> float | None:
    """Pause, ns, that splits the records of every step into an equal number of runs; None if unclear.

    Pauses between runs are at least `clear` times longer than those within one.
    """
    ranked = [-np.sort(-np.maximum(pause[a : b - 1], 1)) for a, b in bounds.tolist() if a < b]
    least = min(map(len, ranked), default=0)
    if not least:
        return None
    parting = np.min([own[:least] for own in ranked], axis=0)
    inside = np.max([np.append(own, 1)[1 : least + 1] for own in ranked], axis=0)
    best = int(np.argmax(parting / inside))
    return float(np.sqrt(parting[best] * inside[best])) if parting[best] >= clear * inside[best] else None


def _reached(size: Floats, done: float, slack: float) -> tuple[int, float]:
    """Position in a step's records, record and share of it, of a stream that moved `done`; after the last if it is complete.

    A lack of less than half a record may be a record counted differently.
    """
    total = np.cumsum(size)
    if done >= total[-1] * (1 - slack):
        return len(size), 0.0
    near = min(slack * total[-1], float(np.median(size)) / 2) if done else 0.0
    i = min(int(np.searchsorted(total, done + near, "right")), len(total) - 1)
    into = done + near - (total[i] - size[i])
    return i, 0.0 if into <= 2 * near else float(min(into / size[i], 1.0))


def mid_transfer(one: Stream, k: int) -> bool:
    """Whether a stream fell silent within a transfer: by its unit, else by step `k`."""
    part = one.moved / one.unit % 1.0 if one.unit else 0.5 * one.halfway[k]
    return bool(c.PART < part < 1 - c.PART)
