"""Jobs with collectives of each kind, and their simulated views."""

import json
from dataclasses import replace

from prism import topology
from prism.synth.scenario.presets import FAST, SLOW
from prism.synth.scenario.specification import Job, Spec
from prism.synth.simulation import simulate
from tests.prism.traffic import seen

DDP = Job(dp=8, gradient_octets=60_000_000, forward_ms=40, backward_ms=80, steps=16, jitter=0.02)
PIPE = Job(pp=2, dp=4, micro=4, steps=16, gradient_octets=100_000_000)
JOBS = {
    "context, two": (FAST, replace(DDP, dp=4, cp=2, context_octets=4_000_000)),
    "context, four": (FAST, replace(DDP, dp=2, cp=4, context_octets=4_000_000)),
    "context in a pipeline": (FAST, replace(PIPE, cp=2, context_octets=6_000_000)),
    "experts": (FAST, replace(DDP, ep=4, expert_octets=4_000_000, expert_spread=0.1)),
    "all with all": (FAST, replace(DDP, algorithm="pairs")),
    "tensors on the wire": (FAST, replace(PIPE, dp=2, tp=2, tensor_octets=4_000_000, tensor_calls=4)),
}
OTHERS = {
    "ring over RDMA": (FAST, DDP),
    "ring over TCP": (SLOW, replace(DDP, transport="tcp", gradient_octets=1_500_000)),
    "ring under the work": (SLOW, replace(DDP, transport="tcp", gradient_octets=1_500_000, buckets=8, overlap=True)),
    "tree": (FAST, replace(DDP, algorithm="tree")),
}
CUBE = replace(DDP, algorithm="halving")


def simulated(cluster, job, *faults, seed=1):
    made = simulate(Spec("a", replace(cluster, hosts=job.world), (job,), faults), seed)
    return seen(made.flows, topology.parse(json.dumps(made.topology), "t.json"), made.transits)
