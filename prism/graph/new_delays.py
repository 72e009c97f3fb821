"""Compute which delays of a job's transfers are new, against its own quick steps or its peers, and replay steps without some.

A delay is new if the transfer's predecessors were in time. If these were late as well, the delay is inherited.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.graph import constants as c
from prism.graph.job_steps import Steps
from prism.graph.job_transfers import Transfers, passed_hosts
from prism.graph.transfer_events import Events
from prism.loops.arrays.group_sums import by_group, counted, numbered
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.orders import in_order
from prism.loops.detection.transfer_delays import Codes, Floats
from prism.loops.detection.usual_times import Turns

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Delays:
    """Transfers with their delays against usual (`late`), and the `new` part of each, ns.

    float64[2, transfers] both: delay of the begin; growth while the transfer lasts. `more` is the excess duration of each step.
    `model` lists the steps that define what is usual. `compared` are the transfers at `places`, sorted as they are compared.
    `slower` is the excess busy time of each transfer, ns.
    """

    transfers: Transfers
    late: Floats
    more: Floats
    model: Ints
    compared: Turns
    places: NDArray[np.intp]
    slower: Floats
    events: Events

    @cached_property
    def rested(self) -> Floats:
        """Usual time for which sender and receiver had ended no transfer at the begin of each, ns: an upper bound of own work.

        float64[2, transfers].
        """
        out = np.zeros((2, len(self.transfers.rows)))
        out[:, self.places] = self.compared.rested(self.events.idle_for.take(self.places, axis=1))
        return out

    @cached_property
    def new(self) -> Floats:
        """The new part of each delay, ns; at most the delay itself, or 0 where it is early."""
        return self.events.new(self.late, self.more)

    @cached_property
    def awaited(self) -> Ints:
        """The transfer that each transfer waited for: itself, or one of its collective that is not as far along.

        Members of a collective that stood still go on together once the last of them takes part: the one that has moved least.
        """
        t, circle = self.transfers, self.events.dependencies.circle[self.transfers.lane].astype(np.int64)
        out, soon = np.arange(len(t.rows)), self.events.dependencies.soon[0]
        late = np.flatnonzero((circle >= 0) & (self.late[0] > soon))
        if not len(late):
            return out
        group, at, whole = (circle * t.steps + t.step)[late], self.at[0, late], t.moved[t.lane[late], t.step[late]]
        order, _ = by_group(group, int(group.max()) + 1, at.astype(np.int64))
        late, group, at, whole = late[order], group[order], at[order], whole[order]
        part = np.cumsum((np.diff(group, prepend=group[0]) > 0) | (np.diff(at, prepend=at[0]) > soon))
        low = t.low[late]
        least = np.flatnonzero(low == np.minimum.reduceat(low, np.flatnonzero(np.diff(part, prepend=-1)))[part])
        first = least[np.flatnonzero(np.diff(part[least], prepend=-1))][part]
        behind = low > low[first] + c.TRIFLE
        behind &= np.abs(np.log(whole / whole[first])) <= c.ALIKE
        out[late[behind]] = late[first][behind]
        return out

    @cached_property
    def waiting(self) -> Ints:
        """Transfers that waited for another one (`awaited`)."""
        return np.flatnonzero(self.awaited != np.arange(len(self.awaited)))

    @cached_property
    def own(self) -> Floats:
        """The new delay of each begin without that of the transfer that it waited for, ns; float64[transfers]."""
        late, waiting = self.late[0], self.waiting
        own: Floats = np.nan_to_num(self.new[0])
        own[waiting] = np.minimum(own[waiting], late[waiting] - late[self.awaited[waiting]])
        own[self.released] = 0.0
        return own

    @cached_property
    def released(self) -> Ints:
        """Transfers of collectives that began at one instant with others, as late, which inherited more of it.

        All waited for one event that those delayed: a barrier, or a scalar that all ranks reduce. Half of many ranks do not
        begin at one instant by chance: how late they are varies with what is usual of each.
        """
        soon, circle = self.events.dependencies.soon[0], self.events.dependencies.circle[self.transfers.lane].astype(np.int64)
        rows = np.flatnonzero((circle >= 0) & (self.late[0] > soon))
        rows, late = rows[in_order(self.at[0, rows].astype(np.int64))], self.late[0]
        part = np.cumsum(np.diff(self.at[0, rows], prepend=self.at[0, rows[:1]]) > soon)  # those that begin at once
        order, _ = counted(part, int(part.max(initial=-1)) + 1, np.argsort(late[rows], kind="stable"))
        rows, part = rows[order], part[order]  # and of these, those that are as late
        src = self.transfers.lanes[self.transfers.lane, 0].astype(np.int64)
        ranks = np.bincount(part[numbered(part, src[rows])[1]])
        unlike = np.diff(late[rows], prepend=late[rows[:1]]) > soon
        unlike &= ranks[part] < max(len(np.unique(src)) / 2, c.MANY)
        part = np.cumsum((np.diff(part, prepend=part[:1]) > 0) | unlike)
        of, whole = numbered(part, circle[rows])
        most = np.zeros(len(whole))
        np.maximum.at(most, of, np.nan_to_num(self.new[0, rows]))
        least = np.full(int(part.max(initial=-1)) + 1, np.inf)
        np.minimum.at(least, part, most[of])
        return np.asarray(rows[most[of] > least[part] + soon], np.int64)

    @cached_property
    def holder(self) -> Ints:
        """The transfer of its collective that began with the longest new delay while each took longer; itself if none did."""
        circle = self.events.dependencies.circle[self.transfers.lane].astype(np.int64)
        at, new = self.at - self.at[0].min(initial=0.0), self.new[0]
        late, longer = (np.flatnonzero((circle >= 0) & (part > 0)) for part in self.new)
        keys = circle * (float(at.max(initial=0.0)) + 1.0) + at
        late, longer = (own[np.argsort(keys[0, own], kind="stable")] for own in (late, longer))  # ascending, to be found faster
        begins = keys[0, late]
        first, last = np.searchsorted(begins, keys[0, longer], "right"), np.searchsorted(begins, keys[1, longer])
        out, most, wide = np.arange(len(circle)), late, 1
        while len(rows := np.flatnonzero(last - first >= wide)):
            one, other = most[first[rows]], most[last[rows] - wide]
            out[longer[rows]] = np.where(new[one] >= new[other], one, other)
            one, other = most[:-wide], most[wide:]
            most, wide = np.where(new[one] >= new[other], one, other), 2 * wide
        return out

    @cached_property
    def starved(self) -> Floats:
        """Time for which each transfer may wait within, for its `holder`, ns; float64[transfers]."""
        return np.where(self.holder == np.arange(len(self.holder)), 0.0, np.fmax(self.new[0, self.holder], 0.0))

    @cached_property
    def held(self) -> Ints:
        """Transfers that last longer for their `holder` rather than by themselves."""
        return np.flatnonzero(2 * self.starved > np.maximum(self.new[1], 0.0))

    @property
    def at(self) -> Floats:
        """Begin and end of each transfer, ns; float64[2, transfers]."""
        return self.events.at

    @property
    def called(self) -> Floats:
        """Time from the receiver's last control message to the sender (readiness, a credit) to the begin of each transfer, ns;
        NaN between ranks without such messages.
        """
        return self.events.called

    @cached_property
    def took(self) -> float:
        """Median duration of the steps that define what is usual, ns."""
        seen = np.diff(self.transfers.begin).reshape(-1, self.transfers.steps).any(axis=0)
        known = np.diff(self.events.begins[seen])
        return float(np.median(known)) if len(known) else 0.0

    @cached_property
    def _ordered(self) -> tuple[Floats, Floats, Ints, Ints, Floats, Floats]:
        """Delays and new delays of transfers in order of begins; these by step, and where each step begins that has some;
        their ends since the begin of the step, NaN if delays are unknown, and the same without the delays.
        """
        by, turn = self.events.by, self.events.turn
        late, (order, begins) = self.late.take(by, axis=1), counted(turn, self.transfers.steps, np.arange(len(turn)))
        ends = np.where(np.isnan(late[0] + late[1]), np.nan, self.transfers.end[by]).take(order)
        return late, self.new.take(by, axis=1), order, begins[:-1][np.diff(begins) > 0], ends, ends - late[1, order]

    def saved(self, gone: Mask, steps: Mask) -> Floats:
        """Compute how much shorter some steps would have been without the new delays in `gone`, ns; float64[steps].

        0 in other steps. Steps before the first delay that is gone remain as they are.
        """
        whole = np.zeros(self.transfers.steps)
        if not steps.any() or not gone.any():
            return whole
        since, until = np.flatnonzero(steps)[[0, -1]].tolist()
        (late, new, order, begins, ends, usual), events, step = self._ordered, self.events, self.transfers.step
        then = events.delays(late, self.more, gone.take(events.by, axis=1), new, until)
        since = min(since, int(step[gone[0] | gone[1]].min()))
        last = np.fmax.reduceat(ends, begins) - np.fmax.reduceat(usual + then[1, order], begins)
        turn = events.turn[order[begins]]
        known = np.isfinite(last) & (turn >= since) & (turn <= until)
        whole[turn[known]] = last[known]
        return np.where(steps, np.diff(whole, prepend=0.0), 0.0)


def usual_steps(view: Steps, *, least: int = c.FEW) -> tuple[Ints, Floats] | None:
    """Select the steps that define what is usual, and compute the excess duration of each step, ns; None if few are known.

    They are at least `least` if as many are known.
    """
    took = view.durations
    known = np.flatnonzero(np.isfinite(took) & (took > 0) & ~_cut_off(view))
    if len(known) < 2 * c.FEW:
        return None
    model = known[_quick(took[known], least)].astype(np.int64)
    return model, np.nan_to_num(took - np.median(took[model]))


def against_steps(view: Steps, transfers: Transfers, events: Events | None = None) -> Delays | None:
    """Compute delays against the job's own quickest steps; None if too few steps are known."""
    found, t = usual_steps(view), transfers
    if found is None:
        return None
    model, more = found
    compared, events = Turns(t.begin, t.steps, model, (t.low, t.high), (t.start, t.end), c.NEAR), events or Events(view, t)
    excess = slower(t, model, np.arange(len(t.lanes)))
    return Delays(t, compared.late(), more, model, compared, np.arange(len(t.rows)), excess, events)


