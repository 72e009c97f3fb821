"""Compute how much of each step's new delays each candidate explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from prism.diagnosis import constants as c
from prism.diagnosis.attribution.candidates import Candidate
from prism.graph.job_transfers import largest
from prism.graph.new_delays import Delays
from prism.loops.arrays.change_points import middle
from prism.loops.arrays.intervals import Ints
from prism.loops.detection.transfer_delays import Floats


@dataclass(frozen=True, eq=False)
class Lost:
    """New delays by lane and step, ns: `late` before transfers begin; of these what own work may explain (`before`), the
    sender's and the receiver's part; while transfers last. float64[lanes, steps] each.
    """

    late: Floats
    before: Floats
    sender: Floats
    receiver: Floats
    within: Floats
    moved: Floats
    usual: bool
    more: Floats  # by how much longer each step took, ns; 0 where only peers are known
    each: Floats  # of each transfer: before it, the sender's and the receiver's part; float64[3, transfers]

    @property
    def network(self) -> Floats:
        """Share of each step's loss that longer transfers explain: all of it if the slowest lane explains `SAVED`."""
        own = self.within.max(axis=0, initial=0.0)
        known = np.where(self.more > 0, c.SAVED * self.more, np.inf)
        return np.asarray(np.minimum(own / np.maximum(known, 1.0), 1.0), np.float64)

    def typical(self, during: NDArray[np.bool_], lanes: NDArray[np.integer]) -> Lost:
        """Compute the new delays of each lane in most of the steps `during`, as those of one step; `lanes`: their ends.

        A rank that sends late was not ready to receive for as long: that is one cause. A late sender would be a second one.
        """
        parts = (self.late, self.before, self.sender, self.receiver, self.within, self.moved, self.more)
        late, before, sender, receiver, within, moved, more = (middle(each[..., during], axis=-1) for each in parts)
        own = largest(sender, lanes[:, 0], int(lanes.max(initial=-1)) + 1)
        receiver = np.maximum(receiver, np.minimum(before, own[lanes[:, 1]]))
        return Lost(late, before, sender, receiver, within, moved, self.usual, more, self.each)

    @cached_property
    def total(self) -> Floats:
        """All new delays of each step, ns. Against peers only delays before transfers: paths with other rates are no fault.

        The lane that lost most by longer transfers counts for as many lanes as are late: of a network all lanes are slower.
        """
        late, slowest = self.before.sum(axis=0), self.within.max(axis=0, initial=0.0) * self.usual
        lanes = np.maximum(late / np.maximum(self.before.max(axis=0, initial=0.0), 1.0), 1.0)
        return np.asarray(late + slowest * lanes, np.float64)


def lost(delays: Delays, receivers: float, place: Ints, *, usual: bool) -> tuple[Lost, Lost]:
    """Compute the new delays of a job by lane and step; if `usual`, minus those of the steps that define what is usual.

    Parameters
    ----------
    delays : Delays
        New delays of each transfer, ns.
    receivers : float
        How much senders wait for late receivers, 0 … 1.
    place : int64[ranks]
        Number of the host of each rank.
    usual : bool
        Whether the delays are relative to the job's own quick steps.

    Returns
    -------
    tuple of Lost
        Minus the median of the usual steps, which leaves their scatter; minus their maximum: what exceeds all of them.
        Against peers both are the same.
        A sender or receiver that had just ended a transfer does not work when the next one usually begins: a late start is then
        a wait, not work. If the receiver announces when it is ready, the delay before is its own, the rest is the sender's.
        A transfer that lasts while another of its collective begins late waits for that.
    """
    t = delays.transfers
    before, within = np.fmax([delays.own, delays.new[1]], 0.0)
    within = np.clip(np.minimum(within, delays.slower) - delays.starved, 0.0, None) if usual else delays.slower
    rested = delays.rested.copy()
    rested[1] = np.minimum(rested[1], np.maximum(delays.events.idle_for[1] - before, 0.0))  # a receiver has taken part since
    known = np.where(np.isfinite(delays.rested), rested, rested[::-1])  # of who sends nothing visible: its peer
    ends = [np.clip(c.TIMES * rested / np.maximum(before, 1.0), c.LEAST, 1.0) for rested in known]
    since = np.minimum(delays.called / np.maximum(before, 1.0), 1.0)  # the receiver was ready for this share of the delay
    answered = np.isfinite(since)
    ends[0] = np.where(answered, ends[0] * since, ends[0])
    ends[1] *= np.where(answered, 1 - since, receivers)
    values = [before, before * np.maximum(*ends), before * ends[0], before * ends[1], within]
    alone = weights(delays, before, place)
    sums, each = np.stack([*(t.by_step(alone * part) for part in values[:4]), t.by_step(within)]), np.stack(values[1:4])
    more = delays.more if usual else np.full(t.steps, 2 * c.WORTH * delays.took)
    out = list[Lost]()
    for habit in np.quantile(sums[..., delays.model], (0.5, 1.0), axis=-1, keepdims=True) if usual else np.zeros(1):
        late, first, sender, receiver, inside = np.maximum(sums - habit, 0.0)
        sender, receiver = np.minimum(sender, first), np.minimum(receiver, first)
        out.append(Lost(late, first, sender, receiver, inside, t.moved, usual, more, each))
    return out[0], out[-1]


