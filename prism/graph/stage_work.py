"""Compute the own work of pipeline stages per micro-batch, from hand-overs between them.

A stage works from the arrival of a hand-over to the begin of the one that it sends for the same micro-batch, if it was idle at
the arrival and the next stage was ready. Waits make the distance longer, never shorter; so the least distance in a step is the
work. In each step the first micro-batch finds idle stages in forward, the last one in backward.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.graph import constants as c
from prism.graph.job_view import View
from prism.loops.arrays.change_points import middle
from prism.loops.arrays.intervals import Ints
from prism.loops.detection.message_parts import transfers
from prism.loops.detection.transfer_delays import Floats

BEGIN, END = range(2)


class Handovers(NamedTuple):
    """Hand-overs of the micro-batches along chains of ranks, one rank per stage (`chains`, int64[chains, stages]).

    `forward[:, c, s]` are begin and end of those from stage s of chain c to the next stage, `backward[:, c, s]` of those back
    to stage s, ns since the begin of the job's first step; float64[2, chains, stages − 1, steps, micro-batches]. NaN in steps
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


class StageWork(NamedTuple):
    """Own work per micro-batch, ns, by stage: `forward`, `backward`, both together (`whole`); NaN if unknown.

    `by_chain` is `whole` of each chain, float64[chains, stages]; `by_step` of each step, float64[stages, steps]. `busy` is the
    share of the time from its first input to its last output in which a stage works.
    """

    forward: Floats
    backward: Floats
    whole: Floats
    by_chain: Floats
    by_step: Floats
    busy: Floats


class Lane(NamedTuple):
    """Records of one pair: begin and end, ns, float64[2, records], step and octets of each; number of messages by step."""

    times: Floats
    step: Ints
    octets: Floats
    messages: Ints