def _cut_off(view: Steps) -> NDArray[np.bool_]:
    """Mark the first and the last step if they have fewer octets than any step between: the records hold a part of them."""
    moved = view.volumes.sum(axis=0)
    inner = moved[1:-1].min(initial=np.inf)
    return np.asarray(moved < (1 - c.WHOLE) * inner) if np.isfinite(inner) else np.zeros(len(moved), np.bool_)


def _quick(took: Floats, least: int) -> Ints:
    """Select the steps that define what is usual: those with durations near the quantile `MODEL`, half of that share at least.

    If fewer steps are shorter than all others by far more than these differ, they are usual: the job can be that quick.
    """
    order = np.argsort(took, kind="stable")
    many = max(int(np.ceil(c.MODEL * len(took))), c.FEW)
    ratio = took[order[1 : many + 1]] / took[order[:many]]
    warm = int(order[0] == 0)  # one quick step before all others may be a warm-up
    few = int(np.argmax(ratio[warm:])) + 1 + warm
    if least <= c.FEW and ratio[few - 1] >= 1 + c.UNLIKE and took[order[-1]] <= took[order[few]] * ratio[few - 1] ** 0.5:
        return np.sort(order[:few])
    far = np.abs(np.log(took / np.quantile(took, c.MODEL, method="lower")))
    near = np.argsort(far, kind="stable")
    return np.sort(near[: min(max(least, many, int(np.count_nonzero(far <= c.CLOSE))), c.MANY)])


