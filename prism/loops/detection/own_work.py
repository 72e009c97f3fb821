"""Compute the own work of a rank before each send, separate from waiting for others.

A rank that sends has done its work. The silence before is own work, back to the last data that it sent or received. It waited
instead if it sends immediately after a control message (readiness, a credit) of its receiver.
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
    """Compute the times at which one endpoint sent, sorted, and its own work before each, ns (int64[n] each).

    Parameters
    ----------
    flows : Flows
        All records from and to the endpoint.
    code : int
        The endpoint.
    needed : int64[flows] or None
        Time at which all data that a record forwards had arrived, ns; negative if unknown. Later data was for later records.

    Returns
    -------
    two int64 arrays
        Work is 0 if the endpoint was still receiving (within a collective), or had only waited.
    """
    every, some = send_records(flows, np.full(len(flows), -1) if needed is None else needed), flows.octets > 0
    return work_at(every, np.flatnonzero(some & (flows.src == code)), np.flatnonzero(some & (flows.dst == code)))[:2]


_START, _END, _NEEDED, _WHO = range(4)
_SIDE = 1 << 32  # record key: this × sender + 2 × receiver + 1 if control


def send_records(flows: Flows, needed: Ints) -> Ints:
    """Collect the columns of records that `work_at` reads: sent, arrived, ready, sender, receiver and kind; int64[n, 4]."""
    return _send_records(sending(flows), flows.end_ns, flows.src, flows.dst, flows.control(), needed)


@compiled
def _send_records(sent: Ints, end: Ints, src: Codes, dst: Codes, control: Mask, needed: Ints) -> Ints:
    out = np.empty((len(sent), 4), np.int64)
    for i in range(len(sent)):
        out[i, _START], out[i, _END], out[i, _NEEDED] = sent[i], end[i], needed[i]
        out[i, _WHO] = np.int64(src[i]) * _SIDE + 2 * np.int64(dst[i]) + control[i]
    return out


@compiled
def _sent_columns(records: Ints, places: Places) -> tuple[Ints, Ints, Ints, Ints]:
    """Columns of the records at some places, sorted by the time they were sent."""
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
def _received_columns(records: Ints, places: Places) -> tuple[Ints, Ints, Ints]:
    """Arrival times of the records at some places, sorted, with sender, receiver and kind; and times when payload was
    sent, sorted.
    """
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
def work_at(records: Ints, sent_rows: Places, received_rows: Places) -> tuple[Ints, Ints, Ints]:
    """Compute `own_work` of the endpoint that sent and received the records at `sent_rows` and `received_rows`, all with
    octets.

    Also returns the message of each send as a number: receiver, and payload or control. `records` are from `send_records`.
    """
    most = 0
    for places in (sent_rows, received_rows):
        for i in places:
            most = max(most, records[i, _WHO] // _SIDE, records[i, _WHO] % _SIDE // 2)
    return _work_at(records, sent_rows, received_rows, np.zeros((2, most + 1), np.int64))


@compiled
def _work_at(records: Ints, sent_rows: Places, received_rows: Places, last: Ints) -> tuple[Ints, Ints, Ints]:
    """`work_at` with memory: `last` has two zeros for each endpoint, which are zero again afterwards."""
    sent_at, end, needed, message = _sent_columns(records, sent_rows)
    ends, peers, starts = _received_columns(records, received_rows)
    message %= _SIDE
    known = _shared_need(needed, message % 2 > 0, sent_at)
    base, work, called = np.zeros(len(sent_at), np.int64), np.zeros(len(sent_at), np.int64), np.zeros(len(sent_at), np.int64)
    done = given = k = ended = begun = 0
    soon = False
    for i in range(len(sent_at)):
        while k < len(ends) and ends[k] < sent_at[i]:
            word = peers[k] % 2
            last[0, peers[k] // _SIDE] = ends[k]
            if word:
                last[1, peers[k] // _SIDE] = ends[k]
            else:
                given, ended = ends[k], ended + 1
            k += 1
        while begun < len(starts) and starts[begun] < sent_at[i]:
            begun += 1
        called[i] = last[int(known[i] >= 0), message[i] // 2]  # other payload that arrived was for later records
        base[i] = max(done, min(known[i], sent_at[i]) if known[i] >= 0 else given)
        if base[i] != 0 and (begun <= ended or known[i] >= 0):
            work[i] = max(sent_at[i] - base[i], 0)
        soon = soon or (called[i] > base[i] and sent_at[i] - called[i] <= 0.1 * work[i])
        done = max(done, end[i])
    for peer in peers[:k]:
        last[0, peer // _SIDE] = last[1, peer // _SIDE] = 0
    if soon:
        _shorten_to_answers(sent_at, work, base, called, (known >= 0) & (message % 2 == 0), known >= 0)
    return sent_at, work, message


@compiled
def _shorten_to_answers(sent_at: Ints, work: Ints, base: Ints, called: Ints, exchanged: Mask, known: Mask) -> None:
    """Shorten `work` to the response time if the rank sent as soon after a control message (`called`) as it usually
    responds.
    """
    answer, came = sent_at - called, called > 0
    # control messages follow each other immediately: their delays do not show those of an exchange's payload
    exchanged &= came
    prompt = 4 * _tenth(answer[came])
    known_prompt = max(prompt, 4 * _tenth(answer[exchanged])) if exchanged.any() else prompt
    for i in range(len(sent_at)):
        soon = known_prompt if known[i] else prompt
        if work[i] > 0 and called[i] > base[i] and answer[i] <= min(soon, 0.1 * work[i]):
            work[i] = answer[i]


@compiled
def _tenth(values: Ints, few: int = 500) -> float:
    """Quantile 0.1 of unsorted values; 0 without values. Of up to `few` values only the smallest are sorted."""
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
def work_of_ranks(records: Ints, sends: Groups, receives: Groups, codes: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Compute `work_at` of several endpoints, one after another, and the bounds of each endpoint's results.

    `sends` and `receives` are the places of the records that each endpoint sends and receives.
    """
    cuts = np.zeros(len(codes) + 1, np.int64)
    for k in range(len(codes)):
        cuts[k + 1] = cuts[k] + sends[1][codes[k] + 1] - sends[1][codes[k]]
    sent_at, work, message = np.empty(cuts[-1], np.int64), np.empty(cuts[-1], np.int64), np.empty(cuts[-1], np.int64)
    last = np.zeros((2, max(len(sends[1]), len(receives[1]))), np.int64)
    for k in range(len(codes)):
        own = slice(cuts[k], cuts[k + 1])
        sent_at[own], work[own], message[own] = _work_at(records, _of(sends, codes[k]), _of(receives, codes[k]), last)
    return sent_at, work, message, cuts


