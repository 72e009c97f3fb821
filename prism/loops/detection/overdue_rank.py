"""Whom everybody waits for when a job falls silent in the middle of a step: whoever should have spoken first.

Other steps tell in which order everything is sent. What was not sent yet when the job fell silent waits, directly or not, for
what comes first of it in those steps: an operation never comes before one that it depends on. Its sender hung, unless it did
what comes later, or the receiver is not ready: it said so before, in other steps, or the sender is in the middle of a transfer.
Of two that wait for one another it is who fell silent first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows
from prism.loops.arrays.intervals import Ints
from prism.loops.detection.unfinished_transfers import Rows, Stream, standing, streams_of

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


def overdue(
    flows: Flows,
    parts: Sequence[Rows],
    codes: Ints,
    like: Ints,
    since: Ints,
    until: int,
    *,
    slack: float = 0.005,
    near: float = 0.001,
) -> Cut:
    """What the silence that began at `until`, ns, left undone of the step that each rank began at `since`, ns, int64[ranks].

    `parts` are the records by lane (`unfinished_transfers.by_lane`), `codes` the ranks' endpoints, `like` begins and ends of
    the steps it is compared with, ns, int64[ranks, n, 2]. Of a stream that moved all but the share `slack` nothing is due.
    Shares of a step below `near` are no time.
    """
    streams = streams_of(flows, parts, codes, like, since, until, slack)
    begun = np.zeros(len(codes), np.bool_)
    for s in streams:
        begun[s.src] |= s.moved > min(np.median(s.octets) / 2, 4 * slack * s.usual)  # TCP may be all of a step in one record
    usual = sum(s.usual for s in streams)
    length = float(np.median(like[:, :, 1] - like[:, :, 0]))
    votes = np.zeros(len(codes))
    if (absent := _absent(streams, np.min(like[:, :, 0], axis=0), until, near * length)) is not None:
        votes[absent] = 1.0
    elif streams:
        votes = _votes(streams, len(codes), until, near * length)
    return Cut(votes, begun, sum(s.moved for s in streams) / usual if usual else 0.0, *_between(streams), _first(streams))


def _absent(streams: list[Stream], zero: Ints, until: int, near: float, *, least: int = 4, apart: float = 2.0) -> int | None:
    """Who had said nothing for longest, by `apart` times as much as it ever is behind all others where something is due next,
    and by more than these are apart.

    Words count, of those who wait and are ready; where not all say any, nobody is. `zero` is when compared steps began, ns.
    """
    due = np.stack([s.due for s in streams]) if streams else np.full((1, 1), np.inf)
    known = np.isfinite(due).any(axis=0)
    times: dict[int, list[Ints]] = defaultdict(list)
    for s in streams:
        times[s.src] += [s.begin, s.end]
    who = list(times)
    if known.sum() < least or len(who) < 3 or len({s.src for s in streams if s.told}) < len(who):
        return None
    sounds = [np.sort(np.concatenate(own)) for own in times.values()]
    at = np.append((zero + due.min(axis=0, where=np.isfinite(due), initial=np.inf))[known], until)
    heard = np.stack([np.append(0, own)[np.searchsorted(own, at)] for own in sounds])
    last = int(np.argmin(heard[:, -1]))
    others = np.delete(heard, last, axis=0)
    behind = others.min(axis=0) - heard[last]
    return who[last] if behind[-1] > max(apart * max(behind[:-1].max(), near), np.ptp(others[:, -1])) else None


def _between(streams: list[Stream]) -> tuple[tuple[int, int], float]:
    """The two ranks between which something was due first in most of the steps, and in which share of them."""
    due = np.stack([s.due for s in streams]) if streams else np.zeros((0, 0))
    first = [streams[i] for i in due.argmin(axis=0)[np.isfinite(due).any(axis=0)].tolist()] if due.size else []
    pairs = Counter((min(s.src, s.dst), max(s.src, s.dst)) for s in first)
    if not pairs:
        return (-1, -1), 0.0
    pair, times = pairs.most_common(1)[0]
    return pair, times / due.shape[1]


def _first(streams: list[Stream]) -> tuple[tuple[int, int], ...]:
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


def _votes(streams: list[Stream], ranks: int, until: int, near: float, *, sure: float = 0.9, clear: float = 0.6) -> Floats:
    """Each rank's share of the steps in which it is to blame for what was due first.

    A rank that is at one end in `sure` of the steps, and nobody else in more than half of them, is to blame. Where nobody is in
    `clear` of them, it is the one for whom all others wait.
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
        who = _to_blame(streams, one, k, last, until, near)
        if who is not None:
            blamed[who] += share
    second, top = np.sort(either)[-2:]
    blamed = either * (either >= sure) if top >= sure and second <= 0.5 else blamed
    awaited = _awaited(streams) if blamed.max() < clear else None
    return blamed if awaited is None else np.where(np.arange(ranks) == awaited, either.sum() / 2, 0.0)