def slower(t: Transfers, model: Ints, alike: NDArray[np.integer], *, slack: float = 0.0) -> Floats:
    """Excess busy time of each transfer, ns, over the median pace of lanes with the same number in `alike`, in steps `model`.

    A share `slack` more time is usual: connections differ.
    """
    moved, took = (each[:, model].sum(axis=1) for each in (t.moved, t.moving))
    pace = took / np.maximum(moved, 1.0)
    order = np.lexsort((pace, alike))
    first = np.searchsorted(alike[order], np.arange(int(alike.max(initial=-1)) + 2))
    usual = pace[order][np.clip((first[:-1] + first[1:] - 1) // 2, 0, max(len(order) - 1, 0))]  # of two the faster
    return np.asarray(np.maximum(t.busy - (1 + slack) * t.octets * usual[alike].take(t.lane), 0.0), np.float64)


def against_peers(view: Steps, transfers: Transfers, events: Events | None = None) -> Delays | None:
    """Compute delays against peers: lanes with equal volume, kind and pipeline stages, in the same steps.

    These are `MANY` steps of usual duration, because in a few any rank may be late by chance; all if too few are known. None if
    no lane has enough peers.
    """
    found = usual_steps(view, least=c.MANY)
    steps = found[0] if found is not None else np.flatnonzero(np.isfinite(view.durations)).astype(np.int64)
    if not len(steps):
        return None
    t, alike = transfers, _alike(view, transfers)
    moved = transfers.moved[:, steps]
    even = _counted(t) | (moved.max(axis=1) <= moved.min(axis=1) * (1 + c.WHOLE))  # else equal shares are other operations
    group, place = _groups(alike)
    count = np.bincount(group)
    peers = even & (count[group] > 1) & ~_relayed(t.lanes, group, count)
    known = np.full(t.steps, -1)
    known[steps] = np.arange(len(steps))
    turn = known.take(t.step)
    inside = np.flatnonzero((turn >= 0) & peers.take(t.lane))
    if not len(inside):
        return None
    lane, most = t.lane[inside], int(count.max())
    cell = (group.take(lane) * len(steps) + turn.take(inside)) * most + place.take(lane)
    by, begin = counted(cell, len(count) * len(steps) * most, np.arange(len(cell)))
    order = inside[by]
    shares, times = (t.low.take(order), t.high.take(order)), (t.start.take(order), t.end.take(order))
    compared, late = Turns(begin, most, np.arange(most), shares, times, c.NEAR), np.full((2, len(t.rows)), np.nan)
    late[:, order] = compared.late()
    excess, events = slower(t, steps, alike, slack=c.UNLIKE), events or Events(view, t)
    return Delays(t, late, np.zeros(t.steps), steps, compared, order, excess, events)


def _alike(view: Steps, t: Transfers) -> Codes:
    """Number of the peers of each lane: lanes with equal kind, stages, octets, and number of records; between the same two
    hosts if enough lie there, so that members of one host, which may wait for each other, are compared with each other; unless
    they always do, as tensor-parallel ones or those that a collective passes. The number counts only where it is that of
    operations.
    """
    stages = np.array([view.parallelism.stages.get(address, 0) for address in view.job.endpoints])
    octets = np.round(np.log(np.maximum(np.median(t.moved, axis=1), 1.0)) / c.ALIKE).astype(np.int64)
    kinds, hosts = np.unique(t.kinds, return_inverse=True)[1], view.hosts[t.lanes]
    counted = _counted(t) | _constant(t).all()  # else the number of a reduction's records is random
    keys = np.stack([kinds, *stages[t.lanes.T], octets, np.where(counted, np.diff(t.begin)[1 :: t.steps], -1)], axis=1)
    beside = _numbered(np.concatenate([keys, hosts], axis=1))
    passed, unseen = passed_hosts(view, t.lanes), view.parallelism.unseen
    apart = np.array([not unseen and view.host(address) not in passed for address in view.job.endpoints])
    many = (np.bincount(beside)[beside] >= c.SPAN) & ((hosts >= 0) & apart[t.lanes]).all(axis=1)
    return _numbered(np.concatenate([keys, np.where(many[:, None], hosts, -1)], axis=1))


def _counted(t: Transfers) -> NDArray[np.bool_]:
    """Whether each lane has as many records in every step: one per operation. The number of a reduction's records is random."""
    return np.asarray(_constant(t) & (t.kinds != "dp"))


def _constant(t: Transfers) -> NDArray[np.bool_]:
    """Whether each lane has as many records in every step, but for the first and the last, which may be cut off."""
    counts = np.diff(t.begin).reshape(-1, t.steps)[:, 1:-1]
    return np.asarray((counts == counts[:, :1]).all(axis=1))


def _numbered(keys: Ints) -> Codes:
    """Number each row; equal rows get equal numbers."""
    order, number = np.lexsort(keys.T[::-1]), np.zeros(len(keys), np.int32)
    number[order[1:]] = np.cumsum((keys[order[1:]] != keys[order[:-1]]).any(axis=1))
    return number


def _relayed(lanes: NDArray[np.integer[Any]], group: Ints, count: Ints) -> NDArray[np.bool_]:
    """Whether a lane is the one before or after its only peer: what one rank receives and sends is not compared with others."""
    two = np.flatnonzero(count[group] == 2)
    one, other = two[np.argsort(group[two], kind="stable")].reshape(-1, 2).T
    met = lanes[one] == lanes[other][:, ::-1]
    out = np.zeros(len(lanes), np.bool_)
    out[np.concatenate([one, other])] = np.tile(met[:, 0] != met[:, 1], 2)
    return out


def _groups(alike: Codes) -> tuple[Ints, Ints]:
    """Number of the group of each lane, and its place there. Peers form groups of at most `MANY`: more hardly help.

    Lanes are in order of their senders. So the lanes of one sender are spread over groups, and those of one receiver by chance.
    """
    count, place = np.bincount(alike), np.empty(len(alike), np.int64)
    parts = -(-count // c.MANY)
    first = np.repeat(np.cumsum(count) - count, count)
    place[np.argsort(alike, kind="stable")] = np.arange(len(alike)) - first
    drawn = np.random.default_rng(0).random(len(alike))
    place[np.lexsort((drawn, place // parts[alike], alike))] = np.arange(len(alike)) - first
    return (np.cumsum(parts) - parts)[alike] + place % parts[alike], place // parts[alike]
