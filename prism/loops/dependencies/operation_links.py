"""Find the predecessors of each event of a job's operations, in order of time. Compiled. `what_if` defines the events."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Ints, Mask
from collectors.compilation.compiled import compiled
from prism.loops.arrays.group_sums import counted, numbered
from prism.loops.arrays.intervals import Floats, at_half
from prism.loops.dependencies.collective_ends import Codes

WORK, MOVE, JOINED, DONE = range(4)


class Events(NamedTuple):
    """Events without predecessors. `mark` is the number of their transfer or collective.

    `need` is the arrival of their input; for MOVE, the send of its last part, ns; −1 if unknown.
    """

    time: Ints
    kind: NDArray[np.int8]
    rank: Codes
    op: Codes
    mark: Codes
    peer: Codes
    need: Ints

    @property
    def who(self) -> Codes:
        """Rank that acts or receives; −1 for JOINED."""
        return np.where(self.kind == MOVE, self.peer, self.rank)


class Links(NamedTuple):
    """`before` lists the predecessors of all events, `begins` the bounds of each event; int64[n + 1].

    `outer` is one more event that each comes no sooner than, −1 if none; `base` the time of the last predecessor, ns; `shaded`
    whether an event may have come later than the rank's own work allows.
    """

    before: Codes
    begins: Ints
    outer: Ints
    base: Ints
    shaded: Mask


def linked(events: Events, pipe: Mask, heard: Ints, soon: Floats, *, prompt: float = 0.1) -> Links:
    """Find the predecessors of events in order of time. `pipe` marks the streams that are pipelines.

    `heard` is the time of the last control message from the rank's receiver, 0 if none; `soon` the response time of each rank.
    """
    acting, who = np.flatnonzero(events.kind != JOINED), events.who
    said = np.where(events.kind == WORK, -1, events.op)[acting]
    number, at = numbered(who[acting], said)
    of, slots = counted(who[acting[at]], len(soon), np.arange(len(at)))  # one slot per rank and stream, in order of appearance
    place = np.empty(len(at), np.int32)
    place[of] = np.arange(len(at))
    slot = np.full(len(who), -1, np.int32)
    slot[acting] = place.take(number)
    pipes = np.append(pipe, False)[said[at[of]]]
    marks = int(events.mark.max(initial=0)) + 1
    acted = counted(who, len(soon), acting)
    came = counted(slot, len(at), np.flatnonzero(events.kind == MOVE))
    begun = counted(events.mark, marks, np.flatnonzero(events.kind == WORK))
    return Links(*_linked(*events, slot, heard, soon, pipe, slots, pipes, *acted, *came, *begun, prompt))


@compiled
def _below(times: Ints, low: int, high: int, at: int) -> int:
    """Place, from `low` to `high`, of the first of some ascending times at or after `at`: mostly one of the last."""
    step = 1
    while high - step > low and times[high - step] >= at:
        high -= step
        step *= 2
    low = max(low, high - step)
    while low < high:
        middle = (low + high) // 2
        if times[middle] < at:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _room(kind: NDArray[np.int8], rank: Codes, mark: Codes, slots: Ints, begin: Ints) -> int:
    """Upper bound of the number of predecessors of all events."""
    room = 0
    for i in range(len(kind)):
        at, bounds = (rank[i], slots) if kind[i] == WORK else (mark[i], begin)
        room += 1 if kind[i] == DONE else bounds[at + 1] - bounds[at]
    return room


@compiled
def _linked(
    time: Ints,
    kind: NDArray[np.int8],
    rank: Codes,
    op: Codes,
    mark: Codes,
    peer: Codes,
    need: Ints,
    slot: Codes,
    heard: Ints,
    soon: Floats,
    pipe: Mask,
    slots: Ints,
    pipes: Mask,
    acted: Ints,
    acts: Ints,
    came: Ints,
    comes: Ints,
    begun: Ints,
    begin: Ints,
    prompt: float,
) -> tuple[Codes, Ints, Ints, Ints, Mask]:
    n, room = len(time), _room(kind, rank, mark, slots, begin)
    before, begins, base = np.empty(room, np.int32), np.zeros(n + 1, np.int64), np.empty(n, np.int64)
    outer, shaded = np.full(n, -1, np.int64), np.zeros(n, np.bool_)
    acting, ended, first = time[acted], time[came], np.empty(len(came), np.int64)  # in search order
    latest, sent = np.full(len(pipes), -1, np.int64), np.full(len(pipe), -1, np.int64)
    joined = np.full(len(begin), -1, np.int64)
    acts_end, comes_end, begin_end = acts.copy(), comes.copy(), begin.copy()  # ends so far
    k = 0
    for i in range(n):
        if kind[i] == WORK:
            r = rank[i]
            for s in range(slots[r], slots[r + 1]):
                known = pipes[s] and need[i] >= 0 and latest[s] >= 0
                p = _given(came, ended, first, comes[s], comes_end[s], need[i]) if known else latest[s]
                if p >= 0:
                    before[k] = p
                    k += 1
            begin_end[mark[i]] += 1
        elif kind[i] == DONE:
            before[k] = joined[mark[i]]
            k += 1
        else:
            own = begun[begin[mark[i]] : begin_end[mark[i]]]
            before[k : k + len(own)] = own
            k += len(own)
        begins[i + 1] = k
        base[i] = _since(before, begins[i], k, time, i)
        if kind[i] == JOINED:
            joined[mark[i]] = i
            continue
        if kind[i] == WORK:
            most = prompt * (time[i] - base[i])
            queue = sent[op[i]] if pipe[op[i]] else -1
            if heard[i] > base[i] and time[i] - heard[i] <= min(soon[rank[i]], most):
                shaded[i] = True
                outer[i] = _last(latest, slots[peer[i]], slots[peer[i] + int(pipe[op[i]])], time, heard[i])
            elif queue >= 0 and time[queue] > base[i] and time[i] - time[queue] <= most:
                shaded[i], outer[i] = True, queue
        elif kind[i] == MOVE:
            began = time[before[begins[i]]] if k > begins[i] else time[i]
            sent[op[i]] = i
            at = _below(acting, acts[peer[i]], acts_end[peer[i]], need[i]) - 1 if need[i] >= 0 else -1
            if at >= acts[peer[i]] and need[i] - acting[at] <= prompt * (need[i] - began):
                shaded[i], outer[i] = True, acted[at]  # the remainder was sent when the receiver was ready
            first[comes_end[slot[i]]] = began
            comes_end[slot[i]] += 1
        latest[slot[i]] = i
        acts_end[peer[i] if kind[i] == MOVE else rank[i]] += 1
    return before[:k], begins, outer, base, shaded


@compiled
def _since(points: Codes, low: int, high: int, time: Ints, point: int) -> int:
    """Time of the last event from `low` to before `high`; that of `point` if there is none."""
    out: int = time[points[low]] if high > low else time[point]
    for k in range(low + 1, high):
        out = max(out, time[points[k]])
    return out


@compiled
def _given(came: Ints, ended: Ints, first: Ints, low: int, high: int, need: int) -> int:
    """The transfer, of those at `low` to `high`, that had arrived with the data that a rank needed; −1 if none."""
    at = _below(ended, low, high, need)
    if at == high or first[at] > need:
        at -= 1
    return came[at] if at >= low else -1


@compiled
def _last(points: Ints, low: int, high: int, time: Ints, heard: int) -> int:
    """The last event from `low` to before `high` at or before the control message; −1 if there is none."""
    out, most = -1, -2
    for k in range(low, high):
        p = points[k]
        moment = time[p] if time[p] <= heard else -1
        if p >= 0 and moment > most:
            out, most = p, moment
    return out


@compiled
def gathered(
    src: Codes, dst: Codes, begin: Ints, end: Ints, cuts: Ints, ranks: int
) -> tuple[Ints, NDArray[np.int8], Codes, Codes, Codes]:
    """Events of a stream's collectives: time, kind, rank, number of the collective, first receiver.

    `src` and `dst` are the ranks of its records, sorted by begin; those of collective k are at `cuts[k]` to `cuts[k + 1]`.
    First its senders begin, then it is joined, then each of its members is done, in order of appearance.
    """
    room = 3 * len(src) + len(cuts)
    time, kind, rank = np.empty(room, np.int64), np.empty(room, np.int8), np.empty(room, np.int32)
    mark, peer = np.empty(room, np.int32), np.full(room, -1, np.int32)
    sent, known, last = np.full(ranks, -1, np.int64), np.full(ranks, -1, np.int64), np.zeros(ranks, np.int64)
    members = np.empty(ranks, np.int64)
    n = 0
    for c in range(len(cuts) - 1):
        count, joined, opened = 0, 0, n
        for i in range(cuts[c], cuts[c + 1]):
            if sent[src[i]] != c:
                sent[src[i]] = c
                time[n], kind[n], rank[n], peer[n] = begin[i], WORK, src[i], dst[i]
                joined = max(joined, begin[i]) if n > opened else begin[i]
                n += 1
            for one in (src[i], dst[i]):
                if known[one] != c:
                    known[one], last[one], members[count] = c, end[i], one
                    count += 1
                last[one] = max(last[one], end[i])
        time[n], kind[n], rank[n] = joined + 1, JOINED, -1
        n += 1
        for one in members[:count]:
            time[n], kind[n], rank[n] = max(last[one], joined + 1), DONE, one
            n += 1
        mark[opened:n] = c
    return time[:n], kind[:n], rank[:n], mark[:n], peer[:n]


@compiled
def messages(octets: NDArray[Any], slack: float) -> tuple[Ints, Ints]:
    """Bounds of messages, given the octets of their parts: first and last part of each; none is larger than the largest part.

    A one-sided sender stops when the receiver's window is full. A message may be larger by the share `slack`.
    """
    starts, lasts = np.empty(len(octets), np.int64), np.empty(len(octets), np.int64)
    most = octets.max() * (1 + slack) if len(octets) else 0.0
    n, held = 0, 0.0
    for i in range(len(octets)):
        if n and held + octets[i] <= most:
            held += octets[i]
        else:
            starts[n], held = i, octets[i]
            n += 1
        lasts[n - 1] = i
    return starts[:n], lasts[:n]


@compiled
def transfers(
    begin: Ints, end: Ints, octets: Ints, firsts: Ints, lasts: Ints, worded: Mask, slack: float
) -> tuple[Ints, Ints, Ints, Ints]:
    """Split non-empty streams into transfers: stream of each, place of its first record, arrival, and begin of its last part if
    it came in several, else −1.

    The records of a stream, sorted by begin, are at `firsts` to `lasts`. Parts are separated by more than a quarter of a
    typical record. They form `messages`; in a stream whose receiver sends control messages (`worded`) each part is one.
    """
    n, room = 0, (lasts - firsts).sum()
    stream, place = np.empty(room, np.int64), np.empty(room, np.int64)
    come, resumed = np.empty(room, np.int64), np.full(room, -1, np.int64)
    for s in range(len(firsts)):
        low, high, count = firsts[s], lasts[s], 0
        close, reach = at_half(end[low:high] - begin[low:high], octets[low:high]) / 4, end[low]
        parts, size = np.empty(high - low + 1, np.int64), np.zeros(high - low, np.int64)
        for i in range(low, high):
            if count == 0 or begin[i] - reach > close:
                parts[count] = i
                count += 1
            size[count - 1] += octets[i]
            reach = max(reach, end[i])
        parts[count] = high
        opens, closes = (np.arange(count), np.arange(count)) if worded[s] else messages(size[:count], slack)
        for k in range(len(opens)):
            stream[n], place[n] = s, parts[opens[k]]
            come[n] = end[parts[opens[k]] : parts[closes[k] + 1]].max()
            if closes[k] > opens[k]:
                resumed[n] = begin[parts[closes[k]]]
            n += 1
    return stream[:n], place[:n], come[:n], resumed[:n]
