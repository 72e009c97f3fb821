"""Replay a pipeline's step from the work of its stages: how long would it take if they worked otherwise?

Schedules: 1F1B of Megatron-LM (Narayanan et al., SC 2021, section 2.2), and GPipe (Huang et al., 2019).
"""

from __future__ import annotations

import numpy as np

from prism.loops.detection.transfer_delays import Floats


def pipeline_span(forward: Floats, backward: Floats, move: float, *, alternating: bool, turns: int = 1) -> Floats:
    """Compute the time from the first forward to the last backward of each of several pipelines, ns.

    Parameters
    ----------
    forward, backward : float64[stages, micro-batches, pipelines]
        Own work of each stage on each micro-batch, in all of its chunks, ns.
    move : float
        Duration of a hand-over, ns.
    alternating : bool
        Whether stages alternate forward and backward (1F1B), or do all forwards first (GPipe).
    turns : int
        Chunks of each stage; more than one in an interleaved pipeline.

    Returns
    -------
    float64[pipelines]
    """
    stages, micro, many = forward.shape
    todo = [_order(stage, stages, micro, turns, alternating) for stage in range(stages)]
    free, at, last = np.zeros((stages, many)), [0] * stages, stages * turns - 1
    done: dict[tuple[bool, int, int], Floats] = {}
    while any(place < len(own) for place, own in zip(at, todo, strict=True)):
        for stage, own in enumerate(todo):
            while at[stage] < len(own):
                back, chunk, k = own[at[stage]]
                before = chunk + 1 if back else chunk - 1
                turn = back and chunk == last
                ready = done.get((False, chunk, k) if turn else (back, before, k))
                if ready is None and before >= 0:
                    break
                came = np.zeros(many) if ready is None else ready + (0.0 if turn else move)
                free[stage] = np.maximum(free[stage], came) + (backward if back else forward)[stage, k] / turns
                done[back, chunk, k] = free[stage].copy()
                at[stage] += 1
    return np.asarray(free.max(axis=0), np.float64)


def _order(stage: int, stages: int, micro: int, turns: int, alternating: bool) -> list[tuple[bool, int, int]]:
    """Tasks of a stage in order: whether backward, the chunk, and the micro-batch."""
    group = stages if turns > 1 and alternating and micro % stages == 0 else micro
    every = [(turn, k + first) for first in range(0, micro, group) for turn in range(turns) for k in range(group)]
    forward = [(False, turn * stages + stage, k) for turn, k in every]
    backward = [(True, (turns - 1 - turn) * stages + stage, k) for turn, k in every]
    ahead = (stages - stage - 1) * min(turns, 2) + (turns - 1) * group if alternating else micro * turns
    ahead = min(ahead, len(forward))
    out = forward[:ahead]
    for one, other in zip(forward[ahead:], backward, strict=False):
        out += [one, other]
    return out + backward[len(forward) - ahead :]
