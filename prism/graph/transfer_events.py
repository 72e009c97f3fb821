"""Order the begins and ends of a job's transfers in time, with what each transfer may depend on."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Mask
from prism.graph import constants as c
from prism.graph.job_steps import Steps
from prism.graph.job_transfers import Transfers
from prism.loops.arrays.group_sums import latest, preceding
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.orders import in_order
from prism.loops.detection.transfer_delays import Codes, Floats, idle, inherited_delays

NONE = np.zeros((2, 0), np.bool_), np.zeros((2, 0))  # no new delays are removed, because none is known yet


class Dependencies(NamedTuple):
    """Further dependencies of transfers: host mates of ranks, and the collective of each lane (`circle`).

    `soon` is the tolerance of simultaneity: ns, and the share of a transfer within one collective.
    """

    mates: tuple[Codes, Ints]
    circle: Codes
    soon: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Events:
    """Begins and ends of the transfers of a job in order of time, the same for all of its comparisons."""

    view: Steps
    transfers: Transfers

    @cached_property
    def begins(self) -> Floats:
        """Begin of each step, ns."""
        return np.asarray(self.view.begins - self.view.begins[0], np.float64)

    @cached_property
    def at(self) -> Floats:
        """Begin and end of each transfer, ns; float64[2, transfers]."""
        return self.transfers.at(self.begins)

    @cached_property
    def _in_time(self) -> tuple[NDArray[np.intp], Ints]:
        return in_time(*self.at.astype(np.int64))

    @property
    def by(self) -> NDArray[np.intp]:
        """Transfers in order of their begins."""
        return self._in_time[0]

    @cached_property
    def turn(self) -> Codes:
        """Step of each transfer, in order of begins."""
        return self.transfers.step.take(self.by)

    @cached_property
    def _ordered(self) -> tuple[Ints, Floats, tuple[Codes, Codes], Codes, Codes]:
        """Events of transfers that are numbered in order of begins (`in_time`), so that a loop finds its data side by side.

        Also begin and end of each transfer, ns, its ranks, lane and step, in this order.
        """
        by, t = self.by, self.transfers
        return self._in_time[1], self.at.take(by, axis=1), (t.src.take(by), t.dst.take(by)), t.lane.take(by), self.turn

    @cached_property
    def idle_for(self) -> Floats:
        """Time since the sender and the receiver of each transfer ended one, at its begin; float64[2, transfers]."""
        out = np.empty_like(self.at)
        out[:, self.by] = idle(*self._ordered[:3], len(self.view.job.endpoints))
        return out

    @cached_property
    def called(self) -> Floats:
        """Time from the receiver's last control message to the begin of each transfer, ns (`Delays`)."""
        return _called(self.view, self.transfers, self.at[0], self.idle_for[0])

    @cached_property
    def dependencies(self) -> Dependencies:
        """Host mates, and for each lane the smallest collective that contains both of its ends."""
        return Dependencies(host_mates(self.view), self.transfers.circle, (c.SOON * self.view.period, c.WHOLE))

    def delays(self, late: Floats, more: Floats, gone: Mask, new: Floats, until: int) -> Floats:
        """Compute new delays, or those that remain (`transfer_delays.inherited_delays`), of transfers in order of begins."""
        return inherited_delays(*self._ordered, late, more, *self.dependencies, gone, new, until)

    def receivers(self, period: float) -> float:
        """Estimate how much senders wait for late receivers, `WAITS` … 1 (always); `period`: duration of a step, ns.

        From two counts: which end had just ended a transfer, and control messages of receivers just before transfers
        (readiness, credits). Receivers that work before they are ready show neither.
        """
        sends, hears = self.idle_for
        soon, long = 4 * c.SOON * period, 40 * c.SOON * period
        waits = (sends > long) & np.isfinite(sends)
        late = int(np.count_nonzero(waits & (hears < soon)))
        early = int(np.count_nonzero((sends < soon) & (hears > long) & np.isfinite(hears)))
        answered = int(np.count_nonzero(waits & (self.called < soon))) / max(int(np.count_nonzero(waits)), 1)
        return max(min((late + 1) / (early + 1), 1.0), answered, c.WAITS)

    def new(self, late: Floats, more: Floats) -> Floats:
        """Compute new delays of transfers in their own order."""
        out = np.empty_like(late)
        out[:, self.by] = self.delays(late.take(self.by, axis=1), more, *NONE, len(more))
        return out


def in_time(begins: Ints, ends: Ints) -> tuple[NDArray[np.intp], Ints]:
    """Order of transfers by their begins, and their events in order of time; of simultaneous events of two transfers, ends come
    first.

    Events are begins (k) and ends (k + transfers) of the k-th transfer in the order of begins.
    """
    at_once, n = begins >= ends, len(begins)
    by, last = in_order(begins), in_order(2 * ends + at_once)
    number = np.empty(n, np.int64)
    number[by] = np.arange(n)
    place = np.where(at_once[last], number[last] + 1, preceding(begins.take(by), ends.take(last), False)) + np.arange(n)
    order, is_begin = np.empty(2 * n, np.int64), np.ones(2 * n, np.bool_)
    is_begin[place] = False
    order[place], order[is_begin] = number.take(last) + n, np.arange(n)
    return by, order


def _called(view: Steps, t: Transfers, begins: Floats, sends: Floats) -> Floats:
    """Time from the last control message of the receiver to the begin of each transfer, ns.

    Infinite before the first of these; NaN if the receiver sends none to the sender. All are NaN unless senders that waited
    (`sends`: time since each had ended a transfer, ns) often begin at once after such a message: else it does not announce that
    the receiver is ready, as at the end of a step.
    """
    flows, n = view.flows, len(view.job.endpoints)
    rank = np.full(len(flows.endpoints), -1, np.int64)
    rank[view.codes] = np.arange(n)
    rows = np.flatnonzero(flows.control() & (flows.octets > 0))
    giver, hearer = rank[flows.src[rows]], rank[flows.dst[rows]]
    known = (giver >= 0) & (hearer >= 0)
    none = np.full(len(t.rows), np.nan)
    if not known.any():
        return none
    times = flows.end_ns[rows][known] - view.begins[0]
    words = (giver * n + hearer)[known]
    begun = begins.astype(np.int64)
    asked = t.dst.astype(np.int64) * n + t.src
    last = latest(words, times, asked, begun)
    out = np.where(last >= 0, begun - last, np.where(np.isin(asked, words), np.inf, np.nan))
    waited = (sends > 40 * c.SOON * view.period) & np.isfinite(sends)
    prompted = waited & (out < 4 * c.SOON * view.period)
    return out if waited.any() and np.mean(prompted[waited]) >= c.NEAR else none


def host_mates(view: Steps) -> tuple[Codes, Ints]:
    """Find the mates of each rank: itself, and members of its groups on its host. Waits between them are invisible.

    Returns the mates of all ranks, and the position of the first of each rank.
    """
    place = {address: i for i, address in enumerate(view.job.endpoints)}
    host = view.hosts.tolist()
    mates = [{i} for i in range(len(place))]
    for group in view.parallelism.groups:
        by_host = defaultdict[int, set[int]](set)
        for member in group.members:
            if host[place[member]] >= 0:
                by_host[host[place[member]]].add(place[member])
        for own in by_host.values():
            for i in own:
                mates[i] |= own
    begins = np.cumsum([0, *map(len, mates)]).astype(np.int64)
    return np.array([j for own in mates for j in sorted(own)], np.int32), begins
