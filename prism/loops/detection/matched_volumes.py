"""Match hand-overs with received data by share: a stage hands over equal octets as it receives in a step, in order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.compilation.compiled import compiled
from prism.loops.arrays.intervals import Floats, Ints
from prism.loops.arrays.record_groups import by_group

Mask = NDArray[np.bool_]
Bytes = NDArray[np.int8]
Places = NDArray[np.intp]
UNKNOWN = -1
SLACK = 0.1  # share of a piece: octets of headers, a lost record


class Moved(NamedTuple):
    """Records by group (a rank's step and direction): group, time, octets; int64[n] each."""

    group: Ints
    time: Ints
    octets: Ints


@compiled
def piped(pipe: Mask, way: Bytes, slot: Ints, sends: Mask, end: Ints, ready: Ints, octets: Ints) -> tuple[Moved, Places, Moved]:
    """Select received pipeline data with known slot and direction, the places of hand-overs, and the hand-overs.

    The group is twice the slot, plus one down the pipeline. Received data counts at its end, hand-overs when `ready`.
    """
    n = np.zeros(2, np.int64)
    for i in range(len(pipe)):
        if pipe[i] and way[i] != 0 and slot[i] >= 0:
            n[int(sends[i])] += 1
    given, time, moved = np.empty(n[0], np.int64), np.empty(n[0], np.int64), np.empty(n[0], np.int64)
    handed, offered, load = np.empty(n[1], np.int64), np.empty(n[1], np.int64), np.empty(n[1], np.int64)
    places, g, h = np.empty(n[1], np.intp), 0, 0
    for i in range(len(pipe)):
        if pipe[i] and way[i] != 0 and slot[i] >= 0:
            group = 2 * slot[i] + (way[i] > 0)
            if sends[i]:
                handed[h], offered[h], load[h], places[h] = group, ready[i], octets[i], i
                h += 1
            else:
                given[g], time[g], moved[g] = group, end[i], octets[i]
                g += 1
    return Moved(given, time, moved), places, Moved(handed, offered, load)


class Shares(NamedTuple):
    """Records sorted by group and time: places, bounds of the groups, times, and shares of the group's octets: of the
    record, and cumulative. One entry per record, except for `begins`.
    """

    order: Places
    begins: Places
    time: Ints
    own: Floats
    moved: Floats


def shares_of(moved: Moved) -> Shares:
    """Sort records by group and time and compute their shares. Groups are numbers from 0."""
    order, begins = by_group(moved.group, int(moved.group.max(initial=-1)) + 1, moved.time)
    return Shares(order, begins, moved.time.take(order), *_shares(moved.octets.take(order), begins))


def needed(given: Moved, handed: Moved, asks: Ints, *, turns: Mask, pieces: int = 0) -> Ints:
    """Time at which all data that each hand-over needed had arrived; `UNKNOWN` if it needed nothing visible.

    `asks` is the group of `given` that each needed. If `turns`, a group hands over some data before the first that it receives,
    which needs nothing, and then one for each: as many as its largest lead. A group moves `pieces` (micro-batches) and needs
    each completely; 0 if unknown: then records need an equal share.
    """
    if not len(given.group) or not len(handed.group):
        return np.full(len(handed.group), UNKNOWN, np.int64)
    came = shares_of(given)
    share, half = share_of(handed)
    ahead = share + half - moved_by(came, asks, handed.time)
    lead = np.zeros(int(max(given.group.max(), asks.max())) + 1)
    np.maximum.at(lead, asks[turns], ahead[turns])
    if pieces:
        lead = np.round(lead * pieces) / pieces
        share = (np.floor(share * pieces) + 1 - SLACK) / pieces
    share -= np.where(turns, lead.take(asks), 0.0)
    return _reached(came, share, asks)


@compiled
def _reached(given: Shares, share: Floats, groups: Ints) -> Ints:
    """Time at which each of some groups had received a share of its octets; `UNKNOWN` for share 0, and for more than
    it ever received.
    """
    out, last, many, n = np.full(len(groups), UNKNOWN, np.int64), given.begins.copy(), len(given.begins) - 1, len(given.time)
    for i in range(len(groups)):
        k = groups[i]
        if share[i] > 0 and k < many:
            low, high = given.begins[k], given.begins[k + 1]
            last[k] = place = _place(given.moved, low, high, last[k], k, share[i])
            if place < high:
                out[i] = given.time[place]
            elif low < high == n:  # for the last group only the last arrival is known
                out[i] = given.time[n - 1]
    return out


@compiled
def _place(moved: Floats, low: int, high: int, place: int, group: int, share: float) -> int:
    """First record of a group, from `low` to before `high`, at which it had moved a share; searched from `place`."""
    goal = 2.0 * group + share
    while place > low and 2.0 * group + moved[place - 1] >= goal:
        place -= 1
    while place < high and 2.0 * group + moved[place] < goal:
        place += 1
    return place


def first_of(moved: Moved, pieces: int) -> Mask:
    """Mask: whether each record is the first of its piece; all are if `pieces` is 0."""
    if not pieces or not len(moved.group):
        return np.ones(len(moved.group), np.bool_)
    shares = shares_of(moved)
    return _first(moved, shares.order, _halves(shares)[0], pieces)


def _first(moved: Moved, order: Ints, share: Floats, pieces: int) -> Mask:
    """`first_of` for records by group and time in an `order`, each at the middle of a `share` of its group's octets."""
    number = (np.floor(share * pieces) + moved.group * (pieces + 1.0))[order]
    out = np.empty(len(order), np.bool_)
    out[order] = np.r_[True, number[1:] != number[:-1]]
    return out


def completes(moved: Moved, pieces: int) -> Mask:
    """Mask: whether each record is the last of its piece; all are if `pieces` is 0."""
    share, half = share_of(moved)
    begin, end = (np.floor((share + side) * pieces + SLACK) for side in (-half, half))
    return np.asarray(end > begin) | (pieces == 0)


def pieces_of(given: Moved, handed: Moved, asks: Ints, *, most: int = 512, wrong: float = 0.05, asked: int = 256) -> int:
    """Estimate the number of pieces in which groups hand over received data: the fewest such that none begins before its data
    arrived.

    Pieces have equal size and consist of whole records; up to the share `wrong` of them may fail either condition. About
    `asked` groups are examined. 0 if no number fits.
    """
    groups = np.flatnonzero(np.bincount(handed.group))
    few = _of(handed.group, groups[:: max(len(groups) // asked, 1)])
    handed, asks = Moved(*(column[few] for column in handed)), asks[few]
    near = _of(given.group, asks)
    given = Moved(*(column[near] for column in given))
    if not len(given.group) or not len(handed.group):
        return 0
    came, goes, count = shares_of(given), shares_of(handed), np.bincount(handed.group)
    share, half = _halves(goes)
    for pieces in range(1, min(most, int(count.max())) + 1):
        first = _first(handed, goes.order, share, pieces)
        begins = (share - half)[first] * pieces
        whole = np.abs(begins - np.round(begins)) <= np.minimum(half[first] * pieces, SLACK)
        if first.sum() < (1 - wrong) * pieces * np.count_nonzero(count) or whole.mean() < 1 - wrong:
            continue
        own = Moved(*(column[first] for column in handed))
        come = moved_by(came, asks[first], own.time) * pieces
        if (come + SLACK >= np.round(begins) + 1).mean() >= 1 - wrong:
            return pieces
    return 0


def _of(group: Ints, some: Ints) -> NDArray[np.intp]:
    """Places of the records of some groups."""
    known = np.zeros(max(group.max(initial=-1), some.max(initial=-1)) + 1, np.bool_)
    known[some] = True
    return np.flatnonzero(known[group])


def moved_by(moved: Shares, group: Ints, time: Ints) -> Floats:
    """Share of its octets that each of some groups had moved by a time, inclusive."""
    return _moved_by(moved, group, time)


@compiled
def _moved_by(moved: Shares, group: Ints, time: Ints) -> Floats:
    """`moved_by`; times of a group come mostly in ascending order."""
    out, last, many = np.zeros(len(group)), moved.begins.copy(), len(moved.begins) - 1
    for i in range(len(group)):
        if group[i] < many:
            place, low, high = last[group[i]], moved.begins[group[i]], moved.begins[group[i] + 1]
            while place > low and moved.time[place - 1] > time[i]:
                place -= 1
            while place < high and moved.time[place] <= time[i]:
                place += 1
            last[group[i]] = place
            out[i] = moved.moved[place - 1] if place > low else 0.0
    return out


@compiled
def _shares(octets: Ints, begins: Places) -> tuple[Floats, Floats]:
    """Share of its group's octets of each record, and cumulative share; records by group."""
    own, moved = np.empty(len(octets)), np.empty(len(octets))
    for k in range(len(begins) - 1):
        total = so_far = 0
        for i in range(begins[k], begins[k + 1]):
            total += octets[i]
        whole = max(float(total), 1.0)
        for i in range(begins[k], begins[k + 1]):
            so_far += octets[i]
            own[i], moved[i] = octets[i] / whole, so_far / whole
    return own, moved


def share_of(moved: Moved) -> tuple[Floats, Floats]:
    """Share of its group's octets at the middle of each record, in order of time; and half its own share."""
    return _halves(shares_of(moved))


@compiled
def _halves(shares: Shares) -> tuple[Floats, Floats]:
    """`share_of`, in the original order of records."""
    share, half = np.empty(len(shares.order)), np.empty(len(shares.order))
    for i in range(len(shares.order)):
        half[shares.order[i]] = shares.own[i] / 2
        share[shares.order[i]] = shares.moved[i] - shares.own[i] / 2
    return share, half