def _awaited(streams: list[Stream]) -> int | None:
    """The one rank that does not wait in the middle of what it sends, of all for whom others do; None if none or several.

    Nor if it sends nothing that is seen: it may wait for a neighbour in its host.
    """
    stand = [s for s in streams if not s.told and s.unit and standing(s, 0)]
    awaited = {s.dst for s in stand} - {s.src for s in stand}
    return awaited.pop() if len(awaited) == 1 and awaited <= {s.src for s in streams if not s.told} else None


def _to_blame(streams: list[Stream], one: Stream, k: int, last: Floats, until: int, near: float) -> int | None:
    """Which of the two ranks of what was due first in step `k` is to blame; None where neither shows it.

    Of the two it is who did nothing that comes later. Times that are nearer than `near`, ns, do not tell what was first; `last`
    is when each rank sent last, ns.
    """
    still = _went_on(streams, one, k, near)
    if still is not None:
        return one.src if still == one.dst else one.dst
    silent = _silent(streams, one, until)
    if silent is not None:
        return silent
    back = [s for s in streams if (s.src, s.dst) == (one.dst, one.src)]
    same = [s for s in back if not s.told and s.due[k] - one.due[k] <= near and standing(s, k) == standing(one, k)]
    same = [s for s in same if not _always_after(s, one, near)]
    if same and not one.told:
        return min(one.src, one.dst, key=lambda r: last[r]) if abs(last[one.src] - last[one.dst]) > near else None
    ready = _ready(one, [s for s in back if s.told], until)
    return one.dst if ready is False or (ready is None and standing(one, k)) else one.src


def _went_on(streams: list[Stream], one: Stream, k: int, near: float) -> int | None:
    """Which of the two ranks of what was due did what comes later in step `k`, alone.

    That is, sent it; or where senders wait for who is not ready, and the receiver had begun nothing of what it was due to send
    by then, took part in it.
    """
    later = [s for s in streams if not s.told and s.did[k] >= one.due[k]]
    sent = {s.src for s in later} & {one.src, one.dst}
    if len(sent) == 1:
        return sent.pop()
    own = [s for s in streams if s.src == one.dst and not s.told and np.isfinite(s.due[k])]
    begun, progress = any(standing(s, k) for s in own), max(s.did[k] for s in streams)
    absent = any(s.due[k] <= progress and not _always_after(s, one, near) for s in own) and not begun
    met = {r for s in later for r in (s.src, s.dst)} & {one.src, one.dst}
    return met.pop() if one.waits and absent and len(met) == 1 else None


def _silent(
    streams: list[Stream], one: Stream, until: int, *, share: float = 0.8, least: int = 4, slack: float = 0.01
) -> int | None:
    """Which of two that exchange as much has said nothing since they last did, where both always do before either sends.

    None where something else tells: where nothing goes back, both have spoken, or neither has.
    """
    ends = (one.src, one.dst)
    words = {s.src: s.begin for s in streams if s.told and {s.src, s.dst} == set(ends)}
    back = [s for s in streams if not s.told and (s.src, s.dst) == ends[::-1] and abs(s.usual - one.usual) <= slack * one.usual]
    if one.told or len(words) < 2 or not back:
        return None
    begin, end = (np.concatenate([getattr(s, side) for s in (one, *back)]) for side in ("begin", "end"))
    rest = int(np.median(end - begin))
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], np.maximum.accumulate(end[order])
    first = 1 + np.flatnonzero((begin[1:] - end[:-1] > rest) & (begin[1:] <= until))
    both = [_spoke(words[rank], end[first - 1], begin[first]) for rank in ends]
    if len(first) < least or np.mean(both[0] & both[1]) < share:
        return None
    last = end[np.searchsorted(begin, until, "right") - 1]
    now = [bool(_spoke(words[rank], last, until)) for rank in ends]
    return ends[now.index(False)] if now[0] != now[1] else None


def _spoke(words: Ints, since: Ints, until: Ints | int) -> NDArray[np.bool_]:
    """Whether words came after some times and until others, ns."""
    return np.searchsorted(words, until, "right") > np.searchsorted(words, since, "right")


def _always_after(later: Stream, one: Stream, near: float, *, least: int = 4, share: float = 0.1) -> bool:
    """Whether one thing came after another in all steps, and not by next to nothing: then it may wait for that."""
    known = np.isfinite(one.due) & np.isfinite(later.due)
    after = later.due[known] - one.due[known]
    return len(after) >= least and bool((after > 0).all() and np.median(after) > share * near)


def _ready(one: Stream, words: list[Stream], until: int, *, share: float = 0.8) -> bool | None:
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
