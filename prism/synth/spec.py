"""What a simulation is asked for. Every field has a default; ranks count from 0 in Megatron's order (TP fastest, PP last)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Transport = Literal["rdma", "tcp"]
Mode = Literal["3d", "fsdp"]
Schedule = Literal["1f1b", "gpipe", "interleaved"]
Algorithm = Literal["ring", "tree", "halving", "pairs"]
FaultKind = Literal["compute_slow", "nic_throttle", "nic_loss", "uplink_throttle", "hang", "crash"]
Way = Literal["both", "out", "in"]


@dataclass(frozen=True)
class Cluster:
    """Hosts with one NIC per GPU under two tiers of switches.

    `rails`: GPU g of the hosts of one block goes to the block's leaf g; else a host goes to one leaf whole. A block is
    `hosts_per_leaf` hosts. `uplink_gbit` is one leaf–spine link, None as fast as all NICs below it together. `buffer_octets`
    is what a congested hop queues at most.
    """

    hosts: int = 8
    gpus: int = 1
    hosts_per_leaf: int = 4
    rails: bool = False
    spines: int = 1
    nic_gbit: float = 200.0
    uplink_gbit: float | None = None
    nvlink_gbit: float = 2400.0
    latency_us: float = 4.0
    buffer_octets: int = 1 << 20


@dataclass(frozen=True)
class Job:
    """One training job. Octets and times are those of one rank.

    Places: ranks fill the job's slots (`gpus_used` GPUs of each host from `first_host` on, from GPU `first_gpu` on) host by
    host; `scattered` puts consecutive ranks on different hosts, so that TP is on the wire. `begin_s` is when it starts.

    A step is data loading, `accumulation` × `micro` micro-batches forward and backward (`forward_ms`, `backward_ms` each, of a
    stage; the first and last stage take `uneven` times as long), the reduction of `gradient_octets` in `buckets` (overlapped
    with the last backward where `overlap`), the optimizer. `zero1` reduce-scatters gradients and gathers parameters after the
    optimizer. `tensor_octets` > 0 is reduced over TP `tensor_calls` times per micro-batch and direction; `context_octets` goes
    around CP rings `cp` − 1 times; `expert_octets` is what a rank sends away per all-to-all (two per direction and micro-batch
    and MoE layer), unevenly by `expert_spread`. `fsdp` gathers and scatters `gradient_octets` / `layers` per layer instead.
    Where senders wait for readiness, a stage asks for its next input when it has sent its last result, or, `batched`, at once.
    `algorithm` is that of the gradient reduction.

    `jitter` is the lognormal spread of a piece of work, `uneven_ranks` that of ranks' speeds; with `spike_chance` a piece takes
    `spike_factor` times as long; `foreign` is the share of steps in which a host's other load stretches work by up to half.
    Every `evaluate_every` steps the job evaluates for `evaluate_s`; every `checkpoint_every` it writes `checkpoint_octets` per
    writer (rank 0, or all with `checkpoint_all`) to storage. `storage_octets` are read per rank and step. `world_reduce` ends a
    step with a tiny all-reduce over all ranks. `retransmit` is the healthy share of packets that is sent again.
    """

    name: str = "A"
    mode: Mode = "3d"
    transport: Transport = "rdma"
    dp: int = 1
    pp: int = 1
    tp: int = 1
    cp: int = 1
    ep: int = 1
    steps: int = 24
    micro: int = 1
    accumulation: int = 1
    schedule: Schedule = "1f1b"
    chunks: int = 2
    batched: bool = False
    algorithm: Algorithm = "ring"
    buckets: int = 1
    overlap: bool = False
    zero1: bool = False
    layers: int = 4
    forward_ms: float = 12.0
    backward_ms: float = 24.0
    optimizer_ms: float = 10.0
    load_ms: float = 2.0
    uneven: float = 1.0
    gradient_octets: int = 400_000_000
    activation_octets: int = 8_000_000
    tensor_octets: int = 0
    tensor_calls: int = 4
    context_octets: int = 0
    expert_octets: int = 0
    expert_layers: int = 2
    expert_spread: float = 0.3
    message_octets: int = 1 << 20
    window_octets: int = 4 << 20
    channels: int = 1
    credits: bool = False
    most_rounds: int = 64
    jitter: float = 0.03
    uneven_ranks: float = 0.01
    spike_chance: float = 0.002
    spike_factor: float = 1.5
    foreign: float = 0.0
    world_reduce: bool = False
    evaluate_every: int = 0
    evaluate_s: float = 1.0
    checkpoint_every: int = 0
    checkpoint_octets: int = 1_000_000_000
    checkpoint_all: bool = False
    storage_octets: int = 0
    retransmit: float = 1e-5
    begin_s: float = 0.0
    first_host: int = 0
    host_stride: int = 1
    first_gpu: int = 0
    gpus_used: int = 0
    scattered: bool = False

    @property
    def world(self) -> int:
        """How many ranks."""
        return self.dp * self.pp * self.tp * self.cp


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong in a job's steps `first` … `stop` − 1 (None: to the end).

    compute_slow: `ranks` work `factor` times as long. nic_throttle: their NICs run at 1 / `factor` of their rate (one `way` or
    both). nic_loss: the share `loss` of the packets through their NICs is lost, which slows transfers `factor` times.
    uplink_throttle: the uplinks of leaf `switch` run at 1 / `factor`. hang: the ranks stop for `seconds` in step `first`.
    crash: they exit in step `first`; the job comes back `restart_s` later (None: never).
    """

    kind: FaultKind
    job: str = "A"
    ranks: tuple[int, ...] = ()
    switch: str | None = None
    first: int = 0
    stop: int | None = None
    factor: float = 2.0
    way: Way = "both"
    loss: float = 0.01
    seconds: float = 6.0
    restart_s: float | None = None


@dataclass(frozen=True)
class Nuisances:
    """Traffic that is no training: hosts that are no members of any job, storage, monitoring.

    `bulk_gbit` flows between two hosts outside the topology under different leaves (or, `bulk_inside`, between two endpoints of
    the topology that no job uses). A `monitor` sends `monitor_octets` to every endpoint each `monitor_s`, and goes on for
    `monitor_more_s` when all jobs are over.
    """

    bulk_gbit: float = 0.0
    bulk_inside: bool = False
    monitor: bool = False
    monitor_octets: int = 120
    monitor_s: float = 0.5
    monitor_more_s: float = 0.0


@dataclass(frozen=True)
class Degradation:
    """What collection loses: one packet in `sampling` is seen; the share `loss` of records is lost; each switch's clock is off
    by up to `skew_ms`; records of a flow are summed over `aggregate_s`; only the share `keep` of the time, its middle, is seen.
    """

    sampling: int = 1
    loss: float = 0.0
    skew_ms: float = 0.0
    aggregate_s: float = 0.0
    keep: float = 1.0


@dataclass(frozen=True)
class Spec:
    """A whole simulation."""

    name: str = "run"
    cluster: Cluster = Cluster()
    jobs: tuple[Job, ...] = (Job(dp=8),)
    faults: tuple[Fault, ...] = ()
    nuisances: Nuisances = Nuisances()
    degradation: Degradation = Degradation()
    start_ns: int = 1_790_000_000_000_000_000