def handovers(view: View) -> Handovers | None:
    """Find the hand-overs of all micro-batches; None without a pipeline of three stages, or if other stages exchange data.

    Numbers of messages per step are tried as number of micro-batches, the most frequent first: a hand-over may come in parts.
    """
    pp = view.parallelism.layout.pp
    stage = np.array([view.parallelism.stages.get(address, -1) for address in view.job.endpoints])
    if pp < c.PEERS or len(view.ends) <= c.SPAN or (np.bincount(stage[stage >= 0], minlength=pp) == 0).any():
        return None
    lanes = _lanes(view)
    if not lanes or any(abs(int(stage[a] - stage[b])) != 1 for a, b in lanes):
        return None
    chains = _chains(stage, lanes, pp)
    if not chains or 2 * len(chains) * pp < len(stage):
        return None
    chains = chains[:: -(-len(chains) // c.CHAINS)]
    lanes = {pair: lanes[pair] for chain in chains for one, other in pairwise(chain) for pair in ((one, other), (other, one))}
    counts = np.concatenate([lane.messages for lane in lanes.values()])
    number, often = np.unique(counts[counts > 1], return_counts=True)
    order = np.argsort(-often, kind="stable")
    for micro in number[order][2 * len(often) * often[order] >= often.sum()].tolist():
        whole = {pair: _whole(lane, micro) for pair, lane in lanes.items()}
        aligned = [found for chain in chains if (found := _aligned(chain, whole, micro)) is not None]
        if 2 * len(aligned) > len(chains):
            return _stacked(aligned)
    return None


def stage_work(found: Handovers) -> StageWork:
    """Compute the own work of each stage.

    An inner stage's forward and backward end in a hand-over each. The first stage's forward is at most the least distance of
    its hand-overs; its backward is assumed in the next stage's proportion, as are both of the last stage.
    """
    forward, backward = found.forward, found.backward
    _, chains, links, steps, micro = forward.shape
    ahead, back, whole = (np.full((chains, links + 1, steps), np.nan) for _ in range(3))
    span = np.full((chains, links + 1, steps), np.nan)
    for s in range(1, links):
        ahead[:, s] = _least(forward[BEGIN, :, s] - forward[END, :, s - 1])
        back[:, s] = _least(backward[BEGIN, :, s - 1] - backward[END, :, s])
        whole[:, s] = ahead[:, s] + back[:, s]
        span[:, s] = backward[BEGIN, :, s - 1, :, -1] - forward[END, :, s - 1, :, 0]
    share = ahead[:, 1] / whole[:, 1]
    whole[:, -1] = _last_stage(found)
    ahead[:, -1], back[:, -1] = whole[:, -1] * share, whole[:, -1] * (1 - share)
    span[:, -1] = backward[BEGIN, :, -1, :, -1] - forward[END, :, -1, :, 0]
    ahead[:, 0] = _least(np.diff(forward[BEGIN, :, 0], axis=-1))
    whole[:, 0] = ahead[:, 0] / share
    stages = links + 1
    if found.alternating and micro > stages:
        inside = forward[BEGIN, :, 0, :, stages:] - backward[END, :, 0, :, : micro - stages]
        most = np.where((inside < 0).any(axis=-1), np.nan, _least(inside))
        whole[:, 0] = np.fmin(whole[:, 0], most)
        span[:, 0] = (forward[BEGIN, :, 0, :, -1] - backward[END, :, 0, :, 0]) * micro / (micro - stages)
    ahead[:, 0], back[:, 0] = whole[:, 0] * share, whole[:, 0] * (1 - share)
    span[span <= 0] = np.nan
    by_stage = (np.moveaxis(part, 1, 0).reshape(stages, -1) for part in (ahead, back, whole, whole * micro / span))
    each = [middle(part, axis=1)[:, 0] for part in by_stage]
    return StageWork(each[0], each[1], each[2], middle(whole, axis=2)[:, :, 0], middle(whole, axis=0)[0], each[3])


def _last_stage(found: Handovers) -> Floats:
    """Forward and backward of the last stage, float64[chains, steps], ns.

    If it alternates, both lie between two hand-overs. Else all forwards and one backward lie between the first ones; if it
    waits for its input, one of both lies between the last input and the first output.
    """
    came, sent = found.forward[END, :, -1], found.backward[BEGIN, :, -1]
    if found.alternating:
        return _least(sent - came)
    back = _least(np.diff(sent, axis=-1))
    every = (sent[..., 0] - came[..., 0] - back) / came.shape[-1] + back
    return np.asarray(np.fmin(every, sent[..., 0] - came[..., -1]), np.float64)


def unqueued_work(found: Handovers) -> Floats:
    """Own work of the stages on micro-batches that found them idle, ns; float64[2, samples, stages − 1], NaN if unknown.

    Forward of the first micro-batch, and backward of the last one; samples are the chains and steps, chain by chain. The last
    column is the last stage: forward and backward of the first micro-batch if it alternates, else unknown.
    """
    forward, backward = found.forward, found.backward
    first = forward[BEGIN, :, 1:, :, 0] - forward[END, :, :-1, :, 0]
    last = backward[BEGIN, :, :-1, :, -1] - backward[END, :, 1:, :, -1]
    turn = backward[BEGIN, :, -1, :, 0] - forward[END, :, -1, :, 0]
    unknown = np.full_like(turn, np.nan)
    parts = (first, turn if found.alternating else unknown), (last, unknown)
    each = [np.concatenate([inner, end[:, None]], axis=1) for inner, end in parts]
    return np.stack([np.moveaxis(part, 1, 2).reshape(-1, part.shape[1]) for part in each])


def _lanes(view: View) -> dict[tuple[int, int], Lane]:
    """Hand-overs of each pair of ranks."""
    flows, n = view.flows, len(view.job.endpoints)
    ranks = np.full(len(flows.endpoints), -1, np.int64)
    ranks[view.codes] = np.arange(n)
    streams = [stream for stream in view.parallelism.streams if stream.kind == "pp" and len(stream.rows)]
    if not streams:
        return {}
    bounds = np.cumsum([0, *(len(stream.rows) for stream in streams)]).astype(np.int64)
    rows = np.concatenate([stream.rows[np.argsort(flows.sent_ns[stream.rows], kind="stable")] for stream in streams])
    src, dst = ranks[flows.src[rows[bounds[:-1]]]], ranks[flows.dst[rows[bounds[:-1]]]]
    called = np.flatnonzero(flows.control() & (flows.octets > 0))
    worded = np.isin(dst * n + src, ranks[flows.src[called]] * n + ranks[flows.dst[called]])
    begin, end, octets = flows.sent_ns[rows], flows.end_ns[rows], flows.octets[rows]
    of, first = transfers(begin, end, octets, bounds[:-1], bounds[1:], worded, c.SAME_MESSAGE)
    base, steps = int(view.begins[0]), len(view.ends)
    step, heads = view.step_at(rows).astype(np.int64), np.bincount(of, minlength=len(streams)).cumsum()
    out = {}
    for k, pair in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        own = slice(int(bounds[k]), int(bounds[k + 1]))
        messages = step[first[heads[k - 1] if k else 0 : heads[k]]]
        times = np.stack([begin[own] - base, np.maximum.accumulate(end[own]) - base]).astype(np.float64)
        if min(pair) >= 0:
            count = np.bincount(messages[messages < steps], minlength=steps)
            out[pair] = Lane(times, step[own], octets[own].astype(np.float64), count)
    return out


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


def _whole(lane: Lane, micro: int) -> Floats:
    """Begin and end of equally large hand-overs, `micro` per step; float64[2, hand-overs].

    Empty if records do not begin where hand-overs do.
    """
    each = np.bincount(lane.step, lane.octets)[1:]
    last = _ends(np.cumsum(lane.octets) / max(float(np.median(each)) / micro, 1.0)) if len(each) else np.zeros(0, np.int64)
    first = np.concatenate([[0], last + 1])[: len(last)]
    return np.stack([lane.times[BEGIN, first], lane.times[END, last]])


def _ends(gone: Floats) -> Ints:
    """Last record of each hand-over, given the sum of octets up to each record in hand-overs; empty if most do not match.

    A hand-over with more or fewer octets, for example with retransmissions, shifts all later ones. At least half must be
    usual.
    """
    out: list[Ints] = []
    known, shift, missed, most = 0, 0.0, 0, int(gone[-1] + c.SAME_MESSAGE)
    while known < most:
        whole = np.arange(known + 1, most + 1) + shift
        last = np.minimum(np.searchsorted(gone, whole - c.SAME_MESSAGE), len(gone) - 1)
        right = np.abs(gone[last] - whole) <= c.SAME_MESSAGE
        good = len(last) if right.all() else int(np.argmin(right))
        out.append(last[:good])
        known += good
        if good < len(last):
            near = int(np.argmin(np.abs(gone - whole[good])))
            missed += 1
            if 2 * missed > most or abs(gone[near] - whole[good]) >= 0.5 or (good and near <= last[good - 1]):
                return np.zeros(0, np.int64)
            out.append(np.array([near]))
            known, shift = known + 1, float(gone[near] - known - 1)
            most = min(most, int(gone[-1] - shift + c.SAME_MESSAGE))
    return np.concatenate(out).astype(np.int64) if out else np.zeros(0, np.int64)


def _aligned(chain: list[int], whole: dict[tuple[int, int], Floats], micro: int) -> tuple[list[int], Floats, Floats] | None:
    """A chain with its hand-overs forward and backward, float64[2, stages − 1, steps, micro] each; None if most are unknown.

    A step begins with a hand-over of the first stage before which this rests longest, or second longest: it also rests for the
    first backward.
    """
    begin, end = whole[chain[0], chain[1]]
    if len(begin) < 2 * micro:
        return None
    rests = np.concatenate([[np.nan], begin[1:] - end[:-1]])
    often = np.array([np.nanmean(rests[k::micro]) for k in range(micro)])
    for first in np.argsort(-often, kind="stable")[: c.FEW].tolist():
        out = _from(chain, whole, begin[first::micro], micro)
        unknown = np.isnan(out).any(axis=(0, 1, 2, 4)) | _acausal(*out)
        if 2 * np.count_nonzero(unknown) < len(unknown) >= c.SPAN:
            out[:, :, :, unknown] = np.nan
            return chain, out[0], out[1]
    return None


def _from(chain: list[int], whole: dict[tuple[int, int], Floats], begins: Floats, micro: int) -> Floats:
    """Hand-overs of a chain in the steps that start at `begins`, forward and backward; float64[2, 2, stages − 1, steps, micro].

    NaN in steps with another number of hand-overs.
    """
    out = np.full((2, 2, len(chain) - 1, len(begins), micro), np.nan)
    for link, (a, b) in enumerate(pairwise(chain)):
        for way, pair in enumerate(((a, b), (b, a))):
            times = whole[pair]
            bounds = np.append(np.searchsorted(times[BEGIN], begins), times.shape[1])
            steps = np.flatnonzero(np.diff(bounds) == micro)
            out[way, :, link, steps] = times[:, bounds[steps][:, None] + np.arange(micro)].swapaxes(0, 1)
    return out


def _stacked(found: list[tuple[list[int], Floats, Floats]]) -> Handovers:
    """Hand-overs of several chains, with the steps that all of them have."""
    steps = min(forward.shape[2] for _, forward, _ in found)
    chains, forward, backward = zip(*found, strict=True)
    each = (np.stack([own[:, :, :steps] for own in times], axis=1) for times in (forward, backward))
    return Handovers(np.array(chains, np.int64), *each)


def _acausal(forward: Floats, backward: Floats) -> NDArray[np.bool_]:
    """Whether a hand-over of a step begins before its input has arrived: then hand-overs are numbered wrongly."""
    ahead = forward[BEGIN, 1:] - forward[END, :-1]
    back = backward[BEGIN, :-1] - backward[END, 1:]
    turn = (backward[BEGIN, -1] - forward[END, -1]).min(axis=-1)
    return np.asarray((ahead < 0).any(axis=(0, 2)) | (back < 0).any(axis=(0, 2)) | (turn < 0))


def _least(times: Floats) -> Floats:
    """Least value over micro-batches; NaN in unknown steps."""
    return np.asarray(times.min(axis=-1), np.float64)
