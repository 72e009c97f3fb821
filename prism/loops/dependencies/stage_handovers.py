"""What the stages of a pipeline hand on, and what they needed for it: what they were given of the same micro-batch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Mask
from collectors.compilation.compiled import compiled
from prism.loops.arrays.intervals import Ints

OFTEN = 0.9  # the share of the steps in which a stage that awaits all before it goes on is seen to


class Hands(NamedTuple):
    """Records by pair of stages and in it by end: where those of each pair begin, when sent and come, ns, and octets."""

    begins: NDArray[np.intp]
    sent: Ints
    end: Ints
    octets: Ints


class Needs(NamedTuple):
    """By pair: which pair is given what it hands on, -1 if none; whether it is the `first` stage that sends; whose steps count,
    those at `cuts` k to k + 1 of `ends`; and what pairs give to its sender, those at `gifts` k to k + 1 of `gives`.
    """

    given: Ints
    first: Mask
    rank: Ints
    ends: Ints
    cuts: Ints
    gives: Ints
    gifts: Ints


def handed_on(hands: Hands, asks: Needs) -> Ints:
    """When all had come that each of the records handed on needed, ns (`needs`, `flushed`); -1 where that is not known."""
    return _handed_on(hands, asks, OFTEN)


@compiled
def _handed_on(hands: Hands, asks: Needs, often: float) -> Ints:
    out = np.full(len(hands.end), -1, np.int64)
    for k in range(len(asks.given)):
        if asks.given[k] < 0:
            continue
        own, came = _of(hands, k), _of(hands, asks.given[k])
        ends = asks.ends[asks.cuts[asks.rank[k]] : asks.cuts[asks.rank[k] + 1]]
        went, begun, need = hands.end[own], hands.sent[own], out[own]
        need[:] = needs(hands.end[came], hands.octets[came], went, hands.octets[own], begun, ends, asks.first[k])
        for other in asks.gives[asks.gifts[k] : asks.gifts[k + 1]]:
            all_came = flushed(hands.end[_of(hands, other)], went, begun, ends, often)
            for i in range(len(need)):
                if need[i] >= 0:
                    need[i] = max(need[i], all_came[i])
    return out


@compiled
def _of(hands: Hands, pair: int) -> slice:
    return slice(hands.begins[pair], hands.begins[pair + 1])


@compiled
def needs(came: Ints, given: Ints, went: Ints, handed: Ints, begun: Ints, ends: Ints, first: bool) -> Ints:
    """When what each of some records handed on needs had been given, ns, matched by share of the step's octets; -1 unknown.

    All in order of end: when what was `given` `came`, and when what was `handed` on `went`, and had `begun`; what octets. A
    pipeline's stage hands on as many messages as it is given in a step, in the same order. `ends` are its step ends. The
    `first` stage is given nothing but gradients: it sends some micro-batches ahead, then one for each gradient.
    """
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


@compiled
def flushed(came: Ints, went: Ints, begun: Ints, ends: Ints, often: float) -> Ints:
    """When all had come that was given in the step of each of some records handed on, ns; -1 unless all is awaited first.

    That is so if in as many steps as `often` says nothing was handed on before: a schedule in which all micro-batches go
    forward before the first goes backward (GPipe). When what was given `came`, in any order, and when what was handed on `went`
    and had `begun`, ns; `ends` are the step ends.
    """
    steps, never = len(ends) + 1, np.iinfo(np.int64).max
    begins, last, first = np.full(steps, never), np.full(steps, -1), np.full(steps, never)
    for time in came:
        step = np.searchsorted(ends, time)
        begins[step], last[step] = min(begins[step], time), max(last[step], time)
    of = np.searchsorted(ends, went)
    for i in range(len(of)):
        if of[i] > 0 and begun[i] < begins[of[i]]:  # the end of a step may be put before its last records
            of[i] -= 1
        first[of[i]] = min(first[of[i]], begun[i])
    known = (last >= 0) & (first < never)
    if not known.any() or (first[known] >= last[known]).sum() / known.sum() < often:
        return np.full(len(went), -1)
    return last[of]
