"""Compared values to tell causes: a job's new delays against its own quick steps, and against peers, with all candidates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from prism.diagnosis import constants as c
from prism.diagnosis.candidates import Candidate, candidates
from prism.diagnosis.explained_delay import Lost, lost, weigh
from prism.graph.job_transfers import Transfers, transfers_of
from prism.graph.job_view import View
from prism.graph.new_delays import Delays, against_peers, against_steps
from prism.loops.arrays.intervals import Ints
from prism.loops.detection.transfer_delays import Floats

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Scene:
    """New delays of a job with the candidates, and the share of each step's that each explains (float64[candidates, steps]).

    `always`: against peers, for what was so in all steps; those `beside` one another are of the same hosts.
    """

    delays: Delays
    which: list[Candidate]
    gone: Lost
    share: Floats
    always: bool
    beside: bool = False

    def during(self, start: int, stop: int) -> Mask:
        """Steps `start` to before `stop`; among peers those of them that are looked at."""
        steps = np.arange(self.delays.transfers.steps)
        inside = (steps >= start) & (steps < stop)
        return inside & np.isin(steps, self.delays.model) if self.always else inside

    def slowed(self, one: Candidate, during: Mask) -> Ints:
        """The lanes of a candidate that lose a good part of what its worst one loses per octet, in some steps."""
        its = np.ix_(one.lanes, during)
        each = self.gone.within[its].sum(axis=1) / np.maximum(self.gone.moved[its].sum(axis=1), 1.0)
        return np.asarray(one.lanes[np.flatnonzero(each >= c.SLOWED * max(float(each.max(initial=0.0)), 1e-12))], np.int64)

    def explained(self, during: Mask) -> Floats:
        """The share of the delays of some steps that each candidate explains; float64[candidates].

        Of the best, halfway to what the steps would have saved without them, where that is more.
        """
        if not during.any():
            return np.zeros(len(self.which))
        out: Floats = np.median(self.share[:, during], axis=1)
        if self.always:
            return out
        more = float(np.maximum(self.delays.more[during], 0.0).sum())
        for k in np.argsort(-out, kind="stable")[: c.MANY].tolist():
            one = self.which[k]
            saved = float(self.delays.saved(one.gone(self.delays.transfers, during))[during].sum()) / max(more, 1.0)
            out[k] = max(out[k], (out[k] + min(saved, 1.0) - c.FEWER * one.larger) / 2)
        return out


@dataclass(frozen=True, eq=False)
class Case:
    """One job, to be diagnosed."""

    view: View

    @cached_property
    def transfers(self) -> Transfers | None:
        """Its transfers; None where too little is known of it."""
        if len(self.view.ends) < 3:
            return None
        found = transfers_of(self.view)
        return found if len(found.rows) else None

    @cached_property
    def lately(self) -> Scene | None:
        """Against its own quick steps."""
        delays = None if self.transfers is None else against_steps(self.view, self.transfers)
        return None if delays is None else self._scene(delays)

    @cached_property
    def always(self) -> list[Scene]:
        """Against peers wherever they are, and against those in the same hosts."""
        if self.transfers is None:
            return []
        known = None if self.lately is None else self.lately.delays
        found = [(against_peers(self.view, self.transfers, known, beside=beside), beside) for beside in (False, True)]
        return [self._scene(delays, always=True, beside=beside) for delays, beside in found if delays is not None]

    def _scene(self, delays: Delays, *, always: bool = False, beside: bool = False) -> Scene:
        which = candidates(self.view, delays.transfers)
        gone = lost(delays, delays.receivers(self.view), usual=not always)
        return Scene(delays, which, gone, weigh(which, gone), always, beside)