def weights(delays: Delays, before: Floats, place: Ints) -> Floats:
    """Compute the weight of each delay before a begin: 1, less if transfers of other hosts that are late begin at once.

    All of them waited for one event, for example a barrier: together they count as the delays of one host. `place`: the number
    of each rank's host.
    """
    t, soon = delays.transfers, delays.events.dependencies.soon[0]
    late, out = np.flatnonzero(before > soon), np.ones(len(before))
    begins = delays.at[0, late] - delays.at[0].min(initial=0.0)
    at = place[t.lanes[t.lane[late]]].T * (begins.max(initial=0.0) + 2 * soon) + begins
    every, by_host = np.sort(begins), np.sort(at, axis=None)
    many, *own = (
        np.searchsorted(known, each + soon, "right") - np.searchsorted(known, each - soon)
        for known, each in ((every, begins), (by_host, at[0]), (by_host, at[1]))
    )
    out[late] = np.minimum(np.maximum(*own) / many, 1.0)
    return out


class Tables(NamedTuple):
    """Candidates as tables: sparse matrices with one row per candidate and a 1 for each lane that it may delay as sender, as
    receiver, as either; whether it is of the network, and its size (`Candidate.larger`); both [candidates, 1].
    """

    sends: csr_array
    receives: csr_array
    lanes: csr_array
    network: NDArray[np.bool_]
    larger: Ints


def tables_of(which: Sequence[Candidate], lanes: int) -> Tables:
    """Convert candidates to tables."""
    sends, receives = (_table(own, lanes) for own in zip(*((one.sends, one.receives) for one in which), strict=True))
    whole = (sends + receives).sign()
    network, larger = (
        np.array(flags)[:, None] for flags in zip(*((o.cause == "network", o.larger) for o in which), strict=True)
    )
    return Tables(sends, receives, whole, network, larger)


def explained_shares(which: Tables, gone: Lost) -> Floats:
    """Compute the share of each step's new delays that each candidate explains, minus a penalty for larger candidates.

    Returns float64[candidates, steps].
    """
    sends, receives, whole, network, larger = which
    known = np.maximum(gone.total, 1.0)
    each = gone.within / np.maximum(gone.moved, 1.0)
    bad = each >= (1 - c.ALWAYS) * np.maximum(each.max(axis=0), 1e-9)
    exact = (whole @ (gone.moved * bad)) / np.maximum(whole @ gone.moved, 1.0)
    cover = (whole @ gone.within) / np.maximum(gone.within.sum(axis=0), 1.0)
    fit = 2 * cover * exact / np.maximum(cover + exact, 1e-9) * gone.network
    share = np.where(network, fit, (sends @ gone.sender + receives @ gone.receiver) / known)
    return np.asarray(share - c.FEWER * larger)


def _table(lanes: Sequence[Ints], n: int) -> csr_array:
    """Sparse matrix with one row per candidate and a 1 for each of its lanes; n columns."""
    begins = np.cumsum([0, *map(len, lanes)])
    where = np.concatenate([np.zeros(0, np.int64), *lanes])
    return csr_array((np.ones(len(where)), where, begins), shape=(len(lanes), n))
