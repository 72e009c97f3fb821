"""Simulate traffic other than training: storage, checkpoints, background, monitoring."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from collectors.columns.record import ACK, FIN, PSH, SYN, TCP
from prism.synth.capture.transfer_records import Rows
from prism.synth.scenario.cluster import Ints, Plant
from prism.synth.scenario.specification import Nuisances, Spec
from prism.synth.training.fabric import Floats
from prism.synth.training.job_run import Attempt


def disturbances(spec: Spec, attempts: Sequence[Attempt], plant: Plant, rng: np.random.Generator) -> list[Rows]:
    """Make the records of all traffic other than training."""
    parts = [rows for done in attempts for rows in (*_reads(done, plant, rng), *_checkpoints(done, plant, rng))]
    until = max(done.over for done in attempts)
    if spec.nuisances.bulk_gbit:
        parts.append(_bulk(spec.nuisances, attempts, plant, until, rng))
    if spec.nuisances.monitor:
        parts.append(_monitoring(spec.nuisances, plant, until, rng))
    return parts


def _reads(done: Attempt, plant: Plant, rng: np.random.Generator) -> Iterator[Rows]:
    """Simulate data loading: each rank reads at the start of each step over its own connection."""
    job = done.job
    if job.storage_octets and len(done.begins):
        when = done.begins.ravel() + rng.exponential(2e6, done.begins.size)
        ranks = np.tile(done.ranks.endpoint, len(done.begins))
        store = np.full(len(ranks), plant.outsider("store"))
        yield from _fetched(store, ranks, when, job.storage_octets, 8 / plant.cluster.nic_gbit, rng)


def _checkpoints(done: Attempt, plant: Plant, rng: np.random.Generator) -> Iterator[Rows]:
    """Simulate checkpoints: rank 0, or every rank, writes to storage while the job pauses."""
    job = done.job
    for kind, _, begin, end in done.pauses:
        if kind == "ckpt":
            writers = done.ranks.endpoint if job.checkpoint_all else done.ranks.endpoint[:1]
            store = np.full(len(writers), plant.outsider("store"))
            pace = 0.9 * (end - begin) / job.checkpoint_octets
            yield from _fetched(writers, store, np.full(len(writers), begin + 2e6), job.checkpoint_octets, pace, rng)


def _fetched(src: Ints, dst: Ints, when: Floats, octets: int, pace: float, rng: np.random.Generator) -> Iterator[Rows]:
    """Make one short TCP connection per row, visible in the direction of its data; `pace` is ns per octet."""
    n = len(src)
    size = np.maximum((octets * rng.uniform(0.9, 1.1, n)).astype(np.int64), 1)
    end = when + 2e5 + size * pace
    ports = rng.integers(32768, 60999, n)
    for flags, begin, over, sizes in (
        (SYN, when, when, np.zeros(n, np.int64)),
        (PSH | ACK, when + 2e5, end, size),
        (FIN | ACK, end + 1e5, end + 1e5, np.zeros(n, np.int64)),
    ):
        yield _tcp(src, dst, begin, over, sizes, (ports, np.full(n, 2049)), flags)


def _bulk(asked: Nuisances, attempts: Sequence[Attempt], plant: Plant, until: float, rng: np.random.Generator) -> Rows:
    """Simulate a continuous copy, a record per half second."""
    src, dst = plant.outsider("bg1"), plant.outsider("bg0")
    if asked.bulk_inside:
        used = np.concatenate([done.ranks.endpoint for done in attempts])
        idle = np.setdiff1d(np.arange(plant.gpus), used)
        if len(idle) < 2:
            raise ValueError("bulk_inside needs two endpoints outside all jobs")
        src, dst = int(idle[0]), int(idle[-1])
    when = np.arange(0, until, 0.5e9)
    n = len(when)
    octets = (asked.bulk_gbit * 0.5e9 / 8 * rng.uniform(0.8, 1.2, n)).astype(np.int64)
    ports = np.full(n, 40001), np.full(n, 5201)
    return _tcp(np.full(n, src), np.full(n, dst), when, when + 0.49e9, octets, ports, PSH | ACK)


def _monitoring(asked: Nuisances, plant: Plant, until: float, rng: np.random.Generator) -> Rows:
    """Simulate monitoring: a hub polls every endpoint, and each answers."""
    rounds = np.arange(0, until + asked.monitor_more_s * 1e9, asked.monitor_s * 1e9)
    when = (rounds[:, None] + np.sort(rng.uniform(0, 5e7, plant.gpus))).ravel()
    gpu = np.tile(np.arange(plant.gpus), len(rounds))
    hub = np.full(len(gpu), plant.outsider("monitor"))
    port = 33000 + gpu % 20000
    other = np.full(len(gpu), 9100)
    src, dst = np.concatenate([hub, gpu]), np.concatenate([gpu, hub])
    times = np.concatenate([when, when + 4e5])
    ports = np.concatenate([port, other]), np.concatenate([other, port])
    return _tcp(src, dst, times, times, np.full(len(src), asked.monitor_octets), ports, PSH | ACK)


def _tcp(src: Ints, dst: Ints, start: Floats, end: Floats, octets: Ints, ports: tuple[Ints, Ints], flags: int) -> Rows:
    zero = np.zeros(len(src), np.int64)
    small = octets <= 256
    return Rows(
        {
            "start_ns": start, "end_ns": end, "src": src, "dst": dst, "src_port": ports[0], "dst_port": ports[1],
            "protocol": zero + TCP, "octets": octets, "packets": -(-octets // 1448), "messages": (small & (octets > 0)) * 1,
            "tcp_flags": zero + flags, "busy_ns": np.where(small, 0, end - start), "spine": zero - 2,
        }
    )  # fmt: skip
