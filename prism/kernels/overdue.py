"""Whom everybody waits for when a job falls silent in the middle of a step: whoever should have spoken first.

Other steps tell in which order everything is sent. What was not sent yet when the job fell silent waits, directly or not, for
what comes first of it in those steps: an operation never comes before one that it depends on. Its sender hung, unless the
receiver is not ready: it said so before, in other steps, or the sender is in the middle of a transfer. Of two that wait for one
another it is who fell silent first.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.record import Flows
from prism.kernels.edges import sending
from prism.kernels.intervals import Ints
from prism.kernels.lanes import lanes

Floats = NDArray[np.float64]


class Cut(NamedTuple):
    """A step that was cut short: each rank's share of votes that it was due first, and whether it had sent payload in it.

    `votes` and `begun` are [ranks]; `moved` is the share of the step's octets that had moved. `between` are the two ranks
    between which something was due first most often, `often` the share of votes. `first` are the senders and receivers of all
    that may have been due first.
    """

    votes: Floats
    begun: NDArray[np.bool_]
    moved: float
    between: tuple[int, int] = (-1, -1)
    often: float = 0.0
    first: tuple[tuple[int, int], ...] = ()


@dataclass(eq=False)
class _Stream:
    """Payload of one lane, or words of readiness, from one rank to another; times of its records, ns, and what each counts.

    `low` to `high` are those of the cut step. By compared step: `due`, when it would have gone on, `first`, when it began, ns
    since the step's begin; `place`, the record that was due; whether the time is `halfway` in a transfer.
    """

    src: int
    dst: int
    told: bool
    begin: Ints
    end: Ints
    octets: Floats
    low: int
    high: int
    due: Floats
    first: Floats
    place: Ints
    halfway: NDArray[np.bool_]
    usual: float = 0.0

    @property
    def moved(self) -> float:
        """Octets in the cut step."""
        return 0.0 if self.told else float(self.octets[self.low : self.high].sum())


def overdue(
    flows: Flows, codes: Ints, like: Ints, since: Ints, until: int, *, slack: float = 0.005, near: float = 0.001
) -> Cut:
    """What the silence that began at `until`, ns, left undone of the step that each rank began at `since`, ns, int64[ranks].

    `codes` are the ranks' endpoints, `like` begins and ends of the steps it is compared with, ns, int64[ranks, n, 2]. Of a
    stream that moved all but the share `slack` nothing is due. Shares of a step below `near` are no time.
    """
    streams = _streams(flows, codes, like, since, until, slack)
    begun = np.zeros(len(codes), np.bool_)
    for s in streams:
        begun[s.src] |= s.moved > np.median(s.octets) / 2
    usual = sum(s.usual for s in streams)
    length = float(np.median(like[:, :, 1] - like[:, :, 0]))
    votes = _votes(streams, len(codes), until, near * length) if streams else np.zeros(len(codes))
    return Cut(votes, begun, sum(s.moved for s in streams) / usual if usual else 0.0, *_between(streams), _first(streams))


def _between(streams: list[_Stream]) -> tuple[tuple[int, int], float]:
    """The two ranks between which something was due first in most of the steps, and in which share of them."""
    due = np.stack([s.due for s in streams]) if streams else np.zeros((0, 0))
    first = [streams[i] for i in due.argmin(axis=0)[np.isfinite(due).any(axis=0)].tolist()] if due.size else []
    pairs = Counter((min(s.src, s.dst), max(s.src, s.dst)) for s in first)
    if not pairs:
        return (-1, -1), 0.0
    pair, times = pairs.most_common(1)[0]
    return pair, times / due.shape[1]


def _first(streams: list[_Stream]) -> tuple[tuple[int, int], ...]:
    """Between whom something was due that came after nothing else that was due in all steps: then it does not wait for that.

    Only what was first in one of the steps is asked whether it always came before.
    """
    due = np.stack([s.due for s in streams]) if streams else np.zeros((0, 0))
    if not due.size:
        return ()
    known = np.isfinite(due).any(axis=0)
    waits = ~np.isfinite(due).any(axis=1)
    for i in np.unique(due.argmin(axis=0)[known]).tolist():
        waits |= (due[i] <= due).all(axis=1) & (due[i] < due).any(axis=1)
    return tuple((streams[i].src, streams[i].dst) for i in np.flatnonzero(~waits).tolist())


def _streams(flows: Flows, codes: Ints, like: Ints, since: Ints, until: int, slack: float) -> list[_Stream]:
    start, control = sending(flows), flows.control()
    place = np.full(len(flows.endpoints), -1)
    place[codes] = np.arange(len(codes))
    inside = np.flatnonzero((place[flows.src] >= 0) & (place[flows.dst] >= 0) & (flows.octets > 0))
    lane = np.zeros(len(inside), np.int64)
    lane[~control[inside]] = 1 + lanes(flows, inside[~control[inside]])
    key = (flows.src[inside].astype(np.int64) * len(place) + flows.dst[inside]) * (lane.max(initial=0) + 1) + lane
    by = np.lexsort((start[inside], key))
    zero = np.min(like[:, :, 0], axis=0)
    out = []
    for rows in np.split(inside[by], np.flatnonzero(np.diff(key[by])) + 1):
        src, told = int(place[flows.src[rows[0]]]), bool(control[rows[0]])
        octets = np.ones(len(rows)) if told else flows.octets[rows].astype(np.float64)
        low, high = np.searchsorted(start[rows], [since[src], until], "right").tolist()
        none = np.full(like.shape[1], np.inf)
        one = _Stream(
            src, int(place[flows.dst[rows[0]]]), told, start[rows], flows.end_ns[rows], octets, low, high,
            none, none.copy(), np.zeros(len(none), np.int64), np.zeros(len(none), np.bool_),
        )  # fmt: skip
        _compare(one, np.searchsorted(start[rows], like[src], "right"), zero, slack)
        out.append(one)
    return out


def _compare(one: _Stream, bounds: Ints, zero: Ints, slack: float) -> None:
    """Fill in when the stream would have gone on in other steps, whose records are those between `bounds`, int64[n, 2]."""
    size = one.octets if one.told else _steady(one, bounds, 4 * slack)
    done = float(size[one.low : one.high].sum())
    border = one.told and np.ptp(np.diff(bounds, axis=1)) > 0  # words near a step's border fall on either side of it
    totals = []
    for k, (a, b) in enumerate(bounds.tolist()):
        totals.append(0.0 if one.told else float(one.octets[a:b].sum()))
        if a < b and not border:
            one.first[k] = one.begin[a] - zero[k]
            place, part = _reached(size[a:b], done, slack)
            if place < b - a:
                i = a + place
                straight = place > 0 and one.begin[i] - one.end[i - 1] <= np.median(one.end[a:b] - one.begin[a:b])
                one.due[k] = one.begin[i] + part * (one.end[i] - one.begin[i]) - zero[k]
                one.place[k], one.halfway[k] = i, part > 0 or straight
    one.usual = float(np.median(totals))


def _steady(one: _Stream, bounds: Ints, slack: float) -> Floats:
    """What each record counts: its octets, or where these vary from step to step, its part of a run of records."""
    total = np.array([one.octets[a:b].sum() for a, b in bounds.tolist()])
    if not len(total) or np.ptp(total) <= slack * np.median(total):
        return one.octets
    pause = one.begin[1:] - np.maximum.accumulate(one.end)[:-1]
    wide = _as_many(pause, bounds) or float(np.median(one.end - one.begin))
    run = np.concatenate([[0], np.cumsum(pause > wide)])
    return np.asarray(1.0 / np.bincount(run)[run], dtype=np.float64)


def _as_many(pause: Ints, bounds: Ints, *, clear: float = 2.0) -> float | None:
    """The pause, ns, that parts the records of every step into as many runs; None where none does clearly.

    Pauses that part runs are at least `clear` times as long as any within one.
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
    """In which of a step's records, and how far into it, a stream has come that moved `done`; behind the last if it is through.

    What lacks less than half a record of one may be a record counted otherwise.
    """
    total = np.cumsum(size)
    if done >= total[-1] * (1 - slack):
        return len(size), 0.0
    near = min(slack * total[-1], float(np.median(size)) / 2)
    i = min(int(np.searchsorted(total, done + near, "right")), len(total) - 1)
    into = done + near - (total[i] - size[i])
    return i, 0.0 if into <= 2 * near else float(min(into / size[i], 1.0))


