"""Match hand-overs with received data by share: a stage hands over equal octets as it receives in a step, in order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.loops import constants as c
from prism.loops.arrays.group_sums import by_group, places_from
from prism.loops.arrays.intervals import Floats, Ints

Mask = NDArray[np.bool_]
Bytes = NDArray[np.int8]
Places = NDArray[np.intp]
UNKNOWN = -1


class Moved(NamedTuple):
    """Records by group (a rank's step and direction): group, time, octets; int64[n] each."""

    group: Ints
    time: Ints
    octets: Ints


def piped(pipe: Mask, way: Bytes, slot: Ints, sends: Mask, end: Ints, ready: Ints, octets: Ints) -> tuple[Moved, Places, Moved]:
    """Select received pipeline data with known slot and direction, the places of hand-overs, and the hand-overs.

    The group is twice the slot, plus one down the pipeline. Received data counts at its end, hand-overs when `ready`.
    """
    known = pipe & (way != 0) & (slot >= 0)
    given, handed = np.flatnonzero(known & ~sends), np.flatnonzero(known & sends)
    groups = (2 * slot[some] + (way[some] > 0) for some in (given, handed))
    return (
        Moved(next(groups), end[given], octets[given]),
        handed,
        Moved(next(groups), ready[handed], octets[handed]),
    )


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
    octets, size = moved.octets.take(order), np.diff(begins)
    so_far = np.concatenate([[0], np.cumsum(octets)])
    before = so_far[begins]
    whole = np.maximum(np.diff(before), 1.0).repeat(size)
    return Shares(order, begins, moved.time.take(order), octets / whole, (so_far[1:] - before[:-1].repeat(size)) / whole)


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
        share = (np.floor(share * pieces) + 1 - c.PIECE_SLACK) / pieces
    share -= np.where(turns, lead.take(asks), 0.0)
    return _reached(came, share, asks)


def _reached(given: Shares, share: Floats, groups: Ints) -> Ints:
    """Time at which each of some groups had received a share of its octets; `UNKNOWN` for share 0, and for more than
    it ever received.
    """
    group, begins = _rows(given, groups)
    moved = 2.0 * np.repeat(np.arange(len(begins) - 1), np.diff(begins)) + given.moved  # ascending: a share is at most 1
    place, high, n = places_from(moved, begins, group, 2.0 * group + share), begins[group + 1], len(given.time)
    last = (begins[group] < high) & (high == n)  # for the last group only the last arrival is known
    out = given.time[np.minimum(place, n - 1)]
    return np.where((share > 0) & ((place < high) | last), out, UNKNOWN)


def _rows(moved: Shares, groups: Ints) -> tuple[Places, Places]:
    """Rows of some groups, and the bounds of all rows; groups without records are one more, empty row."""
    return np.minimum(groups, len(moved.begins) - 1).astype(np.intp), np.append(moved.begins, moved.begins[-1])


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
    begin, end = (np.floor((share + side) * pieces + c.PIECE_SLACK) for side in (-half, half))
    return np.asarray(end > begin) | (pieces == 0)


def pieces_of(given: Moved, handed: Moved, asks: Ints, *, wrong: float = c.WRONG) -> int:
    """Estimate the number of pieces in which groups hand over received data: the fewest such that none begins before its data
    arrived.

    Pieces have equal size and consist of whole records; up to the share `wrong` of them may fail either condition. Some of the
    groups are examined. 0 if no number fits.
    """
    groups = np.flatnonzero(np.bincount(handed.group))
    few = _of(handed.group, groups[:: max(len(groups) // c.ASKED, 1)])
    handed, asks = Moved(*(column[few] for column in handed)), asks[few]
    near = _of(given.group, asks)
    given = Moved(*(column[near] for column in given))
    if not len(given.group) or not len(handed.group):
        return 0
    came, goes, count = shares_of(given), shares_of(handed), np.bincount(handed.group)
    share, half = _halves(goes)
    for pieces in range(1, min(c.MOST_PIECES, int(count.max())) + 1):
        first = _first(handed, goes.order, share, pieces)
        begins = (share - half)[first] * pieces
        whole = np.abs(begins - np.round(begins)) <= np.minimum(half[first] * pieces, c.PIECE_SLACK)
        if first.sum() < (1 - wrong) * pieces * np.count_nonzero(count) or whole.mean() < 1 - wrong:
            continue
        own = Moved(*(column[first] for column in handed))
        come = moved_by(came, asks[first], own.time) * pieces
        if (come + c.PIECE_SLACK >= np.round(begins) + 1).mean() >= 1 - wrong:
            return pieces
    return 0


def _of(group: Ints, some: Ints) -> NDArray[np.intp]:
    """Places of the records of some groups."""
    known = np.zeros(max(group.max(initial=-1), some.max(initial=-1)) + 1, np.bool_)
    known[some] = True
    return np.flatnonzero(known[group])


def moved_by(moved: Shares, group: Ints, time: Ints) -> Floats:
    """Share of its octets that each of some groups had moved by a time, inclusive."""
    row, begins = _rows(moved, group)
    place = places_from(moved.time, begins, row, time + 1)
    return np.append(moved.moved, 0.0)[np.where(place > begins[row], place - 1, -1)]


def share_of(moved: Moved) -> tuple[Floats, Floats]:
    """Share of its group's octets at the middle of each record, in order of time; and half its own share."""
    return _halves(shares_of(moved))


def _halves(shares: Shares) -> tuple[Floats, Floats]:
    """`share_of`, in the original order of records."""
    share, half = np.empty(len(shares.order)), np.empty(len(shares.order))
    half[shares.order] = shares.own / 2
    share[shares.order] = shares.moved - shares.own / 2
    return share, half
