"""Place ranks on endpoints and into groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism.synth.scenario.cluster import Plant
from prism.synth.scenario.specification import Job

Ints = NDArray[np.int64]
SHOWN = 4  # GPUs named in an error


@dataclass(frozen=True, eq=False)
class Ranks:
    """Ranks of a job: their endpoints, stages and groups, each as ints[groups, members].

    With CP, gradients are reduced over `dp` × `cp` ranks: those are the `dp` groups. `ep` groups are parts of `dp` groups;
    `edp` groups contain the ranks with the same experts.
    """

    endpoint: Ints
    stage: Ints
    dp: Ints
    tp: Ints
    pp: Ints
    cp: Ints
    ep: Ints
    edp: Ints

    def named(self) -> dict[str, list[list[int]]]:
        """List groups of two or more ranks, as in truth.json."""
        kinds = {"tp": self.tp, "dp": self.dp, "pp": self.pp, "ep": self.ep, "edp": self.edp, "cp": self.cp}
        return {kind: own.tolist() if own.shape[1] > 1 else [] for kind, own in kinds.items()}


def place_ranks(job: Job, plant: Plant) -> Ranks:
    """Place the ranks of a job. Raises ValueError if they do not fit."""
    grid = np.arange(job.world).reshape(job.pp, job.dp, job.cp, job.tp)
    if job.dp % job.ep:
        raise ValueError(f"job {job.name}: ep {job.ep} does not divide dp {job.dp}")
    reduce = np.moveaxis(grid, 3, 1).reshape(job.pp * job.tp, job.dp * job.cp)
    split = np.moveaxis(grid, (0, 2, 3), (0, 1, 2)).reshape(-1, job.dp // job.ep, job.ep)
    return Ranks(
        endpoint=_endpoints(job, plant),
        stage=np.arange(job.world) // (job.world // job.pp),
        dp=reduce,
        tp=grid.reshape(-1, job.tp),
        pp=grid.reshape(job.pp, -1).T,
        cp=np.moveaxis(grid, 2, 3).reshape(-1, job.cp),
        ep=split.reshape(-1, job.ep),
        edp=np.swapaxes(split, 1, 2).reshape(-1, job.dp // job.ep) if job.ep > 1 else np.zeros((0, 1), np.int64),
    )


def _endpoints(job: Job, plant: Plant) -> Ints:
    cluster = plant.cluster
    used = job.gpus_used or cluster.gpus - job.first_gpu
    hosts = -(-job.world // used)
    rank = np.arange(job.world)
    host, gpu = (rank % hosts, rank // hosts) if job.scattered else np.divmod(rank, used)
    host = job.first_host + host * job.host_stride
    if host.max() >= cluster.hosts or (job.first_gpu + gpu).max() >= cluster.gpus:
        placed = f"at {used} a host they need {hosts} hosts, from server{job.first_host} to server{host.max()}"
        last = f"the last is server{cluster.hosts - 1}"
        raise ValueError(f"job {job.name}: {job.world} ranks do not fit on {cluster.hosts} hosts: {placed}; {last}")
    return np.asarray(host * cluster.gpus + job.first_gpu + gpu)


def check_apart(jobs: Sequence[Job], ranks: Sequence[Ranks], plant: Plant) -> None:
    """Check that no two jobs share a GPU. Raises ValueError with both jobs, the GPUs and the field that moves one of them."""
    owner = np.full(plant.gpus, -1)
    for number, (job, mine) in enumerate(zip(jobs, ranks, strict=True)):
        taken = mine.endpoint[owner[mine.endpoint] >= 0]
        if len(taken):
            other = jobs[owner[taken[0]]]
            shared = np.sort(taken[owner[taken] == owner[taken[0]]])
            shown = ", ".join(f"GPU {plant.gpu[at]} of server{plant.host[at]}" for at in shared[:SHOWN])
            more = f" and {len(shared) - SHOWN} more" if len(shared) > SHOWN else ""
            raise ValueError(
                f"jobs {other.name} and {job.name} are both on {shown}{more}; "
                "first_host, first_gpu and gpus_used move a job to others, cluster.hosts adds some"
            )
        owner[mine.endpoint] = number