def _votes(streams: list[_Stream], ranks: int, until: int, near: float, *, sure: float = 0.9) -> Floats:
    """Each rank's share of the steps in which it is to blame for what was due first.

    Times that are nearer than `near`, ns, do not tell what was first. A rank that is at one end in `sure` of the steps, and
    nobody else in more than half of them, is to blame.
    """
    due = np.stack([s.due for s in streams])
    last = np.full(ranks, -np.inf)
    for s in streams:
        last[s.src] = max(last[s.src], s.end[s.high - 1] if s.high else -np.inf)
    blamed, either = np.zeros(ranks), np.zeros(ranks)
    share = 1 / due.shape[1]
    for k in np.flatnonzero(np.isfinite(due).any(axis=0)).tolist():
        one = streams[int(np.argmin(due[:, k]))]
        either[[one.src, one.dst]] += share
        back = [s for s in streams if (s.src, s.dst) == (one.dst, one.src)]
        same = [s for s in back if not s.told and s.due[k] - one.due[k] <= near and s.halfway[k] == one.halfway[k]]
        same = [s for s in same if not _always_after(s, one, near)]
        if same and not one.told:
            if abs(last[one.src] - last[one.dst]) > near:
                blamed[min(one.src, one.dst, key=lambda r: last[r])] += share
        else:
            ready = _ready(one, [s for s in back if s.told], until)
            blamed[one.dst if ready is False or (ready is None and one.halfway[k]) else one.src] += share
    second, top = np.sort(either)[-2:]
    return either * (either >= sure) if top >= sure and second <= 0.5 else blamed


def _always_after(later: _Stream, one: _Stream, near: float, *, least: int = 4, share: float = 0.1) -> bool:
    """Whether one thing came after another in all steps, and not by next to nothing: then it may wait for that."""
    known = np.isfinite(one.due) & np.isfinite(later.due)
    after = later.due[known] - one.due[known]
    return len(after) >= least and bool((after > 0).all() and np.median(after) > share * near)


def _ready(one: _Stream, words: list[_Stream], until: int, *, share: float = 0.8) -> bool | None:
    """Whether the receiver of what was due had said all that it says before; None where it says nothing, or at any time."""
    places = one.place[np.isfinite(one.due) & (one.place > 0)]
    if one.told or not words or not len(places):
        return None
    said = words[0].begin
    before = np.array([np.diff(np.searchsorted(said, [one.end[i - 1], one.begin[i]]))[0] for i in places.tolist()])
    usual = np.median(before)
    if usual < 1 or np.mean(before == usual) < share:
        return None
    since = one.end[one.high - 1] if one.high else 0
    return bool(np.diff(np.searchsorted(said, [since, until], "right"))[0] >= usual)
