"""Find the rank that all ranks wait for when a job falls silent within a step: the one that was due to send first.

Other steps show the order of all sends. Data that was not sent when the job fell silent waits, directly or not, for the first
of it in those steps: an operation never precedes one that it depends on. The sender of the first hung, unless it did something
later in the order, or the receiver is not ready: the receiver sends readiness messages in other steps, or the sender is within
a transfer. Of two ranks that wait for each other it is the one that fell silent first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows
from prism.loops import constants as c
from prism.loops.arrays.intervals import Ints
from prism.loops.detection.unfinished_transfers import Rows, Stream, mid_transfer, streams_of

Floats = NDArray[np.float64]


class Cut(NamedTuple):
    """An interrupted step: the share of votes that each rank was due first, and whether it had sent payload in the step.

    `votes` and `begun` are [ranks]; `moved` is the share of the step's octets that had moved. `between` are the two ranks
    between which data was due first most often, `often` the share of votes. `first` lists senders and receivers of all data
    that may have been due first. `unsure` is the share of votes of each rank, as sender, and of its receivers, that rest on no
    evidence of which of the two hung: float64[2, ranks].
    """

    votes: Floats
    begun: NDArray[np.bool_]
    moved: float
    between: tuple[int, int] = (-1, -1)
    often: float = 0.0
    first: tuple[tuple[int, int], ...] = ()
    unsure: Floats = np.zeros((2, 0))

    @property
    def likely(self) -> Floats:
        """Probability of each rank: its votes, of which the receiver has a share where nothing shows whether it was ready."""
        if not self.unsure.size:
            return self.votes
        sender, receiver = self.unsure
        return np.asarray(self.votes + (1 - c.SENDER_HUNG) * (receiver - sender), np.float64)


def overdue(
    flows: Flows,
    parts: Sequence[Rows],
    codes: Ints,
    like: Ints,
    since: Ints,
    until: int,
    *,
    slack: float = c.COMPLETE,
    near: float = c.ORDER,
) -> Cut:
    """Find the data that was due in the step when the silence began at `until`, ns; each rank began the step at `since`, ns.

    Parameters
    ----------
    flows : Flows
        Records of the job.
    parts : sequence of row arrays
        Records by lane (`unfinished_transfers.by_lane`).
    codes : int64[ranks]
        Endpoint of each rank.
    like : int64[ranks, n, 2]
        Begins and ends of the steps to compare with, ns.
    since : int64[ranks]
        Begin of the interrupted step of each rank, ns.
    until : int
        Begin of the silence, ns.
    slack : float
        A stream that moved all but this share of its octets is complete.
    near : float
        Shortest time difference that shows an order, as a share of a step.

    Returns
    -------
    Cut
        Votes of the compared steps.
    """
    streams = streams_of(flows, parts, codes, like, since, until, slack)
    begun = np.zeros(len(codes), np.bool_)
    for s in streams:
        begun[s.src] |= s.moved > min(np.median(s.octets) / 2, 4 * slack * s.usual)  # a TCP record may contain a whole step
    usual = sum(s.usual for s in streams)
    length = float(np.median(like[:, :, 1] - like[:, :, 0]))
    votes, unsure = np.zeros(len(codes)), np.zeros((2, len(codes)))
    first = _first(streams)
    if (absent := _absent(streams, np.min(like[:, :, 0], axis=0), until, near * length)) is not None:
        votes[absent] = 1.0
    elif streams:
        votes, unsure = _votes(streams, len(codes), until, near * length, first)
    return Cut(votes, begun, sum(s.moved for s in streams) / usual if usual else 0.0, *_between(streams), first, unsure)


def _absent(
    streams: list[Stream], zero: Ints, until: int, near: float, *, least: int = c.EXAMPLES, apart: float = 2.0
) -> int | None:
    """Find the rank that was silent for longest: `apart` times longer than usual behind all others at the next due data, and by
    more than the others differ.

    Control messages of waiting and ready ranks count; if not all ranks send any, the answer is None. `zero` is the begin of the
    compared steps, ns.
    """
    due = np.stack([s.due for s in streams]) if streams else np.full((1, 1), np.inf)
    known = np.isfinite(due).any(axis=0)
    times: dict[int, list[Ints]] = defaultdict(list)
    for s in streams:
        times[s.src] += [s.begin, s.end]
    who = list(times)
    if known.sum() < least or len(who) < c.TRIANGLE or len({s.src for s in streams if s.control}) < len(who):
        return None
    sounds = [np.sort(np.concatenate(own)) for own in times.values()]
    at = np.append((zero + due.min(axis=0, where=np.isfinite(due), initial=np.inf))[known], until)
    heard = np.stack([np.append(0, own)[np.searchsorted(own, at)] for own in sounds])
    last = int(np.argmin(heard[:, -1]))
    others = np.delete(heard, last, axis=0)
    behind = others.min(axis=0) - heard[last]
    return who[last] if behind[-1] > max(apart * max(behind[:-1].max(), near), np.ptp(others[:, -1])) else None


def _between(streams: list[Stream]) -> tuple[tuple[int, int], float]:
    """The two ranks between which data was due first in most of the steps, and the share of these steps."""
    due = np.stack([s.due for s in streams]) if streams else np.zeros((0, 0))
    first = [streams[i] for i in due.argmin(axis=0)[np.isfinite(due).any(axis=0)].tolist()] if due.size else []
    pairs = Counter((min(s.src, s.dst), max(s.src, s.dst)) for s in first)
    if not pairs:
        return (-1, -1), 0.0
    pair, times = pairs.most_common(1)[0]
    return pair, times / due.shape[1]


def _first(streams: list[Stream]) -> tuple[tuple[int, int], ...]:
    """Ranks between which data was due that did not follow other due data in all steps; so it does not wait for that data.

    Only data that was first in one of the steps is checked as a predecessor. Equal times show no order: then, of lanes of
    equal volume, as in one ring, those that moved nothing yet have no predecessor.
    """
    due = np.stack([s.due for s in streams]) if streams else np.zeros((0, 0))
    if not due.size:
        return ()
    known = np.isfinite(due).any(axis=0)
    waits = ~np.isfinite(due).any(axis=1)
    for i in np.unique(due.argmin(axis=0)[known]).tolist():
        seen = np.isfinite(due[i])
        waits |= (due[:, seen] > due[i, seen]).all(axis=1)
    left = [streams[i] for i in np.flatnonzero(~waits).tolist()]
    return tuple((one.src, one.dst) for one in left if not any(_begun_before(one, other) for other in left))


def _begun_before(one: Stream, other: Stream, *, slack: float = c.COMPLETE, equal: float = c.EQUAL) -> bool:
    """Whether a stream moved some of the step, and another one of equal volume nothing."""
    alike = not one.control and not other.control and abs(one.usual - other.usual) <= equal * one.usual
    return alike and other.moved <= slack * one.usual < one.moved


def _shared(first: Sequence[tuple[int, int]]) -> int | None:
    """The one rank at an end of all data that may have been due first; None if there is none, or several.

    It sent nothing to one rank and was not ready for another. Each of its partners would explain only its own data.
    """
    ranks = set.intersection(*map(set, first)) if len(first) > 1 else set()
    return ranks.pop() if len(ranks) == 1 else None


def _votes(
    streams: list[Stream],
    ranks: int,
    until: int,
    near: float,
    first: Sequence[tuple[int, int]],
    *,
    sure: float = c.ALWAYS_AT_END,
    clear: float = c.MOSTLY_BLAMED,
) -> tuple[Floats, Floats]:
    """Share of the steps in which each rank is to blame for the data that was due first, and those without evidence
    (`Cut.unsure`).

    A rank at one end in the share `sure` of the steps is to blame, if no other is in more than half of them. If no rank reaches
    the share `clear`, it is the one that all others wait for. `first`: as in `Cut`.
    """
    due = np.stack([s.due for s in streams])
    last = np.full(ranks, -np.inf)
    for s in streams:
        last[s.src] = max(last[s.src], s.end[s.high - 1] if s.high else -np.inf)
    blamed, either, unsure = np.zeros(ranks), np.zeros(ranks), np.zeros((2, ranks))
    share, shared = 1 / due.shape[1], _shared(first)
    for k in np.flatnonzero(np.isfinite(due).any(axis=0)).tolist():
        earliest = [s for s in streams if s.due[k] == due[:, k].min()]
        one = next((s for s in earliest if (s.src, s.dst) in first), earliest[0])
        either[[one.src, one.dst]] += share
        who, known = _to_blame(streams, one, k, last, until, near)
        if not known and shared in (one.src, one.dst):
            who, known = shared, True
        if who is not None:
            blamed[who] += share
            unsure[:, [one.src, one.dst]] += share * (not known) * np.eye(2)
    second, top = np.sort(either)[-2:]
    none = np.zeros_like(unsure)
    if top >= sure and second <= 0.5:
        blamed, unsure = either * (either >= sure), none
    awaited = _awaited(streams) if blamed.max() < clear else None
    return (blamed, unsure) if awaited is None else (np.where(np.arange(ranks) == awaited, either.sum() / 2, 0.0), none)


def _awaited(streams: list[Stream]) -> int | None:
    """The one rank that is not within a transfer, of all ranks that others wait for; None if there is none, or several.

    None also if it sends nothing visible: it may wait for a neighbour on its host.
    """
    stand = [s for s in streams if not s.control and s.unit and mid_transfer(s, 0)]
    awaited = {s.dst for s in stand} - {s.src for s in stand}
    return awaited.pop() if len(awaited) == 1 and awaited <= {s.src for s in streams if not s.control} else None


def _to_blame(streams: list[Stream], one: Stream, k: int, last: Floats, until: int, near: float) -> tuple[int | None, bool]:
    """The rank, of the two of the data due first in step `k`, that is to blame, None if unclear; and whether evidence says so.

    It is the one that did nothing later in the order. Times closer than `near`, ns, show no order. `last` is the last send of
    each rank, ns. Without evidence it is the sender.
    """
    still = _went_on(streams, one, k, near)
    if still is not None:
        return (one.src if still == one.dst else one.dst), True
    silent = _silent(streams, one, until)
    if silent is not None:
        return silent, True
    back = [s for s in streams if (s.src, s.dst) == (one.dst, one.src)]
    same = [s for s in back if not s.control and s.due[k] - one.due[k] <= near and mid_transfer(s, k) == mid_transfer(one, k)]
    same = [s for s in same if not _always_after(s, one, near)]
    if same and not one.control:
        apart = abs(last[one.src] - last[one.dst]) > near
        return (min(one.src, one.dst, key=lambda r: last[r]) if apart else None), True
    ready = _ready(one, [s for s in back if s.control], until)
    halfway = ready is None and mid_transfer(one, k)
    return (one.dst if ready is False or halfway else one.src), one.control or halfway or ready is not None


def _went_on(streams: list[Stream], one: Stream, k: int, near: float) -> int | None:
    """The one rank, of the two of the due data, that took part in data later in step `k`.

    It sent such data; or, if senders wait for a receiver and the receiver had begun none of its own due data, it took part in
    such data.
    """
    later = [s for s in streams if not s.control and s.did[k] >= one.due[k]]
    sent = {s.src for s in later} & {one.src, one.dst}
    if len(sent) == 1:
        return sent.pop()
    own = [s for s in streams if s.src == one.dst and not s.control and np.isfinite(s.due[k])]
    begun, progress = any(mid_transfer(s, k) for s in own), max(s.did[k] for s in streams)
    absent = any(s.due[k] <= progress and not _always_after(s, one, near) for s in own) and not begun
    met = {r for s in later for r in (s.src, s.dst)} & {one.src, one.dst}
    return met.pop() if one.waits and absent and len(met) == 1 else None


def _silent(
    streams: list[Stream],
    one: Stream,
    until: int,
    *,
    share: float = c.MOST_STEPS,
    least: int = c.EXAMPLES,
    slack: float = c.EQUAL,
) -> int | None:
    """The rank, of two with equal exchange, that has sent no control message since their last exchange, if both always do.

    None if this shows nothing: no data in the other direction, both have sent messages, or neither has.
    """
    ends = (one.src, one.dst)
    words = {s.src: s.begin for s in streams if s.control and {s.src, s.dst} == set(ends)}
    back = [
        s for s in streams if not s.control and (s.src, s.dst) == ends[::-1] and abs(s.usual - one.usual) <= slack * one.usual
    ]
    if one.control or len(words) < 2 or not back:
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
    """Whether control messages were sent between some times and others, ns."""
    return np.searchsorted(words, until, "right") > np.searchsorted(words, since, "right")


def _always_after(later: Stream, one: Stream, near: float, *, least: int = c.EXAMPLES, share: float = c.NEGLIGIBLE) -> bool:
    """Whether one transfer began after another in all steps, by more than a negligible time: then it may wait for the other."""
    known = np.isfinite(one.due) & np.isfinite(later.due)
    after = later.due[known] - one.due[known]
    return len(after) >= least and bool((after > 0).all() and np.median(after) > share * near)


def _ready(one: Stream, words: list[Stream], until: int, *, share: float = c.MOST_STEPS) -> bool | None:
    """Whether the receiver of the due data had sent all control messages that it usually sends before; None if it
    sends none.
    """
    places = one.place[np.isfinite(one.due) & (one.place > 0)]
    if one.control or not words or not len(places):
        return None
    said = words[0].begin
    before = np.array([np.diff(np.searchsorted(said, [one.end[i - 1], one.begin[i]]))[0] for i in places.tolist()])
    usual = np.median(before)
    if usual < 1 or np.mean(before == usual) < share:
        return None
    since = one.end[one.high - 1] if one.high else 0
    return bool(np.diff(np.searchsorted(said, [since, until], "right"))[0] >= usual)
