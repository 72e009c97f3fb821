"""Compute a job's new delays, with all candidates, once against its own quick steps and once against peers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from prism.diagnosis import constants as c
from prism.diagnosis.attribution.candidates import Candidate, candidates
from prism.diagnosis.attribution.explained_delay import Lost, Tables, explained_shares, lost, tables_of
from prism.diagnosis.attribution.recurring_delay import work_ratio
from prism.graph import constants as g
from prism.graph.job_transfers import Transfers, transfers_of
from prism.graph.job_view import View
from prism.graph.new_delays import Delays, against_peers, against_steps, usual_steps
from prism.graph.transfer_events import Events
from prism.loops.arrays.change_points import middle
from prism.loops.arrays.intervals import Ints, union
from prism.loops.detection.transfer_delays import Floats

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Comparison:
    """New delays of a job, and the share of each step's delays that each candidate explains; float64[candidates, steps].

    `always`: the delays are relative to peers, so that they show what was slow in all steps.
    """

    delays: Delays
    view: View
    always: bool
    replays: dict[tuple[str, bytes, bytes], Floats] = field(default_factory=dict)
    typicals: dict[bytes, Lost] = field(default_factory=dict)

    @cached_property
    def which(self) -> list[Candidate]:
        """The candidates."""
        return candidates(self.view, self.delays.transfers)

    @cached_property
    def alike(self) -> Mapping[tuple[str, ...], list[int]]:
        """Numbers of the candidates of one cause, subject and way."""
        out = defaultdict[tuple[str, ...], list[int]](list)
        for k, one in enumerate(self.which):
            out[one.cause, one.subject, one.way].append(k)
        return out

    @cached_property
    def tables(self) -> Tables:
        """The candidates as tables."""
        return tables_of(self.which, len(self.delays.transfers.lanes))

    @cached_property
    def _losses(self) -> tuple[Lost, Lost]:
        return lost(self.delays, self.delays.events.receivers(self.view.period), self.view.places, usual=not self.always)

    @property
    def gone(self) -> Lost:
        """New delays that exceed the median of all usual steps."""
        return self._losses[0]

    @cached_property
    def share(self) -> Floats:
        """Shares of the delays that exceed those of all usual steps."""
        return self.scattered if self.always else explained_shares(self.tables, self._losses[1])

    @cached_property
    def scattered(self) -> Floats:
        """Shares of the delays that exceed their median in usual steps: it shows chance."""
        return explained_shares(self.tables, self.gone)

    def during(self, start: int, stop: int) -> Mask:
        """Mask of steps `start` to before `stop`; for a comparison with peers only those steps that it uses."""
        steps = np.arange(self.delays.transfers.steps)
        inside = (steps >= start) & (steps < stop)
        return inside & np.isin(steps, self.delays.model) if self.always else inside

    def slowed(self, one: Candidate, during: Mask) -> Ints:
        """Lanes of a candidate that lose nearly as much per octet as its worst lane in the steps (1 − `ALWAYS`)."""
        its = np.ix_(one.lanes, during)
        each = self.gone.within[its].sum(axis=1) / np.maximum(self.gone.moved[its].sum(axis=1), 1.0)
        return np.asarray(
            one.lanes[np.flatnonzero(each >= (1 - c.ALWAYS) * max(float(each.max(initial=0.0)), 1e-12))], np.int64
        )

    def explained(self, during: Mask) -> Floats:
        """Share of the delays of the steps `during` that each candidate explains; float64[candidates].

        For the best candidates: the mean of this share and of the share that a replay without them saves, if this mean is
        larger.
        """
        return self.replayed(self.shares(during), during)

    def shares(self, during: Mask) -> Floats:
        """Share of the delays of the steps `during` that each candidate explains, without a replay; float64[candidates].

        Against peers what lanes lose in most of the steps counts: other traffic delays now these, now those.
        """
        if self.always and during.any():
            return explained_shares(self.tables, self._typical(during))[:, 0]
        return np.median(self.share[:, during], axis=1) if during.any() else np.zeros(len(self.which))

    def best(self, shares: Floats) -> list[int]:
        """The candidates that are replayed: one of them explains most, because a replay never lowers a share."""
        return list(np.argsort(-shares, kind="stable")[: c.EXAMINED].tolist())

    def explains_most(self, one: Candidate) -> Mask:
        """Steps of whose delays no other candidate explains clearly more; bool[steps]."""
        own = explained_shares(tables_of([one], len(self.gone.moved)), self.gone)[0]
        return np.asarray(own >= self.scattered.max(axis=0, initial=0.0) - c.DOUBT)

    def replayed(self, shares: Floats, during: Mask) -> Floats:
        """Raise the `shares` of the best candidates by what the steps `during` save without them; see `explained`."""
        out = shares.copy()
        if not during.any():
            return out
        more = float(np.maximum(self.delays.more[during], 0.0).sum())
        for k in self.best(shares):
            one = self.which[k]
            if self.always:
                out[k] = max(out[k], self._not_awaited(one, during) if one.cause == "work" else 0.0)
            else:
                saved = float(self.without(one, during).sum()) / max(more, 1.0)
                out[k] = max(out[k], (out[k] + min(saved, 1.0) - c.FEWER * one.larger) / 2)
        return out

    def _not_awaited(self, one: Candidate, during: Mask) -> float:
        """Share of the longest delay of a typical step that is gone if a candidate is never late, minus that of its size.

        All wait for the latest: delays of others count only as far as they exceed what remains. Those of lanes at which the
        candidate is the likelier one to be late are gone.
        """
        gone = self._typical(during)
        left = gone.before.copy()
        for lanes, part in ((one.sends, gone.sender), (one.receives, gone.receiver)):
            left[lanes] *= 2 * part[lanes] < gone.before[lanes]
        return float(1 - left.max(initial=0.0) / max(gone.before.max(initial=0.0), 1.0)) - c.FEWER * one.larger

    def _typical(self, during: Mask) -> Lost:
        """New delays of each lane in most of the steps `during`; all candidates are compared in the same steps."""
        key = during.tobytes()
        if key not in self.typicals:
            self.typicals[key] = self.gone.typical(during, self.delays.transfers.lanes)
        return self.typicals[key]

    def without(self, one: Candidate, during: Mask) -> Floats:
        """How much shorter each of the steps `during` is in a replay without the new delays of a candidate, ns."""
        key = (one.cause, one.lanes.tobytes(), during.tobytes())
        if key not in self.replays:
            self.replays[key] = self.delays.saved(one.gone(self.delays, during), during)[during]
        return self.replays[key]

    def cost(self, one: Candidate, during: Mask) -> float:
        """Cost of a candidate in the steps `during`, ns.

        Against peers it is the candidate's own delays. Against quick steps the network costs the median excess of the steps,
        because some of them may contain a pause. Own work costs their excess in proportion: what a replay without the candidate
        saves, at least its longest new delays, of what one without any new delay saves.
        """
        inside, work = np.ix_(one.lanes, np.flatnonzero(during)), one.cause == "work"
        if self.always:
            if not work:
                return self._longer(one, during)
            late = float(self.gone.late[inside].max(axis=0, initial=0.0).sum())
            works = self.delays.took - self.delays.transfers.moving[inside].max(axis=0, initial=0.0)
            return min(late, (1 - 1 / work_ratio(self.delays, one, during)) * float(works.sum()))
        more = np.maximum(self.delays.more[during], 0.0)
        if not work:
            return float(np.median(more) * len(more))
        saved = self.without(one, during)
        saved = np.maximum(saved, np.minimum(self.gone.before[inside].max(axis=0, initial=0.0), more))
        seen = np.tile(during[self.delays.transfers.step], (2, 1))
        seen[0] &= self.gone.each[0] >= c.MIN_EXPLAINED * self.delays.own
        return float(more.sum() * np.clip(saved.sum() / max(self.delays.saved(seen, during)[during].sum(), 1.0), 0.0, 1.0))

    def saved_by_all(self, during: Mask) -> Floats:
        """How much shorter each of the steps `during` is in a replay without any new delay, ns."""
        return self.delays.saved(np.tile(during[self.delays.transfers.step], (2, 1)), during)[during]

    def _longer(self, one: Candidate, during: Mask) -> float:
        """Extra busy time of the candidate's slowest lane compared with its peers, ns; overlapping transfers count once."""
        delays, t, most = self.delays, self.delays.transfers, 0.0
        for lane in one.lanes.tolist():
            mine = np.flatnonzero((t.lane == lane) & during[t.step])
            if len(mine):
                begin, end = union(*(column[mine].astype(np.int64) for column in delays.at))
                share = float(delays.slower[mine].sum()) / max(float(t.busy[mine].sum()), 1.0)
                most = max(most, share * float((end - begin).sum()))
        return most


