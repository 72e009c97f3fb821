"""Which rank sits where and who shares a group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism.synth.cluster import Plant
from prism.synth.spec import Job

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ranks:
    """The ranks of a job: their endpoints, their stage, and their groups, each as ints[groups, members].

    With CP, gradients are reduced over `dp` × `cp` ranks: those are the `dp` groups. `ep` groups lie inside `dp` groups, `edp`
    groups hold the ranks with the same experts.
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
        """Groups of two or more, as truth.json has them."""
        kinds = {"tp": self.tp, "dp": self.dp, "pp": self.pp, "ep": self.ep, "edp": self.edp, "cp": self.cp}
        return {kind: own.tolist() if own.shape[1] > 1 else [] for kind, own in kinds.items()}


def lay_out(job: Job, plant: Plant) -> Ranks:
    """Ranks of a job on the plant. Raises ValueError where they do not fit."""
    grid = np.arange(job.world).reshape(job.pp, job.dp, job.cp, job.tp)
    if job.dp % job.ep:
        raise ValueError(f"job {job.name}: {job.ep} experts' ranks do not divide {job.dp} replicas")
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
    used = job.gpus_used or plant.cluster.gpus - job.first_gpu
    hosts = -(-job.world // used)
    rank = np.arange(job.world)
    host, gpu = (rank % hosts, rank // hosts) if job.scattered else np.divmod(rank, used)
    host = job.first_host + host * job.host_stride
    if host.max() >= plant.cluster.hosts or (job.first_gpu + gpu).max() >= plant.cluster.gpus:
        raise ValueError(f"job {job.name}: {job.world} ranks do not fit on {plant.cluster.hosts} hosts")
    return np.asarray(host * plant.cluster.gpus + job.first_gpu + gpu)
