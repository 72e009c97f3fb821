"""How long a rank itself took before it spoke: its own work, told from waiting for others.

A rank that sends has done its work; the silence before is its own, back to the last thing it sent or was given. It was
waiting instead where it sends at once when word comes from the one it sends to (readiness, a credit).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Codes, Flows, Mask
from collectors.compilation.compiled import compiled
from prism.loops.arrays.edges import sending
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.medians import ascending, quantile, rising

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Groups = tuple[Places, Places]  # places, group by group, and where each group begins, as of `group_sums.counted`


def own_work(flows: Flows, code: int, needed: Ints | None = None) -> tuple[Ints, Ints]:
    """Times at which one endpoint spoke, in order, and how long it had worked for that, ns (int64[n] each).

    `flows` are all records from and to the endpoint. Work is 0 where it spoke while it was still being sent to (it was in
    the middle of a collective) and where it had only waited. `needed`, where it is not negative, is when all had come that
    a record hands on: what else came since was for later.
    """
    every, some = told(flows, np.full(len(flows), -1) if needed is None else needed), flows.octets > 0
    return work_at(every, np.flatnonzero(some & (flows.src == code)), np.flatnonzero(some & (flows.dst == code)))[:2]


_START, _END, _NEEDED, _WHO = range(4)
_SIDE = 1 << 32  # the number of a record is so many times its sender, and twice its receiver, and one for a word


def told(flows: Flows, needed: Ints) -> Ints:
    """What `work_at` looks at of each record: when it was sent, had come, and could be sent, and who to whom; int64[n, 4]."""
    return _told(sending(flows), flows.end_ns, flows.src, flows.dst, flows.control(), needed)


@compiled
def _told(sent: Ints, end: Ints, src: Codes, dst: Codes, control: Mask, needed: Ints) -> Ints:
    out = np.empty((len(sent), 4), np.int64)
    for i in range(len(sent)):
        out[i, _START], out[i, _END], out[i, _NEEDED] = sent[i], end[i], needed[i]
        out[i, _WHO] = np.int64(src[i]) * _SIDE + 2 * np.int64(dst[i]) + control[i]
    return out


@compiled
def _talked(records: Ints, places: Places) -> tuple[Ints, Ints, Ints, Ints]:
    """The columns of the records at some places, in order of when they were sent."""
    n = len(places)
    sent, end, needed, who = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        one = records[places[i]]
        sent[i], end[i], needed[i], who[i] = one[_START], one[_END], one[_NEEDED], one[_WHO]
    if ascending(sent):
        return sent, end, needed, who
    order = rising(sent)
    return sent[order], end[order], needed[order], who[order]


@compiled
def _heard(records: Ints, places: Places) -> tuple[Ints, Ints, Ints]:
    """When the records at some places had come, in order, and who to whom; and when payload among them was sent, in order."""
    come, who, sent, n = np.empty(len(places), np.int64), np.empty(len(places), np.int64), np.empty(len(places), np.int64), 0
    for i in range(len(places)):
        one = records[places[i]]
        come[i], who[i], sent[n] = one[_END], one[_WHO], one[_START]
        n += one[_WHO] % 2 == 0
    sent = sent[:n]
    if not ascending(sent):
        sent = sent[rising(sent)]
    if ascending(come):
        return come, who, sent
    order = rising(come)
    return come[order], who[order], sent


@compiled
def work_at(records: Ints, talked: Places, heard: Places) -> tuple[Ints, Ints, Ints]:
    """`own_work` of the endpoint that `talked` the records at some places, all with octets, and `heard` those at others.

    And what was said each time: payload or a word, and to whom, as a number. `records` are as `told`.
    """
    most = 0
    for places in (talked, heard):
        for i in places:
            most = max(most, records[i, _WHO] // _SIDE, records[i, _WHO] % _SIDE // 2)
    return _work_at(records, talked, heard, np.zeros((2, most + 1), np.int64))


@compiled
def _work_at(records: Ints, talked: Places, heard: Places, last: Ints) -> tuple[Ints, Ints, Ints]:
    """`work_at`; `last` has room for two numbers of each endpoint, which are 0 and are left so."""
    said, end, needed, what = _talked(records, talked)
    ends, peers, starts = _heard(records, heard)
    what %= _SIDE
    known = _foreseen(needed, what % 2 > 0, said)
    base, work, called = np.zeros(len(said), np.int64), np.zeros(len(said), np.int64), np.zeros(len(said), np.int64)
    done = given = k = ended = begun = 0
    soon = False
    for i in range(len(said)):
        while k < len(ends) and ends[k] < said[i]:
            word = peers[k] % 2
            last[0, peers[k] // _SIDE] = ends[k]
            if word:
                last[1, peers[k] // _SIDE] = ends[k]
            else:
                given, ended = ends[k], ended + 1
            k += 1
        while begun < len(starts) and starts[begun] < said[i]:
            begun += 1
        called[i] = last[int(known[i] >= 0), what[i] // 2]  # payload that came beside what is needed was for later
        base[i] = max(done, min(known[i], said[i]) if known[i] >= 0 else given)
        if base[i] != 0 and (begun <= ended or known[i] >= 0):
            work[i] = max(said[i] - base[i], 0)
        soon = soon or (called[i] > base[i] and said[i] - called[i] <= 0.1 * work[i])
        done = max(done, end[i])
    for peer in peers[:k]:
        last[0, peer // _SIDE] = last[1, peer // _SIDE] = 0
    if soon:
        _prompted(said, work, base, called, (known >= 0) & (what % 2 == 0), known >= 0)
    return said, work, what


@compiled
def _prompted(said: Ints, work: Ints, base: Ints, called: Ints, exchanged: Mask, known: Mask) -> None:
    """Shortens `work` to the answer where it was said as soon after it was `called` for as the rank answers promptly."""
    answer, came = said - called, called > 0
    # words follow one another at once, and say nothing of how soon the payload of an exchange follows on one
    exchanged &= came
    prompt = 4 * _tenth(answer[came])
    known_prompt = max(prompt, 4 * _tenth(answer[exchanged])) if exchanged.any() else prompt
    for i in range(len(said)):
        soon = known_prompt if known[i] else prompt
        if work[i] > 0 and called[i] > base[i] and answer[i] <= min(soon, 0.1 * work[i]):
            work[i] = answer[i]


@compiled
def _tenth(values: Ints, few: int = 500) -> float:
    """The quantile 0.1 of values in any order; of a `few` only the least are sorted. 0 without any."""
    if len(values) > few:
        return quantile(np.sort(values), 0.1)
    least, most, n = np.empty(len(values), np.int64), (len(values) - 1) // 10 + 2, 0
    for value in values:
        if n == most and value >= least[n - 1]:
            continue
        n = min(n + 1, most)
        k = n - 1
        while k > 0 and least[k - 1] > value:
            least[k] = least[k - 1]
            k -= 1
        least[k] = value
    return quantile(least, 0.1)


@compiled
def worked(records: Ints, talks: Groups, hears: Groups, codes: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """`work_at` of each of some endpoints, one after another, and where each begins and the last ends.

    `talks` and `hears` are the places of the records that each endpoint sends and is sent.
    """
    cuts = np.zeros(len(codes) + 1, np.int64)
    for k in range(len(codes)):
        cuts[k + 1] = cuts[k] + talks[1][codes[k] + 1] - talks[1][codes[k]]
    said, work, what = np.empty(cuts[-1], np.int64), np.empty(cuts[-1], np.int64), np.empty(cuts[-1], np.int64)
    last = np.zeros((2, max(len(talks[1]), len(hears[1]))), np.int64)
    for k in range(len(codes)):
        own = slice(cuts[k], cuts[k + 1])
        said[own], work[own], what[own] = _work_at(records, _of(talks, codes[k]), _of(hears, codes[k]), last)
    return said, work, what, cuts


@compiled
def _of(groups: Groups, code: int) -> Places:
    return groups[0][groups[1][code] : groups[1][code + 1]]


@compiled
def parted(small: Mask, start: Ints, end: Ints, talks: Groups, hears: Groups, codes: Ints, ends: Ints, cuts: Ints) -> Places:
    """The records that are `parting`, of each of some endpoints. The step ends of the k-th are `ends` at `cuts` k to k + 1."""
    if not small.any():
        return np.empty(0, np.intp)
    out, n = np.empty(len(talks[0]), np.intp), 0
    for k in range(len(codes)):
        own = _of(talks, codes[k])
        which = parting(small, start, end, own, _of(hears, codes[k]), ends[cuts[k] : cuts[k + 1]])
        for i in range(len(own)):
            if which[i]:
                out[n] = own[i]
                n += 1
    return out[:n]


@compiled
def _foreseen(needed: Ints, control: Mask, said: Ints) -> Ints:
    """What records need, where a word of readiness needs what the next payload does, if that had come by then."""
    out, coming = needed.copy(), -1
    for i in range(len(said) - 1, -1, -1):
        if not control[i]:
            coming = needed[i]
        elif needed[i] < 0 and coming <= said[i]:
            out[i] = coming
    return out


@compiled
def parting(small: Mask, start: Ints, end: Ints, talks: Places, hears: Places, ends: Ints) -> Mask:
    """Which of the records that an endpoint sends are small ones between the last payload of a step and its end, at `ends`, ns.

    What all say together when a step is done they say when the last of them is, whoever has worked until then. `talks` and
    `hears` are the places of the records that the endpoint sends and is sent.
    """
    last = np.full(len(ends) + 1, np.iinfo(np.int64).max)
    for rows in (talks, hears):
        step = 0
        for i in rows:
            if not small[i]:
                step = _nearby(ends, end[i], step)
                last[step] = end[i] if last[step] == np.iinfo(np.int64).max else max(last[step], end[i])
    out, step = np.zeros(len(talks), np.bool_), 0
    for k in range(len(talks)):
        if small[talks[k]]:
            step = _nearby(ends, start[talks[k]], step)
            out[k] = start[talks[k]] >= last[step]
    return out


@compiled
def _nearby(ends: Ints, time: int, at: int) -> int:
    """How many of some ascending times come before another, near `at`."""
    while at > 0 and ends[at - 1] >= time:
        at -= 1
    while at < len(ends) and ends[at] < time:
        at += 1
    return at
