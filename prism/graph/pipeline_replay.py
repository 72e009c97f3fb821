"""Replay a pipeline's step from the work of its stages: how long would it take if they worked otherwise?

Schedules: 1F1B of Megatron-LM (Narayanan et al., SC 2021, section 2.2), and GPipe (Huang et al., 2019).
"""

from __future__ import annotations

import numpy as np

from prism.loops.detection.transfer_delays import Floats


def pipeline_span(forward: Floats, backward: Floats, move: float, *, alternating: bool) -> Floats:
    """Compute the time from the first forward to the last backward of each of several pipelines, ns.

    Parameters
    ----------
    forward, backward : float64[stages, micro-batches, pipelines]
        Own work of each stage on each micro-batch, ns.
    move : float
        Duration of a hand-over, ns.
    alternating : bool
        Whether stages alternate forward and backward (1F1B), or do all forwards first (GPipe).

    Returns
    -------
    float64[pipelines]
    """
    stages, micro, many = forward.shape
    todo = [_order(stage, stages, micro, alternating) for stage in range(stages)]
    free, at = np.zeros((stages, many)), [0] * stages
    done: dict[tuple[bool, int, int], Floats] = {}
    while any(place < len(own) for place, own in zip(at, todo, strict=True)):
        for stage, own in enumerate(todo):
            while at[stage] < len(own):
                back, k = own[at[stage]]
                before = stage + 1 if back else stage - 1
                turn = back and before == stages
                ready = done.get((False, stage, k) if turn else (back, before, k))
                if ready is None and before >= 0:
                    break
                came = np.zeros(many) if ready is None else ready + (0.0 if turn else move)
                free[stage] = np.maximum(free[stage], came) + (backward if back else forward)[stage, k]
                done[back, stage, k] = free[stage].copy()
                at[stage] += 1
    return np.asarray(free.max(axis=0), np.float64)


def _order(stage: int, stages: int, micro: int, alternating: bool) -> list[tuple[bool, int]]:
    """Tasks of a stage in order: whether backward, and the micro-batch."""
    ahead = min(stages - stage - 1, micro) if alternating else micro
    out = [(False, k) for k in range(ahead)]
    for k in range(micro - ahead):
        out += [(False, ahead + k), (True, k)]
    return out + [(True, k) for k in range(micro - ahead, micro)]
