"""Compute the own work of pipeline stages per micro-batch, from hand-overs between them.

A stage works from the arrival of a hand-over to the begin of the one that it sends for the same micro-batch, if it was idle at
the arrival and the next stage was ready. Waits make the distance longer, never shorter; so the least distance in a step is the
work. In each step the first micro-batch finds idle stages in forward, the last one in backward.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from prism.graph import constants as c
from prism.graph.job_transfers import Transfers
from prism.graph.job_view import View
from prism.loops.arrays.change_points import middle
from prism.loops.arrays.intervals import Ints, weighted_median
from prism.loops.detection.transfer_delays import Floats

BEGIN, END = range(2)


@dataclass(frozen=True, eq=False)
class Handovers:
    """Hand-overs of the micro-batches along chains of ranks, one rank per stage (`chains`, int64[chains, stages]).

    `forward[:, c, s]` are begin and end of those from stage s of chain c to the next stage, `backward[:, c, s]` of those back
    to stage s, ns since the begin of the job's step; float64[2, chains, stages − 1, steps, micro-batches]. NaN in steps
    with another number of hand-overs, or with one that begins before its input has arrived.
    """

    chains: Ints
    forward: Floats
    backward: Floats

    @property
    def alternating(self) -> bool:
        """Whether the last stage sends back results before it has received all micro-batches (1F1B, unlike GPipe)."""
        ahead = self.backward[BEGIN, :, -1, :, 0] - self.forward[END, :, -1, :, -1]
        return bool(middle(ahead) < 0)

    @cached_property
    def distances(self) -> Floats:
        """Time from a stage's input to its output for the same micro-batch, ns; float64[2, chains, stages, steps, micro].

        Forward and backward of inner stages; forward and backward together of the last stage, if it alternates; else NaN.
        """
        _, chains, links, steps, micro = self.forward.shape
        out = np.full((2, chains, links + 1, steps, micro), np.nan)
        out[0, :, 1:-1] = self.forward[BEGIN, :, 1:] - self.forward[END, :, :-1]
        out[1, :, 1:-1] = self.backward[BEGIN, :, :-1] - self.backward[END, :, 1:]
        if self.alternating:
            out[0, :, -1] = self.backward[BEGIN, :, -1] - self.forward[END, :, -1]
        return out


def handovers(view: View, transfers: Transfers) -> Handovers | None:
    """Find the hand-overs of all micro-batches; None without a pipeline of three stages, or if other stages exchange data.

    Numbers of messages per step are tried as number of micro-batches, the most frequent first: a hand-over may come in parts.
    """
    pp = view.parallelism.layout.pp
    stage = np.array([view.parallelism.stages.get(address, -1) for address in view.job.endpoints])
    if pp < c.PEERS or len(view.ends) <= c.SPAN or (np.bincount(stage[stage >= 0], minlength=pp) == 0).any():
        return None
    number = np.flatnonzero(transfers.kinds == "pp")
    lanes = {(a, b): i for (a, b), i in zip(transfers.lanes[number].tolist(), number.tolist(), strict=True)}
    if not lanes or any(abs(int(stage[a] - stage[b])) != 1 for a, b in lanes):
        return None
    chains = _chains(stage, lanes, pp)
    if not chains or 2 * len(chains) * pp < len(stage):
        return None
    chains = chains[:: -(-len(chains) // c.CHAINS)]
    number = np.array([[[lanes[a, b], lanes[b, a]] for a, b in pairwise(chain)] for chain in chains]).transpose(2, 0, 1)
    number, at = np.unique(number, return_inverse=True)
    often = np.bincount(_messages(transfers, number))
    often[:2] = 0
    order = np.argsort(-often, kind="stable")
    for micro in order[(2 * np.count_nonzero(often) * often[order] >= often.sum()) & (often[order] > 0)].tolist():
        times = _times(transfers, number, micro)[:, at]
        forward, backward = np.moveaxis(times, 1, 0)
        unknown = np.isnan(times).any(axis=(0, 1, 3, 5)) | _acausal(forward, backward)
        known = 2 * np.count_nonzero(unknown, axis=1) < unknown.shape[1]
        if 2 * np.count_nonzero(known) > len(chains):
            forward, backward = (np.where(unknown[:, None, :, None], np.nan, part)[:, known] for part in (forward, backward))
            return Handovers(np.array(chains, np.int64)[known], forward, backward)
    return None


def _messages(t: Transfers, lanes: Ints) -> Ints:
    """Numbers of messages of some lanes in their steps: pauses between them are longer than the share `NEAR` of a record."""
    rows = np.flatnonzero(np.isin(t.lane, lanes))
    cell = t.lane[rows].astype(np.int64) * t.steps + t.step[rows]
    usual = weighted_median((t.end - t.start)[rows], t.octets[rows])
    first = np.append(True, (cell[1:] != cell[:-1]) | (t.start[rows][1:] - t.end[rows][:-1] > c.NEAR * usual))
    return np.asarray(np.bincount(cell[first]), np.int64)


def _times(t: Transfers, lanes: Ints, micro: int) -> Floats:
    """Begin and end of the hand-overs of some lanes, `micro` per step, of equal octets; float64[2, lanes, steps, micro].

    NaN in steps in which records do not begin and end where hand-overs do.
    """
    cell = t.lane.astype(np.int64) * t.steps + t.step
    begins = (lanes[:, None] * t.steps + np.arange(t.steps))[..., None]
    bounds = begins + (np.arange(micro) + 1.0) / micro
    last = np.searchsorted(cell + t.high, bounds + c.WHOLE / micro, "right") - 1
    first = np.concatenate([t.begin[begins], last[..., :-1] + 1], axis=-1)
    whole = (first <= last) & (np.abs((cell + t.high)[last] - bounds) <= c.WHOLE / micro)
    known = whole.all(axis=-1, keepdims=True)
    return np.where(known, np.stack([t.start[np.minimum(first, len(cell) - 1)], t.end[last]]), np.nan)


def stage_work(found: Handovers) -> tuple[Floats, float]:
    """Compute the own work of each stage per micro-batch, ns, float64[chains, stages, steps], and the forward's share of it.

    An inner stage's forward and backward end in a hand-over each. The first stage's work is at most the least distance of its
    hand-overs forward, and in the middle of the step from a result's arrival to its next hand-over.
    """
    least = found.distances.min(axis=-1)
    work, micro = least.sum(axis=0), found.forward.shape[-1]
    ahead = float(middle(least[0, :, 1:-1] / work[:, 1:-1]))
    work[:, -1], stages = _last_stage(found), work.shape[1]
    work[:, 0] = np.diff(found.forward[BEGIN, :, 0], axis=-1).min(axis=-1) / ahead
    if found.alternating and micro > stages:
        inside = found.forward[BEGIN, :, 0, :, stages:] - found.backward[END, :, 0, :, : micro - stages]
        work[:, 0] = np.fmin(work[:, 0], np.where((inside < 0).any(axis=-1), np.nan, inside.min(axis=-1)))
    return work, ahead


def _last_stage(found: Handovers) -> Floats:
    """Forward and backward of the last stage, float64[chains, steps], ns.

    If it alternates, both lie between two hand-overs. Else all forwards and one backward lie between the first ones; if it
    waits for its input, one of both lies between the last input and the first output.
    """
    came, sent = found.forward[END, :, -1], found.backward[BEGIN, :, -1]
    if found.alternating:
        return np.asarray(found.distances[0, :, -1].min(axis=-1), np.float64)
    back = np.diff(sent, axis=-1).min(axis=-1)
    every = (sent[..., 0] - came[..., 0] - back) / came.shape[-1] + back
    return np.asarray(np.fmin(every, sent[..., 0] - came[..., -1]), np.float64)


def unqueued_work(found: Handovers) -> Floats:
    """Own work of the stages on micro-batches that found them idle, ns; float64[2, samples, stages − 1], NaN if unknown.

    Forward of the first micro-batch, and backward of the last one; samples are the chains and steps, chain by chain. The first
    stage is left out.
    """
    first_and_last = found.distances[0, :, 1:, :, 0], found.distances[1, :, 1:, :, -1]
    return np.stack([np.moveaxis(part, 1, 2).reshape(-1, part.shape[1]) for part in first_and_last])


def _chains(stage: Ints, lanes: Collection[tuple[int, int]], pp: int) -> list[list[int]]:
    """Ranks that hand over to each other, both ways, from the first stage to the last; each rank has one partner per side."""
    after: dict[int, list[int]] = {}
    for a, b in lanes:
        if stage[b] == stage[a] + 1 and (b, a) in lanes:
            after.setdefault(a, []).append(b)
    out = []
    for rank in np.flatnonzero(stage == 0).tolist():
        chain = [rank]
        while len(after.get(chain[-1], [])) == 1:
            chain.append(after[chain[-1]][0])
        if len(chain) == pp:
            out.append(chain)
    return out


def _acausal(forward: Floats, backward: Floats) -> NDArray[np.bool_]:
    """Whether a hand-over begins before its input has arrived: then they are numbered wrongly; bool[chains, steps]."""
    ahead = forward[BEGIN, :, 1:] - forward[END, :, :-1]
    back = backward[BEGIN, :, :-1] - backward[END, :, 1:]
    turn = (backward[BEGIN, :, -1] - forward[END, :, -1]).min(axis=-1)
    return np.asarray((ahead < 0).any(axis=(1, 3)) | (back < 0).any(axis=(1, 3)) | (turn < 0))
