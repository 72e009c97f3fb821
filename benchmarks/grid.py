"""Draw simulated clusters at random: layout × scale × speed × fault × nuisance × degradation, each a `Case` with its truth.

A case is defined by its number and the grid's seed. Every dimension is drawn for each case, except layouts and faults, which
take turns so that a short grid has all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.degraded import WAYS
from collectors.columns.record import Flows, Transits
from prism.synth.scenario.specification import Algorithm, Cluster, Degradation, Fault, Job, Nuisances, Spec
from prism.synth.simulation import Simulation, simulate

Rng = np.random.Generator
SLOWER = 50  # rate of an RDMA cluster's NICs over that of a TCP one
VISIBLE = 1.02  # minimum slowdown of a step by a visible fault, against the same run without it


@dataclass(frozen=True)
class Case:
    """One cluster of the grid, with its drawn properties."""

    name: str
    layout: str
    scale: str
    fault: str
    nuisance: str
    degradation: str
    spec: Spec
    seed: int


@dataclass(frozen=True, eq=False)
class Drawn:
    """Output of a simulated collection, with its truth and topology documents."""

    flows: Flows
    transits: Transits
    truth: dict[str, Any]
    topology: dict[str, Any]


def _pick(rng: Rng, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _ddp(rng: Rng, many: int) -> tuple[Cluster, Job]:
    buckets = _pick(rng, 1, 4, 8)
    job = Job(dp=many, buckets=buckets, overlap=buckets > 1, gradient_octets=200_000_000, forward_ms=60, backward_ms=120)
    return Cluster(hosts=many), job


def _multi(rng: Rng, many: int) -> tuple[Cluster, Job]:
    """Two ranks of each data-parallel group per host; with more, inner ones would not use the network."""
    cluster, job = _ddp(rng, many)
    return replace(cluster, hosts=many // 2, gpus=2), job


def _pipe(rng: Rng, many: int) -> tuple[Cluster, Job]:
    pp = _pick(rng, *(p for p in (2, 4, 8) if many // p >= 2))
    micro = pp * _pick(rng, 1, 2, 3)
    job = Job(pp=pp, dp=many // pp, micro=micro, gradient_octets=100_000_000, activation_octets=4_000_000)
    return Cluster(hosts=many), replace(job, schedule=_pick(rng, "1f1b", "1f1b", "gpipe"), zero1=_pick(rng, True, False))


def _interleaved(rng: Rng, many: int) -> tuple[Cluster, Job]:
    cluster, job = _pipe(rng, many)
    return cluster, replace(job, schedule="interleaved", chunks=_pick(rng, 2, 4))


def _lone(rng: Rng, many: int) -> tuple[Cluster, Job]:
    """A pipeline without replicas."""
    pp = min(many, 8)
    job = Job(pp=pp, micro=2 * pp, activation_octets=4_000_000)
    return Cluster(hosts=pp), replace(job, schedule=_pick(rng, "1f1b", "gpipe"))


def _cube(rng: Rng, many: int) -> tuple[Cluster, Job]:
    """Tensor parallel inside hosts, by placement."""
    gpus = _pick(rng, 4, 8)
    hosts = max(many // gpus, 4)
    _, job = _pipe(rng, hosts) if rng.random() < 0.6 else _ddp(rng, hosts)
    return Cluster(hosts=hosts, gpus=gpus, rails=True, hosts_per_leaf=max(hosts // 2, 2)), replace(job, tp=gpus)


def _wired(rng: Rng, many: int) -> tuple[Cluster, Job]:
    """Tensor parallel over the network."""
    _, job = _pipe(rng, max(many // 2, 4))
    return Cluster(hosts=job.world * 2), replace(job, tp=2, tensor_octets=2_000_000, tensor_calls=4)


def _experts(rng: Rng, many: int) -> tuple[Cluster, Job]:
    ep = _pick(rng, 2, 4, 8) if many >= 16 else _pick(rng, 2, 4)
    job = Job(dp=many, ep=ep, gradient_octets=100_000_000, expert_octets=8_000_000, forward_ms=60, backward_ms=120)
    if many >= 16 and rng.random() < 0.4:
        job = replace(job, pp=2, dp=many // 2, micro=4, activation_octets=4_000_000, forward_ms=15, backward_ms=30)
        job = replace(job, ep=min(ep, job.dp // 2))
    return Cluster(hosts=many), replace(job, expert_spread=_pick(rng, 0.05, 0.3))


def _context(rng: Rng, many: int) -> tuple[Cluster, Job]:
    cp = _pick(rng, 2, 4) if many >= 8 else 2
    job = Job(dp=many // cp, cp=cp, gradient_octets=100_000_000, context_octets=6_000_000, forward_ms=60, backward_ms=120)
    if many >= 16 and rng.random() < 0.5:
        job = replace(job, pp=2, dp=many // cp // 2, micro=4, activation_octets=4_000_000, forward_ms=15, backward_ms=30)
    return Cluster(hosts=many), job


def _sharded(rng: Rng, many: int) -> tuple[Cluster, Job]:
    job = Job(mode="fsdp", dp=many, gradient_octets=200_000_000, layers=_pick(rng, 4, 12), forward_ms=100, backward_ms=200)
    return Cluster(hosts=many), job


def _accumulated(rng: Rng, many: int) -> tuple[Cluster, Job]:
    cluster, job = _ddp(rng, many)
    return cluster, replace(job, accumulation=4, forward_ms=20, backward_ms=40)


def _with(algorithm: Algorithm) -> Callable[[Rng, int], tuple[Cluster, Job]]:
    def drawn(rng: Rng, many: int) -> tuple[Cluster, Job]:
        cluster, job = (_pipe if rng.random() < 0.3 else _ddp)(rng, many)
        return cluster, replace(job, algorithm=algorithm)

    return drawn


LAYOUTS: Mapping[str, Callable[[Rng, int], tuple[Cluster, Job]]] = {
    "ddp": _ddp,
    "ddp-hosts": _multi,
    "pipeline": _pipe,
    "interleaved": _interleaved,
    "pp-only": _lone,
    "tp-placed": _cube,
    "tp-wired": _wired,
    "moe": _experts,
    "cp": _context,
    "fsdp": _sharded,
    "accumulation": _accumulated,
    "tree": _with("tree"),
    "halving": _with("halving"),
    "pairs": _with("pairs"),
}
SCALES: Mapping[str, tuple[int, ...]] = {"small": (8, 8, 16), "medium": (32, 64), "large": (128, 256)}
FAULTS = ("none", "slow_rank", "none", "slow_nic", "none", "lossy", "none", "uplink", "hang", "none", "crash", "always", "two")
NUISANCES = ("none", "none", "storage", "pauses", "bulk", "twins", "foreign", "uneven")
DEGRADATIONS = ("sampled", "lost", "summed", "skewed", "cut")


def cases(seed: int, count: int, *, scales: tuple[str, ...] = ("small", "medium"), degraded: float = 0.0) -> Iterator[Case]:
    """Yield `count` cases; the share `degraded` of them with imperfect collection."""
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        layout = list(LAYOUTS)[number % len(LAYOUTS)]
        scale = _pick(rng, *scales)
        fault = FAULTS[(number * 5 + number // len(LAYOUTS)) % len(FAULTS)]
        nuisance, how = _pick(rng, *NUISANCES), "none"
        if rng.random() < degraded:
            how = _pick(rng, *DEGRADATIONS)
        cluster, job = LAYOUTS[layout](rng, _pick(rng, *SCALES[scale]))
        cluster, job = _paced(rng, cluster, job)
        spec = _disturbed(rng, Spec(f"{seed}-{number}", cluster, (job,)), nuisance)
        spec = faulty(rng, replace(spec, degradation=WAYS.get(how, Degradation())), fault)
        yield Case(f"{number:03d} {layout}", layout, scale, fault, nuisance, how, spec, seed * 1000 + number)


def _paced(rng: Rng, cluster: Cluster, job: Job) -> tuple[Cluster, Job]:
    """Scale a case to another speed: steps of tens of milliseconds to tens of seconds, RDMA messages or TCP bursts."""
    pace = float(np.exp(rng.uniform(np.log(0.3), np.log(20))))
    times: dict[str, Any] = {
        name: getattr(job, name) * pace for name in ("forward_ms", "backward_ms", "optimizer_ms", "load_ms")
    }
    sizes = ("gradient_octets", "activation_octets", "tensor_octets", "context_octets", "expert_octets")
    tcp = job.world <= 32 and rng.random() < 0.4
    # TCP is slower, so that transfers take as long as over RDMA
    shrink = min(pace, 4.0) / (SLOWER if tcp else 1)
    octets: dict[str, Any] = {name: int(getattr(job, name) * shrink) for name in sizes}
    job = replace(job, **times, **octets, steps=int(rng.integers(16, 30)), transport="tcp" if tcp else "rdma")
    job = replace(job, jitter=float(rng.uniform(0.01, 0.05)), channels=_pick(rng, 1, 1, 2), credits=_pick(rng, True, False))
    job = replace(job, batched=_pick(rng, True, False), world_reduce=_pick(rng, True, False))
    if tcp:
        cluster = replace(cluster, nic_gbit=cluster.nic_gbit / SLOWER, latency_us=60, buffer_octets=1 << 19)
    per_leaf = cluster.hosts_per_leaf if cluster.rails else max(cluster.hosts // _pick(rng, 2, 4), 2)
    return replace(cluster, hosts_per_leaf=per_leaf, spines=_pick(rng, 1, 2, 4)), job


def _disturbed(rng: Rng, spec: Spec, nuisance: str) -> Spec:
    job, cluster = spec.jobs[0], spec.cluster
    second = cluster.nic_gbit * 1e9 / 8
    step = _step_s(job)
    if nuisance == "storage":
        job = replace(job, storage_octets=int(0.01 * step * second) + 1000)
        return replace(spec, jobs=(job,), nuisances=Nuisances(monitor=True))
    if nuisance == "pauses":
        job = replace(job, evaluate_every=_pick(rng, 5, 8), evaluate_s=3 * step, checkpoint_every=_pick(rng, 7, 12))
        return replace(spec, jobs=(replace(job, checkpoint_octets=int(0.2 * step * second) + 1000),))
    if nuisance == "bulk":
        return replace(spec, nuisances=Nuisances(bulk_gbit=0.05 * cluster.nic_gbit, monitor=True))
    if nuisance == "twins":
        other = replace(job, name="B", begin_s=_pick(rng, 0.3, 2.0) * step, first_host=cluster.hosts)
        return replace(spec, cluster=replace(cluster, hosts=2 * cluster.hosts), jobs=(job, other))
    if nuisance == "foreign":
        return replace(spec, jobs=(replace(job, foreign=0.05),))
    if nuisance == "uneven":
        return replace(spec, jobs=(replace(job, uneven=1.3 if job.pp > 1 else 1.0),))
    return spec


def faulty(rng: Rng, spec: Spec, kind: str) -> Spec:
    """Add a fault of a kind of `FAULTS`."""
    return _watched(replace(spec, faults=_faults(rng, spec, kind)))


def _watched(spec: Spec) -> Spec:
    """Add other traffic to a job that ends for good; otherwise its end would be the end of the collection."""
    if not any(fault.kind == "crash" and fault.restart_s is None for fault in spec.faults):
        return spec
    return replace(spec, nuisances=replace(spec.nuisances, monitor=True, monitor_more_s=5 * _step_s(spec.jobs[0])))


def _step_s(job: Job) -> float:
    return (job.forward_ms + job.backward_ms) * (job.micro + job.pp - 1) * job.accumulation / 1e3


def _faults(rng: Rng, spec: Spec, kind: str) -> tuple[Fault, ...]:
    job = spec.jobs[0]
    rank, other = (int(r) for r in rng.choice(job.world, 2, replace=False))
    first = int(rng.integers(5, job.steps - 8))
    stop = first + int(rng.integers(4, 8))
    factor = float(rng.uniform(1.25, 2.0))
    slow = (rank,)
    if kind == "slow_rank":
        return (Fault("compute_slow", ranks=slow, first=first, stop=stop, factor=factor),)
    if kind == "always":
        return (Fault("compute_slow", ranks=slow, factor=factor),)
    if kind == "slow_nic":
        return (Fault("nic_throttle", ranks=(rank,), first=first, stop=stop, factor=4.0 * factor),)
    if kind == "lossy":
        return (Fault("nic_loss", ranks=(rank,), first=first, stop=stop, factor=2.0, loss=0.02),)
    if kind == "uplink":
        return (Fault("uplink_throttle", switch="leaf0", first=first, stop=stop, factor=10.0 * factor),)
    if kind == "hang":
        return (Fault("hang", ranks=(rank,), first=first, seconds=4 * _step_s(job) + 0.5),)
    if kind == "crash":
        return (Fault("crash", ranks=(rank,), first=first, restart_s=_pick(rng, None, 3 * _step_s(job))),)
    if kind == "two":
        early = Fault("compute_slow", ranks=slow, first=4, stop=8, factor=factor)
        return early, Fault("compute_slow", ranks=(other,), first=job.steps - 6, stop=job.steps - 2, factor=factor)
    return ()


def drawn(case: Case) -> Drawn:
    """Simulate a case. Hidden faults (`VISIBLE`, `_silent`) are marked in the truth."""
    done = simulate(case.spec, case.seed)
    passing = [f for f in done.truth["faults"] if f["kind"] not in ("hang", "crash")]
    if passing:
        well = simulate(replace(case.spec, faults=(), degradation=Degradation()), case.seed).truth
        for fault in passing:
            fault["slowdown"] = _stretch(fault, done.truth, well)
            fault["hidden"] = fault["slowdown"] < VISIBLE
    for fault in (f for f in done.truth["faults"] if f["kind"] == "crash"):
        fault["hidden"] = _silent(fault, done)
    return Drawn(done.flows, done.transits, done.truth, done.topology)


def _silent(crash: Mapping[str, Any], done: Simulation) -> bool:
    """Check whether a crashed job had sent nothing of its last step: then the crash looks like an end."""
    if f"{crash['job']}-restart" in done.truth["jobs"]:
        return False
    job, flows = done.truth["jobs"][crash["job"]], done.flows
    ended = max((step[2] for steps in job["steps_wire"].values() for step in steps), default=0)
    own = np.isin(np.array(flows.endpoints), [rank["ip"] for rank in job["ranks"]])
    return not bool((own[flows.src] & own[flows.dst] & ~flows.control() & (flows.start_ns > ended)).any())


def _stretch(fault: Mapping[str, Any], ill: Mapping[str, Any], well: Mapping[str, Any]) -> float:
    """Compute the ratio of a fault's steps to the same steps without it."""
    rows = next(iter(ill["jobs"][fault["job"]]["steps"].values()))
    other = {k: b - a for k, a, b in next(iter(well["jobs"][fault["job"]]["steps"].values()))}
    ratio = [
        (b - a) / other[k] for k, a, b in rows if k in other and a < fault["end_ns"] and b > fault["start_ns"] and other[k] > 0
    ]
    return float(np.median(ratio)) if ratio else 1.0
