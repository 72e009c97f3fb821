"""How long a rank itself took before it spoke: its own work, told from waiting for others.

A rank that sends has done its work; the silence before is its own, back to the last thing it sent or was given. It was
waiting instead where it sends at once when word comes from the one it sends to (readiness, a credit).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from collectors.compiled import compiled
from collectors.record import Flows, Mask
from prism.kernels.edges import sending
from prism.kernels.intervals import Ints

Floats = NDArray[np.float64]


def own_work(flows: Flows, code: int, needed: Ints | None = None) -> tuple[Ints, Ints]:
    """Times at which one endpoint spoke, in order, and how long it had worked for that, ns (int64[n] each).

    `flows` are all records from and to the endpoint. Work is 0 where it spoke while it was still being sent to (it was in
    the middle of a collective) and where it had only waited. `needed`, where it is not negative, is when all had come that
    a record hands on: what else came since was for later.
    """
    start, control = sending(flows), flows.control()
    talks = np.flatnonzero((flows.src == code) & (flows.octets > 0))
    talks = talks[np.argsort(start[talks], kind="stable")]
    hears = np.flatnonzero((flows.dst == code) & (flows.octets > 0))
    given = hears[~control[hears]]
    said = start[talks]
    if not len(talks):
        return said, said
    done = np.concatenate([[0], np.maximum.accumulate(flows.end_ns[talks])[:-1]])
    given_end, given_start = np.sort(flows.end_ns[given]), np.sort(start[given])
    base = np.maximum(done, _last(given_end, said))
    known = _foreseen(needed[talks], control[talks], said) if needed is not None else np.full(len(talks), -1)
    base = np.where(known >= 0, np.maximum(done, np.minimum(known, said)), base)
    work = np.maximum(said - base, 0)
    called = np.zeros(len(said), np.int64)
    for peer in np.unique(flows.dst[talks]):
        to = flows.dst[talks] == peer
        heard = hears[flows.src[hears] == peer]
        any_word, asked = (_last(np.sort(flows.end_ns[rows]), said[to]) for rows in (heard, heard[control[heard]]))
        called[to] = np.where(known[to] >= 0, asked, any_word)  # where needs are known, payload that came was for later
    answer = said - called
    prompt = 4 * np.percentile(answer[called > 0], 10) if (called > 0).any() else 0.0
    waited = (called > base) & (answer <= np.minimum(prompt, 0.1 * work))
    work[waited] = answer[waited]
    busy = np.searchsorted(given_start, said, "left") > np.searchsorted(given_end, said, "left")
    work[(busy & (known < 0)) | (base == 0)] = 0
    return said, work


def _foreseen(needed: Ints, control: Mask, said: Ints) -> Ints:
    """What records need, where a word of readiness needs what the next payload does, if that had come by then."""
    payload = np.flatnonzero(~control)
    after = np.searchsorted(payload, np.arange(len(said)))
    coming = np.append(needed[payload], -1)[after]
    return np.where(control & (needed < 0) & (coming <= said), coming, needed)


def _last(times: Ints, before: Ints) -> Ints:
    """The last of some sorted times before each of others; 0 where there is none."""
    if not len(times):
        return np.zeros_like(before)
    k = np.searchsorted(times, before, "left")
    return np.where(k > 0, times[np.maximum(k - 1, 0)], 0)


def typical_work(said: Ints, work: Ints, ends: Ints, *, share: float = 0.5) -> tuple[Floats, Floats, Floats]:
    """Per step: a typical piece of own work, the largest, and all of it, ns; float64[len(ends)] each, NaN without any.

    `ends` are the step ends. Typical is the piece with which the larger ones make up `share` of all work: short pieces are the
    turns of a collective, not work.
    """
    step = np.searchsorted(ends, said, "left")
    order = np.argsort(step, kind="stable")
    return _pieces(work[order], np.searchsorted(step[order], np.arange(len(ends) + 1)), share)


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
    out = np.full(len(handed), -1, np.int64)
    step_in, step_out = np.searchsorted(ends, given.end_ns, "left"), np.searchsorted(ends, handed.end_ns, "left")
    sorted_in, sorted_out = (np.argsort(flows.end_ns, kind="stable") for flows in (given, handed))  # so steps are in order
    begun = sending(handed)
    steps = np.arange(len(ends) + 2)
    cuts_in, cuts_out = np.searchsorted(step_in[sorted_in], steps), np.searchsorted(step_out[sorted_out], steps)
    for k in np.flatnonzero((np.diff(cuts_in) > 0) & (np.diff(cuts_out) > 0)).tolist():
        rows_in, rows_out = sorted_in[cuts_in[k] : cuts_in[k + 1]], sorted_out[cuts_out[k] : cuts_out[k + 1]]
        total_in, total_out = np.cumsum(given.octets[rows_in]), np.cumsum(handed.octets[rows_out])
        if total_in[-1] <= 0 or total_out[-1] <= 0:
            continue
        share = (total_out - handed.octets[rows_out] / 2) / total_out[-1]
        if first:
            share = share - share[begun[rows_out] <= given.end_ns[rows_in[0]]].max(initial=0.0)
            rows_out, share = rows_out[share > 0], share[share > 0]
        at = np.minimum(np.searchsorted(total_in / total_in[-1], share), len(rows_in) - 1)
        out[rows_out] = given.end_ns[rows_in[at]]
    return out
