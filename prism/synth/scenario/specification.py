"""Specification of a simulation. Every field has a default; ranks count from 0 in Megatron's order (TP fastest, PP last).

The types define valid numbers; `specification_file` checks files against them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

Transport = Literal["rdma", "tcp"]
Mode = Literal["3d", "fsdp"]
Schedule = Literal["1f1b", "gpipe", "interleaved"]
Algorithm = Literal["ring", "tree", "halving", "pairs"]
FaultKind = Literal[
    "compute_slow", "nic_throttle", "nic_loss", "uplink_throttle", "uplink_loss", "hang", "crash",
    "stage_imbalance", "data_imbalance", "input_stall",
]  # fmt: skip
Way = Literal["both", "out", "in"]


@dataclass(frozen=True)
class Bounds:
    """Valid range of a field: from `least` (excluded if `above`) to `most`."""

    least: float = 0.0
    most: float = 1e15
    above: bool = False


Count = Annotated[int, Bounds(1)]
Whole = Annotated[int, Bounds()]
Positive = Annotated[float, Bounds(above=True)]
Amount = Annotated[float, Bounds()]
Share = Annotated[float, Bounds(0, 1)]


@dataclass(frozen=True)
class Cluster:
    """Hosts with one NIC per GPU under two tiers of switches.

    `rails`: GPU g of the hosts of one block connects to the block's leaf g; else all NICs of a host connect to one leaf. A
    block is `hosts_per_leaf` hosts. `uplink_gbit`: rate of one leaf–spine link; None: as fast as all NICs below it together.
    `buffer_octets`: maximum queue of a congested hop.
    """

    hosts: Annotated[int, Bounds(1, 60_000)] = 8
    gpus: Annotated[int, Bounds(1, 250)] = 1
    hosts_per_leaf: Count = 4
    rails: bool = False
    spines: Count = 1
    nic_gbit: Positive = 200.0
    uplink_gbit: Positive | None = None
    nvlink_gbit: Positive = 2400.0
    latency_us: Amount = 4.0
    buffer_octets: Whole = 1 << 20


@dataclass(frozen=True)
class Job:
    """One training job. Octets and times are those of one rank.

    Places: ranks fill the job's slots (`gpus_used` GPUs of each host from `first_host` on, from GPU `first_gpu` on) host by
    host; `scattered` puts consecutive ranks on different hosts, so that TP uses the network. `begin_s` is the start.

    A step is data loading, `accumulation` × `micro` micro-batches forward and backward (`forward_ms`, `backward_ms` each, of a
    stage; the first and last stage take `uneven` times as long), the reduction of `gradient_octets` in `buckets` (overlapped
    with the last backward if `overlap`), the optimizer. `zero1` reduce-scatters gradients and gathers parameters after the
    optimizer. `tensor_octets` > 0 is reduced over TP `tensor_calls` times per micro-batch and direction; `context_octets` goes
    around CP rings `cp` − 1 times; `expert_octets` is a rank's volume per all-to-all (two per direction, micro-batch and MoE
    layer), unevenly by `expert_spread`. `fsdp` gathers and scatters `gradient_octets` / `layers` per layer instead. If senders
    wait for readiness, a stage requests its next input after sending its last result, or, `batched`, at once. `algorithm` is
    that of the gradient reduction.

    `lengths` is the lognormal spread of the steps' sequence lengths, which all ranks share, `micro_lengths` that of the
    micro-batches in a step: work and activations grow with them. `tied_octets` > 0 is reduced between first and last stage
    after the gradients (tied embeddings). A pair's messages use `queues` queue pairs in turn on each channel. With
    `stall_chance` a rank's data comes about `stall_ms` late. After step `pause_after` the job sleeps for `pause_s`.

    `jitter` is the lognormal spread of a piece of work, `uneven_ranks` that of ranks' speeds; with `spike_chance` a piece takes
    `spike_factor` times as long; `foreign` is the share of steps in which other load of a host stretches work by up to half.
    Every `evaluate_every` steps the job evaluates for `evaluate_s`; every `checkpoint_every` it writes `checkpoint_octets` per
    writer (rank 0, or all with `checkpoint_all`) to storage. `storage_octets` are read per rank and step. `world_reduce` ends a
    step with a tiny all-reduce over all ranks. `retransmit` is the share of retransmitted packets without a fault.
    """

    name: str = "A"
    mode: Mode = "3d"
    transport: Transport = "rdma"
    dp: Count = 1
    pp: Count = 1
    tp: Count = 1
    cp: Count = 1
    ep: Count = 1
    steps: Count = 24
    micro: Count = 1
    accumulation: Count = 1
    schedule: Schedule = "1f1b"
    chunks: Count = 2
    batched: bool = False
    algorithm: Algorithm = "ring"
    buckets: Count = 1
    overlap: bool = False
    zero1: bool = False
    layers: Count = 4
    forward_ms: Amount = 12.0
    backward_ms: Amount = 24.0
    optimizer_ms: Amount = 10.0
    load_ms: Amount = 2.0
    uneven: Positive = 1.0
    gradient_octets: Whole = 400_000_000
    activation_octets: Count = 8_000_000
    tensor_octets: Whole = 0
    tensor_calls: Count = 4
    context_octets: Whole = 0
    expert_octets: Whole = 0
    expert_layers: Count = 2
    expert_spread: Amount = 0.3
    message_octets: Count = 1 << 20
    window_octets: Whole = 4 << 20
    channels: Annotated[int, Bounds(1, 32)] = 1
    credits: bool = False
    most_rounds: Count = 64
    lengths: Amount = 0.0
    micro_lengths: Amount = 0.0
    tied_octets: Whole = 0
    queues: Annotated[int, Bounds(1, 32)] = 1
    stall_chance: Share = 0.0
    stall_ms: Amount = 500.0
    pause_after: Whole = 0
    pause_s: Amount = 0.0
    jitter: Amount = 0.03
    uneven_ranks: Amount = 0.01
    spike_chance: Share = 0.002
    spike_factor: Positive = 1.5
    foreign: Share = 0.0
    world_reduce: bool = False
    evaluate_every: Whole = 0
    evaluate_s: Amount = 1.0
    checkpoint_every: Whole = 0
    checkpoint_octets: Whole = 1_000_000_000
    checkpoint_all: bool = False
    storage_octets: Whole = 0
    retransmit: Share = 1e-5
    begin_s: Amount = 0.0
    first_host: Whole = 0
    host_stride: Count = 1
    first_gpu: Whole = 0
    gpus_used: Whole = 0
    scattered: bool = False

    @property
    def world(self) -> int:
        """Number of ranks."""
        return self.dp * self.pp * self.tp * self.cp


@dataclass(frozen=True)
class Fault:
    """A fault, or an imbalance, in a job's steps `first` … `stop` − 1 (None: to the end). Several may act at once.

    compute_slow: `ranks` work `factor` times as long. nic_throttle: their NICs run at 1 / `factor` of their rate (one `way` or
    both). nic_loss: the share `loss` of the packets through their NICs is lost, which slows transfers `factor` times.
    uplink_throttle: the uplinks of leaf `switch`, or only that to `spine`, run at 1 / `factor`. uplink_loss: they lose the
    share `loss` of their packets, which slows transfers `factor` times. hang: the ranks stop for `seconds` in step `first`.
    crash: they exit in step `first`; the job restarts `restart_s` later (None: never).

    Without a broken part: stage_imbalance: forward and backward of pipeline stage `stage` take `factor` times as long in every
    replica. data_imbalance: the work on micro-batches has the lognormal spread `spread`, drawn anew by step, micro-batch and
    replica, the same in all stages, as if sequences of other lengths were packed to the same number of tokens; or, with
    `experts`, the ranks of an expert group get tokens with that spread by step and rank. input_stall: the share `chance` of the
    steps begins `seconds` later on all ranks.
    """

    kind: FaultKind
    job: str = "A"
    ranks: tuple[Whole, ...] = ()
    switch: str | None = None
    spine: str | None = None
    stage: Whole | None = None
    first: Whole = 0
    stop: Count | None = None
    factor: Positive = 2.0
    way: Way = "both"
    loss: Share = 0.01
    spread: Amount = 0.3
    experts: bool = False
    seconds: Amount = 6.0
    chance: Share = 1.0
    restart_s: Amount | None = None

    def active(self, step: int) -> bool:
        """Whether the fault acts in a step."""
        return self.first <= step and (self.stop is None or step < self.stop)


@dataclass(frozen=True)
class Nuisances:
    """Traffic other than training: hosts outside any job, storage, monitoring.

    `bulk_gbit` flows between two hosts outside the topology under different leaves (or, `bulk_inside`, between two unused
    endpoints of the topology). A `monitor` sends `monitor_octets` to every endpoint each `monitor_s`, until `monitor_more_s`
    after the last job.
    """

    bulk_gbit: Amount = 0.0
    bulk_inside: bool = False
    monitor: bool = False
    monitor_octets: Count = 120
    monitor_s: Positive = 0.5
    monitor_more_s: Amount = 0.0


@dataclass(frozen=True)
class Degradation:
    """Losses of collection: one packet in `sampling` is seen; the share `loss` of records is lost.

    `skew_ms`: maximum clock offset of a switch. `aggregate_s`: records of a flow are summed over it. `keep`: share of the time,
    its middle, that is collected.
    """

    sampling: Count = 1
    loss: Share = 0.0
    skew_ms: Amount = 0.0
    aggregate_s: Amount = 0.0
    keep: Annotated[float, Bounds(0, 1, above=True)] = 1.0


@dataclass(frozen=True)
class Spec:
    """A whole simulation."""

    name: str = "run"
    cluster: Cluster = Cluster()
    jobs: tuple[Job, ...] = (Job(dp=8),)
    faults: tuple[Fault, ...] = ()
    nuisances: Nuisances = Nuisances()
    degradation: Degradation = Degradation()
    start_ns: Annotated[int, Bounds(0, 4.2e18)] = 1_790_000_000_000_000_000
