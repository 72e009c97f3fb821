"""Compute the own work of pipeline stages per micro-batch, from hand-overs between them.

A stage works from the arrival of a hand-over, or from its hand-over before if that is later, to the begin of the one that it
sends for the same micro-batch. It may wait until the next stage is ready: waits make the time longer, never shorter.

A stage of an interleaved pipeline has several chunks of layers; each micro-batch passes all stages once per chunk
(Narayanan et al., SC 2021, section 2.2).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
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
FORWARD, BACKWARD = range(2)


@dataclass(frozen=True, eq=False)
class Handovers:
    """Hand-overs of the micro-batches along chains of ranks, one rank per stage (`chains`, int64[chains, stages]).

    `forward[:, c, s]` are begin and end of those from chunk s of chain c to the next chunk, `backward[:, c, s]` of those back
    to chunk s, ns since the begin of the job's step; float64[2, chains, chunks − 1, steps, micro-batches]. Chunk s belongs to
    stage s modulo the number of stages. NaN in steps with another number of hand-overs, or with one that begins before its
    input has arrived.
    """

    chains: Ints
    forward: Floats
    backward: Floats

    @property
    def turns(self) -> int:
        """Chunks of each stage."""
        return int(self.forward.shape[2] + 1) // int(self.chains.shape[1])

    @cached_property
    def alternating(self) -> bool:
        """Whether the last stage sends back results before it has received all micro-batches (1F1B, unlike GPipe)."""
        ahead = self.backward[BEGIN, :, -1, :, 0] - self.forward[END, :, -1, :, -1]
        return bool(middle(ahead) < 0)

    @cached_property
    def work(self) -> Floats:
        """Own work of each chunk on each micro-batch, ns, forward and backward; float64[2, chains, chunks, steps, micro].

        If stages alternate, the forward of the last chunk contains its backward, and that of the first one the backward that
        precedes it. NaN where the hand-overs do not show the work.
        """
        _, chains, links, steps, micro = self.forward.shape
        stages = self.chains.shape[1]
        unknown = np.full((chains, 1, steps, micro), np.nan)
        first, last = unknown.copy(), self.forward[END, :, -1:] if self.alternating else unknown
        if self.alternating and self.turns == 1:
            first[..., stages:] = self.backward[END, :, :1, :, : max(micro - stages, 0)]
        came = np.stack([np.concatenate([first, self.forward[END, :, :-1], last], axis=1),
                         np.concatenate([unknown, self.backward[END, :, 1:], unknown], axis=1)])  # fmt: skip
        sent = np.stack([np.concatenate([self.forward[BEGIN], self.backward[BEGIN, :, -1:]], axis=1),
                         np.concatenate([unknown, self.backward[BEGIN, :, :-1], unknown], axis=1)])  # fmt: skip
        out = np.empty_like(sent)
        for stage in range(stages):
            own = slice(stage, links + 1, stages)
            out[:, :, own] = sent[:, :, own] - np.maximum(came[:, :, own], _before(sent[:, :, own]))
        return np.where(sent >= came, out, np.nan)


def _before(sent: Floats) -> Floats:
    """Begin of the hand-over that a rank sent before each; float64[2, chains, chunks, steps, micro]."""
    each = np.moveaxis(sent, (0, 2), (2, 3))  # chains, steps, way, chunks, micro
    flat = each.reshape(*each.shape[:2], -1)
    order = np.argsort(flat, axis=-1, kind="stable")
    out = np.full_like(flat, -np.inf)
    np.put_along_axis(out, order[..., 1:], np.take_along_axis(flat, order[..., :-1], axis=-1), axis=-1)
    return np.moveaxis(out.reshape(each.shape), (2, 3), (0, 2))


def handovers(view: View, transfers: Transfers) -> Handovers | None:
    """Find the hand-overs of all micro-batches; None without a pipeline, or if other stages exchange data.

    Numbers of messages per step are tried as number of micro-batches, the most frequent first: a hand-over may come in parts.
    """
    pp = view.parallelism.layout.pp
    stage = np.array([view.parallelism.stages.get(address, -1) for address in view.job.endpoints])
    if pp < 2 or len(view.ends) <= c.SPAN or (np.bincount(stage[stage >= 0], minlength=pp) == 0).any():
        return None
    number = np.flatnonzero(transfers.kinds == "pp")
    lanes = {(a, b): i for (a, b), i in zip(transfers.lanes[number].tolist(), number.tolist(), strict=True)}
    if not lanes or any(int(stage[a] - stage[b]) % pp not in (1, pp - 1) for a, b in lanes):
        return None
    chains = _chains(stage, lanes, pp)
    if not chains or 2 * len(chains) * pp < len(stage):
        return None
    chains = chains[:: -(-len(chains) // c.CHAINS)]
    links = np.array([[[lanes[a, b], lanes[b, a]] for a, b in pairwise(chain)] for chain in chains]).transpose(2, 0, 1)
    ends = [(chain[-1], chain[0]) for chain in chains]
    closed = pp > 2 and all((a, b) in lanes and (b, a) in lanes for a, b in ends)
    closing = np.array([[lanes[a, b], lanes[b, a]] for a, b in ends]).T if closed else links[:, :0, 0]
    often = np.bincount(_messages(transfers, np.unique(links)))
    often[:2] = 0
    order = np.argsort(-often, kind="stable")
    for many in order[(2 * np.count_nonzero(often) * often[order] >= often.sum()) & (often[order] > 0)].tolist():
        for forward, backward in _numbered(transfers, links, closing, many):
            unknown = np.isnan(forward + backward).any(axis=(0, 2, 4)) | _acausal(forward, backward)
            known = 2 * np.count_nonzero(unknown, axis=1) < unknown.shape[1]
            if 2 * np.count_nonzero(known) > len(chains):
                ways = (np.where(unknown[:, None, :, None], np.nan, part)[:, known] for part in (forward, backward))
                return Handovers(np.array(chains, np.int64)[known], *ways)
    return None


def _numbered(t: Transfers, links: Ints, closing: Ints, many: int) -> Iterator[tuple[Floats, Floats]]:
    """Forward and backward of `Handovers` for each order in which chunks may take turns, if links have `many` per step.

    Lanes of the links between stages, int64[2, chains, stages − 1], and from the last stage to the first, int64[2, chains],
    which has fewer hand-overs by those of one chunk. Chunks take turns after as many micro-batches as there are stages, or all.
    """
    inner = _of_lanes(t, links, many)
    seen = _messages(t, np.unique(closing)) if closing.size else np.zeros(0, np.int64)
    fewer = int(np.median(seen[seen > 0])) if seen.any() else 0
    if not 0 < fewer < many or many % (many - fewer):
        yield inner[:, FORWARD], inner[:, BACKWARD]
        return
    outer, stages, micro = _of_lanes(t, closing, fewer), links.shape[2] + 1, many - fewer
    turns, k = many // micro, np.arange(micro)
    for group in {stages, micro} if micro % stages == 0 else {micro}:
        ways: list[list[Floats]] = [[], []]
        for turn, stage in (divmod(v, stages) for v in range(turns * stages - 1)):
            inside = stage < stages - 1
            of = turns - (not inside)
            for way, place in ((FORWARD, turn), (BACKWARD, of - 1 - turn)):
                at = k // group * group * of + place * group + k % group
                ways[way].append((inner[:, way, :, stage] if inside else outer[:, way])[..., at])
        yield np.stack(ways[FORWARD], axis=2), np.stack(ways[BACKWARD], axis=2)


def _of_lanes(t: Transfers, lanes: Ints, many: int) -> Floats:
    """Begin and end of `many` hand-overs per step of each of some lanes; float64[2, *lanes, steps, many]."""
    number, at = np.unique(lanes, return_inverse=True)
    return _times(t, number, many)[:, at.reshape(lanes.shape)]


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

    It is the least of the micro-batches of a step: waits make others longer. Of the first stage it is an upper bound, from its
    hand-overs in the middle of the step, and from those forward, of which some follow each other without a backward.
    """
    _, chains, _, steps, _ = found.work.shape
    known, stages = found.work.min(axis=-1, initial=np.inf, where=np.isfinite(found.work)), found.chains.shape[1]
    known[np.isinf(known)] = np.nan
    inner = known[:, :, 1:-1]
    ahead = float(middle(inner[FORWARD] / inner.sum(axis=0))) if inner.size else c.FORWARD_SHARE
    work = known.sum(axis=0)
    work[:, 0] = known[FORWARD, :, 0] if found.alternating else np.nan
    if inner.size:
        work[:, 0] = np.fmin(work[:, 0], np.diff(found.forward[BEGIN, :, 0], axis=-1).min(axis=-1) / ahead)
    work[:, -1] = known[FORWARD, :, -1] if found.alternating else _last_stage(found)
    work = work.reshape(chains, found.turns, stages, steps)
    if found.turns > 1:  # other chunks lie between the hand-overs of the first one
        work[:, 0, 0] = work[:, 1:, 0].mean(axis=1)
    return work.sum(axis=1), ahead


def _last_stage(found: Handovers) -> Floats:
    """Forward and backward of the last stage, float64[chains, steps], ns, if stages do all forwards first.

    All forwards and one backward lie between its last input and its first output, or one of both if it waits for its input.
    """
    came, sent = found.forward[END, :, -1], found.backward[BEGIN, :, -1]
    back = np.diff(sent, axis=-1).min(axis=-1)
    every = (sent[..., 0] - came[..., 0] - back) / came.shape[-1] + back
    return np.asarray(np.fmin(every, sent[..., 0] - came[..., -1]), np.float64)


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