@compiled
def _of(groups: Groups, code: int) -> Places:
    return groups[0][groups[1][code] : groups[1][code + 1]]


@compiled
def step_end_records(
    small: Mask, start: Ints, end: Ints, sends: Groups, receives: Groups, codes: Ints, ends: Ints, cuts: Ints
) -> Places:
    """Records of `step_end_mask`, of several endpoints. The step ends of the k-th are `ends[cuts[k]:cuts[k + 1]]`."""
    if not small.any():
        return np.empty(0, np.intp)
    out, n = np.empty(len(sends[0]), np.intp), 0
    for k in range(len(codes)):
        own = _of(sends, codes[k])
        which = step_end_mask(small, start, end, own, _of(receives, codes[k]), ends[cuts[k] : cuts[k + 1]])
        for i in range(len(own)):
            if which[i]:
                out[n] = own[i]
                n += 1
    return out[:n]


@compiled
def _shared_need(needed: Ints, control: Mask, sent_at: Ints) -> Ints:
    """Need of each record; a readiness message needs what the next payload needs, if that had arrived by then."""
    out, coming = needed.copy(), -1
    for i in range(len(sent_at) - 1, -1, -1):
        if not control[i]:
            coming = needed[i]
        elif needed[i] < 0 and coming <= sent_at[i]:
            out[i] = coming
    return out


@compiled
def step_end_mask(small: Mask, start: Ints, end: Ints, sends: Places, receives: Places, ends: Ints) -> Mask:
    """Mask of small records that an endpoint sends between the last payload of a step and the step's end, at `ends`, ns.

    All ranks send these together when the last rank has finished the step, independent of own work. `sends` and `receives` are
    the places of the records that the endpoint sends and receives.
    """
    last = np.full(len(ends) + 1, np.iinfo(np.int64).max)
    for rows in (sends, receives):
        step = 0
        for i in rows:
            if not small[i]:
                step = _nearby(ends, end[i], step)
                last[step] = end[i] if last[step] == np.iinfo(np.int64).max else max(last[step], end[i])
    out, step = np.zeros(len(sends), np.bool_), 0
    for k in range(len(sends)):
        if small[sends[k]]:
            step = _nearby(ends, start[sends[k]], step)
            out[k] = start[sends[k]] >= last[step]
    return out


@compiled
def _nearby(ends: Ints, time: int, at: int) -> int:
    """Number of ascending times before `time`, searched from `at`."""
    while at > 0 and ends[at - 1] >= time:
        at -= 1
    while at < len(ends) and ends[at] < time:
        at += 1
    return at
