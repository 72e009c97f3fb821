"""Pipeline schedules as levels: lists of tasks that depend only on earlier levels, so that a level is simulated at once.

Sources: GPipe (Huang et al., 2019); 1F1B and interleaved 1F1B of Megatron-LM (Narayanan et al., SC 2021, section 2.2).
"""

from __future__ import annotations

from typing import NamedTuple

from prism.synth.scenario.specification import Schedule


class Task(NamedTuple):
    """Forward or backward of one micro-batch through one chunk of a stage's layers; `virtual` = chunk × stages + stage."""

    stage: int
    back: bool
    micro: int
    virtual: int


def levels(schedule: Schedule, stages: int, micro: int, chunks: int) -> list[list[Task]]:
    """Compute all tasks of a step. Raises ValueError for interleaving if stages do not divide micro-batches."""
    chunks = chunks if schedule == "interleaved" and stages > 1 else 1
    if chunks > 1 and micro % stages:
        raise ValueError(f"interleaving needs a number of micro-batches ({micro}) that is a multiple of the stages ({stages})")
    todo = [order(schedule, stage, stages, micro, chunks) for stage in range(stages)]
    last = stages * chunks - 1
    done: dict[tuple[bool, int, int], int] = {}
    at, out = [0] * stages, list[list[Task]]()
    while any(i < len(own) for i, own in zip(at, todo, strict=True)):
        now = [own[i] for i, own in zip(at, todo, strict=True) if i < len(own) and _ready(own[i], last, done)]
        if not now:
            raise ValueError("the schedule has a deadlock")
        for task in now:
            done[task.back, task.micro, task.virtual] = len(out)
            at[task.stage] += 1
        out.append(now)
    return out


def _ready(task: Task, last: int, done: dict[tuple[bool, int, int], int]) -> bool:
    if not task.back:
        return task.virtual == 0 or (False, task.micro, task.virtual - 1) in done
    if task.virtual == last:
        return (False, task.micro, last) in done
    return (True, task.micro, task.virtual + 1) in done


def order(schedule: Schedule, stage: int, stages: int, micro: int, chunks: int) -> list[Task]:
    """List the tasks of one stage in their order."""
    total = micro * chunks
    forward = [_task(k, False, stage, stages, chunks) for k in range(total)]
    backward = [_task(k, True, stage, stages, chunks) for k in range(total)]
    if schedule == "gpipe":
        return forward + backward
    ahead = (stages - stage - 1) * 2 + (chunks - 1) * stages if chunks > 1 else stages - stage - 1
    ahead = min(ahead, total)
    out = forward[:ahead]
    for k in range(total - ahead):
        out += [forward[ahead + k], backward[k]]
    return out + backward[total - ahead :]


def _task(k: int, back: bool, stage: int, stages: int, chunks: int) -> Task:
    if chunks == 1:
        return Task(stage, back, k, stage)
    group, place = divmod(k, stages * chunks)
    chunk = place // stages
    chunk = chunks - 1 - chunk if back else chunk
    return Task(stage, back, group * stages + place % stages, chunk * stages + stage)
