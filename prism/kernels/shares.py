"""What is handed on and what it needed, matched by share: a stage hands on as much as it is given in a step, in order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.compiled import compiled
from prism.kernels.intervals import Floats, Ints
from prism.kernels.ordered import in_order
from prism.kernels.sums import counted, highest

Mask = NDArray[np.bool_]
UNKNOWN = -1
SLACK = 0.1  # of a piece: octets of headers, a record lost


class Moved(NamedTuple):
    """Records by group (a rank's step and direction): the group, when each counts, its octets; int64[n] each."""

    group: Ints
    time: Ints
    octets: Ints


def needed(given: Moved, handed: Moved, asks: Ints, *, turns: Mask, pieces: int = 0) -> Ints:
    """When all had come that each of the records handed on needed; `UNKNOWN` where it needed nothing that was seen.

    `asks` is the group of `given` that each needed. Where `turns` a group hands on some before the first it is given, for which
    it needs nothing, and then one for each: as many as it ever was ahead. A group moves `pieces` (micro-batches) and needs each
    whole; 0 where that is not known: then records need what moved the same share.
    """
    out = np.full(len(handed.group), UNKNOWN, np.int64)
    if not len(given.group) or not len(out):
        return out
    order = _ordered(given)
    group, time, octets = (column.take(order) for column in given)
    share, half = share_of(handed)
    ahead = share + half - moved_by(given, asks, handed.time)
    lead = np.zeros(int(max(group.max(), asks.max())) + 1)
    highest(asks[turns], ahead[turns], lead)
    if pieces:
        lead = np.round(lead * pieces) / pieces
        share = (np.floor(share * pieces) + 1 - SLACK) / pieces
    share -= np.where(turns, lead[asks], 0.0)
    place = 2.0 * group + _moved(group, octets)[1]
    at = np.minimum(np.searchsorted(place, 2.0 * asks + share), len(place) - 1)
    fits = (share > 0) & (group[at] == asks)
    out[fits] = time[at[fits]]
    return out


def as_sent(given: Moved, handed: Moved) -> Ints:
    """When a group had been given as much as it had sent before each of the records handed on; 0 before its first.

    In a collective whose members send as much as they are given, each sends on what came in the round before. `UNKNOWN` for
    what it sends ahead of that: more of the same message.
    """
    share, half = share_of(handed)
    before = np.where(share > half * (1 + SLACK / 100), share - half, 0.0)
    return given_as(given, before - SLACK * np.minimum(before, half), handed.group, handed.time)


def given_as(given: Moved, share: Floats, groups: Ints, at: Ints) -> Ints:
    """When each of some groups had been given a share of its octets; 0 for none, `UNKNOWN` for more than at a moment it had."""
    out = np.zeros(len(groups), np.int64)
    order = _ordered(given)
    group, time, octets = (column.take(order) for column in given)
    _given(group, time, _moved(group, octets)[1], share * (1 - SLACK / 1000), groups, at, out)
    return out  # sums of shares are not exact


@compiled
def _given(group: Ints, time: Ints, moved: Floats, share: Floats, groups: Ints, at: Ints, out: Ints) -> None:
    """`given_as`, from the share of its octets that each group had been given with each record; records by group."""
    most = -1
    for one in group:
        most = max(most, one)
    for one in groups:
        most = max(most, one)
    begins = np.zeros(most + 2, np.intp)
    for one in group:
        begins[one + 1] += 1
    for k in range(1, len(begins)):
        begins[k] += begins[k - 1]
    last = begins.copy()  # shares of a group are asked for in rising order, mostly
    for i in range(len(groups)):
        if not share[i] > 0:
            continue
        asked, low, high = groups[i], begins[groups[i]], begins[groups[i] + 1]
        place, goal = last[asked], 2.0 * asked + share[i]
        while place > low and 2.0 * asked + moved[place - 1] >= goal:
            place -= 1
        while place < high and 2.0 * asked + moved[place] < goal:
            place += 1
        last[asked] = place
        out[i] = time[place] if place < high and time[place] <= at[i] else UNKNOWN


def first_of(moved: Moved, pieces: int) -> Mask:
    """Whether each record is the first of its piece; all are where `pieces` is 0."""
    if not pieces or not len(moved.group):
        return np.ones(len(moved.group), np.bool_)
    order = _ordered(moved)
    return _first(moved, order, _shares(moved, order)[0], pieces)


def _first(moved: Moved, order: Ints, share: Floats, pieces: int) -> Mask:
    """`first_of` records by group and time in an `order`, each the middle of a `share` of its group's octets."""
    number = (np.floor(share * pieces) + moved.group * (pieces + 1.0))[order]
    out = np.empty(len(order), np.bool_)
    out[order] = np.r_[True, number[1:] != number[:-1]]
    return out


def completes(moved: Moved, pieces: int) -> Mask:
    """Whether each record is the last of its piece; all are where `pieces` is 0."""
    share, half = share_of(moved)
    begin, end = (np.floor((share + side) * pieces + SLACK) for side in (-half, half))
    return np.asarray(end > begin) | (pieces == 0)


def pieces_of(given: Moved, handed: Moved, asks: Ints, *, most: int = 512, wrong: float = 0.05, asked: int = 256) -> int:
    """In how many pieces groups hand on what they are given: the fewest of which none begins before all of it had come.

    Pieces are as large as one another and made of whole records; up to the share `wrong` of them may fail either way. About
    `asked` groups are looked at. 0 where no number fits.
    """
    groups = np.flatnonzero(np.bincount(handed.group))
    few = _of(handed.group, groups[:: max(len(groups) // asked, 1)])
    handed, asks = Moved(*(column[few] for column in handed)), asks[few]
    near = _of(given.group, asks)
    given = Moved(*(column[near] for column in given))
    if not len(given.group) or not len(handed.group):
        return 0
    order, count = _ordered(handed), np.bincount(handed.group)
    share, half = _shares(handed, order)
    for pieces in range(1, min(most, int(count.max())) + 1):
        first = _first(handed, order, share, pieces)
        begins = (share - half)[first] * pieces
        whole = np.abs(begins - np.round(begins)) <= np.minimum(half[first] * pieces, SLACK)
        if first.sum() < (1 - wrong) * pieces * np.count_nonzero(count) or whole.mean() < 1 - wrong:
            continue
        own = Moved(*(column[first] for column in handed))
        come = moved_by(given, asks[first], own.time) * pieces
        if (come + SLACK >= np.round(begins) + 1).mean() >= 1 - wrong:
            return pieces
    return 0


def _of(group: Ints, some: Ints) -> NDArray[np.intp]:
    """The places of records of some groups."""
    known = np.zeros(max(group.max(initial=-1), some.max(initial=-1)) + 1, np.bool_)
    known[some] = True
    return np.flatnonzero(known[group])


def moved_by(moved: Moved, group: Ints, time: Ints) -> Floats:
    """The share of its octets that each of the groups asked for had moved by a time."""
    every = np.concatenate([moved.group, group])
    octets = np.concatenate([moved.octets, np.zeros(len(group), np.int64)])
    first = np.concatenate([np.flatnonzero(octets), np.flatnonzero(octets == 0)])  # of one moment: what moved, then who asks
    order = _grouped(every, first[in_order(np.concatenate([moved.time, time])[first])])
    out = np.empty(len(every))
    out[order] = _moved(every[order], octets[order])[1]
    return out[len(moved.group) :]


def _ordered(moved: Moved) -> Ints:
    """The places of records, by group and in it by time."""
    return _grouped(moved.group, in_order(moved.time))


def _grouped(group: Ints, order: Ints) -> Ints:
    """Places in some order, by group and in it in that order."""
    low, high = int(group.min(initial=0)), int(group.max(initial=0))
    if low < 0 or high > 4 * len(group):
        return order[np.argsort(group[order], kind="stable")]
    return counted(group, high + 1, order)[0]


@compiled
def _moved(group: Ints, octets: Ints) -> tuple[Floats, Floats]:
    """The share of its group's octets that each record is, and that its group had moved with it; records by group."""
    own, moved = np.empty(len(group)), np.empty(len(group))
    low = 0
    while low < len(group):
        high, total, so_far = low, 0, 0
        while high < len(group) and group[high] == group[low]:
            total += octets[high]
            high += 1
        whole = max(float(total), 1.0)
        for i in range(low, high):
            so_far += octets[i]
            own[i], moved[i] = octets[i] / whole, so_far / whole
        low = high
    return own, moved


def share_of(moved: Moved) -> tuple[Floats, Floats]:
    """The share of its group's octets of which each record is the middle, in order of time; and half its own share."""
    return _shares(moved, _ordered(moved))


def _shares(moved: Moved, order: Ints) -> tuple[Floats, Floats]:
    """`share_of` records by group and time in an `order`."""
    own, so_far = _moved(moved.group.take(order), moved.octets.take(order))
    share, half = np.empty(len(order)), np.empty(len(order))
    half[order] = own / 2
    share[order] = so_far - own / 2
    return share, half
