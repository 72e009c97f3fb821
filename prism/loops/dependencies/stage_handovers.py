"""Compute what the stages of a pipeline needed for each hand-over: the data of the same micro-batch that they received."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Mask
from collectors.compilation.compiled import compiled
from prism.loops.arrays.intervals import Ints

OFTEN = 0.9  # share of steps in which a stage that waits for all data is seen to


class Hands(NamedTuple):
    """Hand-overs by pair of stages, sorted by end: bounds of the pairs, time of send and arrival, ns, and octets."""

    begins: NDArray[np.intp]
    sent: Ints
    end: Ints
    octets: Ints


class Needs(NamedTuple):
    """By pair: the pair whose data it forwards, -1 if none; whether the sender is the `first` stage; the rank whose
    steps count, at `ends[cuts[k]:cuts[k + 1]]`; and the pairs that send to its sender, `gives[gifts[k]:gifts[k +
    1]]`.
    """

    given: Ints
    first: Mask
    rank: Ints
    ends: Ints
    cuts: Ints
    gives: Ints
    gifts: Ints


def handed_on(hands: Hands, asks: Needs) -> Ints:
    """Time at which all data that each hand-over needed had arrived, ns (`needs`, `flushed`); -1 if unknown."""
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
    """Time at which the data that each hand-over needs had arrived, ns, matched by share of the step's octets; -1 if unknown.

    All sorted by end: data `given` arrived at `came`; data `handed` over arrived at `went` and was sent at `begun`; octets. A
    stage hands over as many messages as it receives in a step, in the same order. `ends` are its step ends. The `first` stage
    receives only gradients: it sends some micro-batches ahead, then one for each gradient.
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
    """Time at which all data of the step of each hand-over had arrived, ns; -1 unless the stage waits for all of it.

    It does if it handed over nothing before in the share `often` of the steps: a schedule with all forward passes before the
    first backward pass (GPipe). Data arrived at `came`, unsorted; hand-overs arrived at `went` and were sent at `begun`, ns;
    `ends` are the step ends.
    """
    steps, never = len(ends) + 1, np.iinfo(np.int64).max
    begins, last, first = np.full(steps, never), np.full(steps, -1), np.full(steps, never)
    for time in came:
        step = np.searchsorted(ends, time)
        begins[step], last[step] = min(begins[step], time), max(last[step], time)
    of = np.searchsorted(ends, went)
    for i in range(len(of)):
        if of[i] > 0 and begun[i] < begins[of[i]]:  # the step end may precede its last records
            of[i] -= 1
        first[of[i]] = min(first[of[i]], begun[i])
    known = (last >= 0) & (first < never)
    if not known.any() or (first[known] >= last[known]).sum() / known.sum() < often:
        return np.full(len(went), -1)
    return last[of]