@dataclass(frozen=True, eq=False)
class Case:
    """One job to diagnose."""

    view: View

    @cached_property
    def transfers(self) -> Transfers | None:
        """Transfers of the job; None if fewer than three steps are known."""
        if len(self.view.ends) < g.SPAN:
            return None
        found = transfers_of(self.view)
        return found if len(found.rows) else None

    @cached_property
    def versus_own_steps(self) -> Comparison | None:
        """Comparison with the job's own quick steps; None if too few steps are known."""
        delays = None if self.transfers is None else against_steps(self.view, self.transfers, self._events)
        return None if delays is None else Comparison(delays, self.view, always=False)

    @cached_property
    def versus_peers(self) -> Comparison | None:
        """Comparison with peers; None if there are too few."""
        delays = None if self.transfers is None else against_peers(self.view, self.transfers, self._events)
        return None if delays is None else Comparison(delays, self.view, always=True)

    @cached_property
    def may_have_slow_steps(self) -> bool:
        """Whether steps, or transfers in some, take longer than usual, in spans that count; much faster than a comparison."""
        found, t = usual_steps(self.view), self.transfers
        if found is None or t is None:
            return False
        model, more = found
        long = more / np.median(self.view.durations[model])
        spans = sliding_window_view(np.maximum(long, 0.0), min(self.view.least, len(long)))
        slower = t.pace - middle(t.pace[:, model], axis=1) >= c.SLOW_LANE
        return bool(
            long.max() >= g.PAUSE
            or (spans.mean(axis=1)[(spans >= c.MIN_LOSS).sum(axis=1) > 1] >= c.WORTH / (1 + c.WORTH)).any()
            or np.count_nonzero(slower, axis=1).max() >= self.view.least
        )

    @cached_property
    def _events(self) -> Events | None:
        return None if self.transfers is None else Events(self.view, self.transfers)
