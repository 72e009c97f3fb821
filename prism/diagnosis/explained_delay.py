"""How much of the new delays of each step each candidate touches, and which touches most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from prism.diagnosis import constants as c
from prism.diagnosis.candidates import Candidate
from prism.graph.new_delays import Delays
from prism.loops.arrays.intervals import Ints
from prism.loops.detection.transfer_delays import Floats


@dataclass(frozen=True, eq=False)
class Lost:
    """New delays by lane and step, ns: before transfers begin, what of that their sender and their receiver may have worked,
    and while they last. float64[lanes, steps] each.
    """

    before: Floats
    sender: Floats
    receiver: Floats
    within: Floats
    moved: Floats
    usual: bool
    more: Floats  # by how much longer each step took, ns; 0 where only peers are known

    @property
    def network(self) -> Floats:
        """How far transfers that lasted longer explain what each step lost, 0 … 1: the slowest lane's a good part of it."""
        own = self.within.max(axis=0, initial=0.0)
        known = np.where(self.more > 0, c.SAVED * self.more, np.inf)
        return np.asarray(np.minimum(own / np.maximum(known, 1.0), 1.0), np.float64)

    @property
    def total(self) -> Floats:
        """All new delays of each step; among peers those before transfers: paths of other speeds are nobody's fault."""
        return np.asarray(self.before.sum(axis=0) + self.within.sum(axis=0) * self.usual, np.float64)


def lost(delays: Delays, receivers: float, *, usual: bool) -> Lost:
    """The new delays of a job by lane and step; where steps tell what is `usual`, beyond what those have themselves.

    Senders wait for `receivers` that are late so far, 0 … 1. Who had just ended something when a transfer usually begins does
    not work for it; that it begins late is a wait.
    """
    t = delays.transfers
    cell, shape = t.lane.astype(np.int64) * t.steps + t.step, (len(t.lanes), t.steps)
    before, within = np.maximum(np.nan_to_num(delays.new), 0.0)
    within = np.minimum(within, delays.slower) if usual else delays.slower
    ends = [np.clip(c.TIMES * rested / np.maximum(before, 1.0), c.LEAST, 1.0) for rested in delays.rested]
    ends[1] *= receivers
    values = [before * np.maximum(*ends), before * ends[0], before * ends[1], within]
    out = [np.asarray(np.bincount(cell, each, shape[0] * shape[1]), np.float64).reshape(shape) for each in values]
    if usual and len(delays.model):
        out = [np.maximum(each - each[:, delays.model].mean(axis=1, keepdims=True), 0.0) for each in out]
    first, sender, receiver, inside = out
    return Lost(
        first, sender, receiver, inside, t.moved, usual, delays.more if usual else np.full(t.steps, c.GROWN * delays.took)
    )


def weigh(which: list[Candidate], gone: Lost) -> Floats:
    """The share of the new delays of each step that each candidate explains, less what it costs to have more parts.

    float64[candidates, steps].
    """
    lanes = len(gone.moved)
    sends, hears, whole = (
        _table(own, lanes) for own in zip(*((one.sends, one.hears, one.lanes) for one in which), strict=True)
    )
    network = np.array([one.cause == "network" for one in which])[:, None]
    larger = np.array([one.subject != "endpoint" for one in which])[:, None]
    known = np.maximum(gone.total, 1.0)
    each = gone.within / np.maximum(gone.moved, 1.0)
    bad = each >= c.SLOWED * np.maximum(each.max(axis=0), 1e-9)
    exact = (whole @ (gone.moved * bad)) / np.maximum(whole @ gone.moved, 1.0)
    cover = (whole @ gone.within) / np.maximum(gone.within.sum(axis=0), 1.0)
    fit = 2 * cover * exact / np.maximum(cover + exact, 1e-9) * gone.network
    share = np.where(network, fit, (sends @ gone.sender + hears @ gone.receiver) / known)
    return np.asarray(share - c.FEWER * larger)


def _table(lanes: Sequence[Ints], n: int) -> csr_array:
    """Rows with a 1 at each of some lanes, of n."""
    begins = np.cumsum([0, *map(len, lanes)])
    where = np.concatenate([np.zeros(0, np.int64), *lanes])
    return csr_array((np.ones(len(where)), where, begins), shape=(len(lanes), n))
