"""How long a rank itself took before it spoke: its own work, told from waiting for others.

A rank that sends has done its work; the silence before is its own, back to the last thing it sent or was given. It was
waiting instead where it sends at once when word comes from the one it sends to (readiness, a credit).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from collectors.compiled import compiled
from collectors.record import Codes, Flows, Mask
from prism.kernels.edges import sending
from prism.kernels.intervals import Ints
from prism.kernels.ordered import quantile

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


def own_work(flows: Flows, code: int, needed: Ints | None = None) -> tuple[Ints, Ints]:
    """Times at which one endpoint spoke, in order, and how long it had worked for that, ns (int64[n] each).

    `flows` are all records from and to the endpoint. Work is 0 where it spoke while it was still being sent to (it was in
    the middle of a collective) and where it had only waited. `needed`, where it is not negative, is when all had come that
    a record hands on: what else came since was for later.
    """
    needed = np.full(len(flows), -1) if needed is None else needed
    octets = np.ascontiguousarray(flows.octets)  # may be one value for all
    columns = (sending(flows), flows.end_ns, flows.src, flows.dst, octets, flows.control(), needed)
    return work_of(*columns, np.flatnonzero(flows.src == code), np.flatnonzero(flows.dst == code))


@compiled
def work_of(
    start: Ints, end: Ints, src: Codes, dst: Codes, octets: Ints, control: Mask, needed: Ints, talks: Rows, hears: Rows
) -> tuple[Ints, Ints]:
    """`own_work` of the endpoint that sends the records at the places `talks` and is sent those at `hears`, in order."""
    talks = talks[octets[talks] > 0]
    talks = talks[np.argsort(start[talks], kind="mergesort")]
    hears = hears[octets[hears] > 0]
    hears = hears[np.argsort(end[hears], kind="mergesort")]
    given = hears[~control[hears]]
    said, known = start[talks], _foreseen(needed[talks], control[talks], start[talks])
    given_end, given_start = end[given], np.sort(start[given])
    base, work, answer = np.zeros(len(said), np.int64), np.zeros(len(said), np.int64), np.zeros(len(said), np.int64)
    called = _called(said, dst[talks], end[hears], src[hears], control[hears], known)
    done = ended = begun = 0
    for i in range(len(said)):
        while ended < len(given_end) and given_end[ended] < said[i]:
            ended += 1
        while begun < len(given_start) and given_start[begun] < said[i]:
            begun += 1
        base[i] = max(done, given_end[ended - 1] if ended else 0)
        if known[i] >= 0:
            base[i] = max(done, min(known[i], said[i]))
        work[i], answer[i] = max(said[i] - base[i], 0), said[i] - called[i]
        if (begun > ended and known[i] < 0) or base[i] == 0:
            work[i] = -1
        done = max(done, end[talks[i]])
    heard = called > 0
    # words follow one another at once, and say nothing of how soon the payload of an exchange follows on one
    told = heard & (known >= 0) & ~control[talks]
    prompt = 4 * quantile(np.sort(answer[heard]), 0.1)
    known_prompt = max(prompt, 4 * quantile(np.sort(answer[told]), 0.1)) if told.any() else prompt
    for i in range(len(said)):
        soon = known_prompt if known[i] >= 0 else prompt
        if work[i] > 0 and called[i] > base[i] and answer[i] <= min(soon, 0.1 * work[i]):
            work[i] = answer[i]
    return said, np.maximum(work, 0)


@compiled
def _called(said: Ints, to: Codes, ends: Ints, peers: Codes, words: Mask, known: Ints) -> Ints:
    """When the one to whom each thing was said had last been heard before; 0 where it had not. `ends` are in order.

    Where needs are `known` only `words` of readiness count: payload that came was for later.
    """
    most = max(to.max() if len(to) else 0, peers.max() if len(peers) else 0)
    last, asked, out = np.zeros(most + 1, np.int64), np.zeros(most + 1, np.int64), np.zeros(len(said), np.int64)
    k = 0
    for i in range(len(said)):
        while k < len(ends) and ends[k] < said[i]:
            last[peers[k]] = ends[k]
            if words[k]:
                asked[peers[k]] = ends[k]
            k += 1
        out[i] = asked[to[i]] if known[i] >= 0 else last[to[i]]
    return out


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


def typical_work(said: Ints, work: Ints, ends: Ints, *, share: float = 0.5) -> tuple[Floats, Floats, Floats]:
    """Per step: a typical piece of own work, the largest, and all of it, ns; float64[len(ends)] each, NaN without any.

    `said` and `work` are as from `own_work`, `ends` the step ends. Typical is the piece with which the larger ones make up
    `share` of all work: short pieces are the turns of a collective, not work.
    """
    return _pieces(work, np.append(0, np.searchsorted(said, ends, "right")), share)


@compiled
def _pieces(work: Ints, bounds: Ints, share: float) -> tuple[Floats, Floats, Floats]:
    """`typical_work` of work in order of step; those of step k are at `bounds` k to k + 1."""
    n = len(bounds) - 1
    typical, largest, total = np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan)
    for k in range(n):
        pieces = np.sort(work[bounds[k] : bounds[k + 1]])[::-1].astype(np.float64)
        if len(pieces) and pieces[0] > 0:
            whole = grown = 0.0
            for piece in pieces:
                whole += piece
            typical[k], largest[k], total[k] = pieces[0], pieces[0], whole
            for piece in pieces:
                grown += piece
                if grown >= share * whole:
                    typical[k] = piece
                    break
    return typical, largest, total


def needs(given: Flows, handed: Flows, ends: Ints, *, first: bool = False) -> Ints:
    """When what each of the records `handed` on needs had been `given`, ns, matched by share of the step's octets; -1 unknown.

    A pipeline's stage hands on as many messages as it is given in a step, in the same order. `ends` are its step ends. The
    `first` stage is given nothing but gradients: it sends some micro-batches ahead, then one for each gradient.
    """
    came, went = (np.argsort(flows.end_ns, kind="stable") for flows in (given, handed))
    out = np.empty(len(handed), np.int64)
    columns = (given.end_ns[came], given.octets[came], handed.end_ns[went], handed.octets[went], sending(handed)[went])
    out[went] = _needs(*columns, ends, first)
    return out


@compiled
def _needs(came: Ints, given: Ints, went: Ints, handed: Ints, begun: Ints, ends: Ints, first: bool) -> Ints:
    """`needs` of records in order of end: when what was `given` came; when what was `handed` on went, and began."""
    out, i, j = np.full(len(went), -1, np.int64), 0, 0
    for step in range(len(ends) + 1):
        a, b = i, j
        while i < len(came) and (step == len(ends) or came[i] <= ends[step]):
            i += 1
        while j < len(went) and (step == len(ends) or went[j] <= ends[step]):
            j += 1
        whole, total = given[a:i].sum(), handed[b:j].sum()
        if a == i or b == j or whole <= 0 or total <= 0:
            continue
        grown, lead, share = 0, 0.0, np.empty(j - b)
        for k in range(b, j):
            grown += handed[k]
            share[k - b] = (grown - handed[k] / 2) / total
            if first and begun[k] <= came[a]:
                lead = max(lead, share[k - b])
        at, grown = a, given[a]
        for k in range(b, j):
            asked = share[k - b] - lead
            if first and asked <= 0:
                continue
            while at < i - 1 and grown / whole < asked:
                at += 1
                grown += given[at]
            out[k] = came[at]
    return out


def preceded(given: Flows, handed: Flows, ends: Ints, *, parts: int = 64, often: float = 0.95) -> Ints:
    """When what had always been `given` before each of the records `handed` on had come, ns; -1 where nothing had.

    A stage works in an order: what came before in `often` of the steps, by share of the step's octets, it needs for its turn,
    whatever it hands on. `ends` are its step ends.
    """
    came, went = (np.argsort(flows.end_ns, kind="stable") for flows in (given, handed))
    columns = (given.end_ns[came], given.octets[came], handed.end_ns[went], handed.octets[went], sending(handed)[went])
    part, before = _before(*columns, ends, parts)
    low = np.full(parts + 1, 0.0)  # the last: records of steps in which nothing was given
    for k in np.unique(part[part < parts]).tolist():
        low[k] = quantile(np.sort(before[part == k]), 1 - often)
    out = np.empty(len(handed), np.int64)
    out[went] = _had_come(*columns[:3], ends, low[part])
    return out


@compiled
def _before(came: Ints, given: Ints, went: Ints, handed: Ints, begun: Ints, ends: Ints, parts: int) -> tuple[Ints, Floats]:
    """In which part of its step's octets each record handed on lies; and the share of what is given that had come before."""
    part, before, i, j = np.full(len(went), parts), np.zeros(len(went)), 0, 0
    so_far, place = np.append(0, np.cumsum(given)), np.searchsorted(came, begun, "right")
    for step in range(len(ends) + 1):
        a, b = i, j
        while i < len(came) and (step == len(ends) or came[i] <= ends[step]):
            i += 1
        while j < len(went) and (step == len(ends) or went[j] <= ends[step]):
            j += 1
        whole, total = given[a:i].sum(), handed[b:j].sum()
        if a == i or whole <= 0 or total <= 0:
            continue
        grown = 0
        for k in range(b, j):
            grown += handed[k]
            part[k] = min(int((grown - handed[k] / 2) / total * parts), parts - 1)
            before[k] = (so_far[min(max(place[k], a), i)] - so_far[a]) / whole
    return part, before


@compiled
def _had_come(came: Ints, given: Ints, went: Ints, ends: Ints, share: Floats) -> Ints:
    """When a share of what is given in its step had come, for each record handed on; -1 for none of it."""
    out, i, j, so_far = np.full(len(went), -1, np.int64), 0, 0, np.append(0, np.cumsum(given))
    for step in range(len(ends) + 1):
        a, b = i, j
        while i < len(came) and (step == len(ends) or came[i] <= ends[step]):
            i += 1
        while j < len(went) and (step == len(ends) or went[j] <= ends[step]):
            j += 1
        whole = so_far[i] - so_far[a]
        for k in range(b, j):
            last = np.searchsorted(so_far[a : i + 1], so_far[a] + share[k] * whole * (1 + 1e-9), "right") - 2
            if last >= 0:
                out[k] = came[a + last]
    return out
