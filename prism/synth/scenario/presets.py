"""Named simulations. Octets and times are scaled so that a step takes about half a second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from prism.synth.scenario.specification import Cluster, Degradation, Fault, Job, Nuisances, Spec

SLOW = Cluster(nic_gbit=0.3, uplink_gbit=1.2, latency_us=60, buffer_octets=1 << 19)  # TCP between 8 hosts, one NIC each
FAST = Cluster(hosts=16, hosts_per_leaf=8)  # RDMA, one NIC per host
RAILS = Cluster(hosts=8, gpus=8, rails=True, hosts_per_leaf=8)  # RDMA, a leaf per rail

_DDP = Job(dp=8, transport="tcp", buckets=4, overlap=True, gradient_octets=8_000_000, forward_ms=150, backward_ms=300)
_PP = Job(
    pp=4, dp=2, transport="tcp", micro=8, gradient_octets=2_000_000, activation_octets=130_000, forward_ms=30, backward_ms=60,
    world_reduce=True,
)  # fmt: skip
_PIPES = Job(pp=4, dp=4, micro=8, gradient_octets=200_000_000, forward_ms=10, backward_ms=20)
_CUBE = replace(_PIPES, tp=8, dp=2, zero1=True, activation_octets=4_000_000)
_FSDP = Job(mode="fsdp", dp=8, transport="tcp", gradient_octets=8_000_000, forward_ms=200, backward_ms=400, steps=16)
_MOE = Job(dp=16, ep=4, gradient_octets=200_000_000, expert_octets=16_000_000, forward_ms=80, backward_ms=160)

PRESETS: Mapping[str, Spec] = {
    spec.name: spec
    for spec in (
        Spec("ddp", SLOW, (_DDP,)),
        Spec("ddp-rdma", FAST, (replace(_DDP, transport="rdma", gradient_octets=400_000_000),)),
        Spec("pipeline", SLOW, (_PP,)),
        Spec("pipeline-rdma", FAST, (_PIPES,)),
        Spec("interleaved", FAST, (replace(_PIPES, schedule="interleaved"),)),
        Spec("3d", RAILS, (_CUBE,)),
        Spec("fsdp", SLOW, (_FSDP,)),
        Spec("moe", FAST, (_MOE,)),
        Spec("context", FAST, (replace(_PIPES, pp=2, cp=2, context_octets=8_000_000),)),
        Spec("slow-rank", SLOW, (_PP,), (Fault("compute_slow", ranks=(5,), first=10, stop=18, factor=1.7),)),
        Spec("slow-nic", SLOW, (_DDP,), (Fault("nic_throttle", ranks=(3,), first=10, stop=18, factor=3.75),)),
        Spec("lossy-nic", SLOW, (_PP,), (Fault("nic_loss", ranks=(5,), first=10, stop=18, factor=2.0),)),
        Spec("slow-uplink", SLOW, (_PP,), (Fault("uplink_throttle", switch="leaf1", first=10, stop=18, factor=12),)),
        Spec("hang", SLOW, (_PP,), (Fault("hang", ranks=(2,), first=12),)),
        Spec("crash", SLOW, (_DDP,), (Fault("crash", ranks=(6,), first=12, restart_s=4.0),)),
        Spec(
            "busy",
            replace(SLOW, gpus=2),
            (
                replace(_DDP, gpus_used=1, storage_octets=60_000, checkpoint_every=12, checkpoint_octets=12_000_000),
                replace(_PP, name="B", gpus_used=1, first_gpu=1, begin_s=2.0, storage_octets=60_000),
            ),
            nuisances=Nuisances(bulk_gbit=0.04, monitor=True),
        ),
        Spec(
            "varied",
            FAST,
            (
                replace(
                    _PIPES,
                    lengths=0.2,
                    micro_lengths=0.1,
                    tied_octets=50_000_000,
                    queues=4,
                    stall_chance=0.005,
                    stall_ms=200,
                    pause_after=12,
                    pause_s=20.0,
                ),
            ),
        ),
        Spec("uneven-stages", FAST, (_PIPES,), (Fault("stage_imbalance", stage=3, factor=1.5),)),
        Spec("uneven-data", FAST, (_PIPES,), (Fault("data_imbalance", spread=0.3),)),
        Spec("late-input", FAST, (_PIPES,), (Fault("input_stall", seconds=0.4, chance=0.2),)),
        Spec("lossy-link", FAST, (_PIPES,), (Fault("uplink_loss", switch="leaf0", first=10, factor=3.0),)),
        Spec("sampled", FAST, (_PIPES,), degradation=Degradation(sampling=64, loss=0.01, skew_ms=1.0)),
    )
}

ABOUT: Mapping[str, str] = {
    "ddp": "8 GPUs, DDP over TCP, buckets that overlap with the backward",
    "ddp-rdma": "the same over RDMA",
    "pipeline": "PP4 × DP2 over TCP, 1F1B, 8 micro-batches",
    "pipeline-rdma": "PP4 × DP4 over RDMA",
    "interleaved": "the same with an interleaved schedule",
    "3d": "TP8 (inside hosts) × PP4 × DP2, a leaf per rail, distributed optimizer",
    "fsdp": "FSDP over 8 GPUs, TCP",
    "moe": "16 GPUs, EP4, all-to-all over RDMA",
    "context": "PP2 × CP2 × DP4 over RDMA",
    "slow-rank": "pipeline, rank 5 computes 1.7 × longer in steps 10 to 17",
    "slow-nic": "ddp, the NIC of rank 3 at a quarter of its rate in steps 10 to 17",
    "lossy-nic": "pipeline, the NIC of rank 5 loses packets in steps 10 to 17",
    "slow-uplink": "pipeline, the uplinks of leaf1 at a twelfth in steps 10 to 17",
    "hang": "pipeline, rank 2 stops for 6 s in step 12",
    "crash": "ddp, rank 6 exits in step 12, the job comes back",
    "busy": "two jobs at once, storage, a checkpoint, a bulk copy, monitoring",
    "varied": "pipeline-rdma, sequences of any length, tied embeddings, QPs in turn, late data, a long pause",
    "uneven-stages": "pipeline-rdma, the last stage works 1.5 × as long in every replica",
    "uneven-data": "pipeline-rdma, micro-batches with more or less work, drawn for each replica",
    "late-input": "pipeline-rdma, a fifth of the steps begins 0.4 s late: all ranks wait for data",
    "lossy-link": "pipeline-rdma, the uplink of leaf0 loses packets from step 10 on",
    "sampled": "pipeline-rdma, one packet in 64 seen, records lost, clocks that disagree",
}
