"""Write the truth of a simulation in the format of the captures' truth.json."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from prism.synth.scenario.cluster import Plant
from prism.synth.scenario.specification import Fault, Spec
from prism.synth.training.fabric import Floats
from prism.synth.training.job_run import Attempt, affected

KINDS = {"uplink_loss": "uplink_throttle"}  # kinds that the captures' format does not have


def truth_of(spec: Spec, attempts: Sequence[Attempt], plant: Plant, observed_ns: tuple[int, int]) -> dict[str, Any]:
    """List hosts, links, jobs (layout, groups, ranks, steps), and faults with start and end.

    Anything outside the collection time (`observed_ns`, ns) is left out; only complete steps stay. Input stalls are events of
    their job, like evaluations: nobody is broken.
    """
    hosts = {
        name: {
            "ip": plant.addresses[i],
            "leaf": plant.switches[plant.leaf[i]],
            "server": int(plant.host[i]) if i < plant.gpus else None,
            "gpu": int(plant.gpu[i]) if i < plant.gpus else None,
        }
        for i, name in enumerate(plant.names)
    }
    return {
        "name": spec.name,
        "hosts": hosts,
        "links": plant.links(),
        "jobs": {done.name: _job(done, plant, spec.start_ns, observed_ns) for done in attempts},
        "faults": [
            {
                "kind": KINDS.get(fault.kind, fault.kind),
                "job": done.name,
                **_named(fault, done),
                "step": fault.first,
                **({"spread": fault.spread} if fault.kind == "data_imbalance" else {"factor": fault.factor}),
                **({"loss": fault.loss} if fault.kind.endswith("_loss") else {}),
                "start_ns": round(begin) + spec.start_ns,
                "end_ns": round(end) + spec.start_ns,
            }
            for done in attempts
            for fault, begin, end in done.faults
            if begin + spec.start_ns < observed_ns[1] and end + spec.start_ns >= observed_ns[0]
        ],
    }


def _named(fault: Fault, done: Attempt) -> dict[str, Any]:
    """Culprit of a fault: its switch, its ranks, or nobody if the data vary."""
    if fault.switch:
        return {"switch": fault.switch}
    return {} if fault.kind == "data_imbalance" else {"ranks": affected(fault, done.ranks)}


def _job(done: Attempt, plant: Plant, start_ns: int, observed_ns: tuple[int, int]) -> dict[str, Any]:
    job, own = done.job, done.ranks.endpoint
    wire = done.wires
    since: Floats = done.begins.copy()
    since[1:] = wire[:-1]
    return {
        "mode": job.mode,
        "world": job.world,
        "layout": {"dp": job.dp, "pp": job.pp, "tp": job.tp, "cp": job.cp, "ep": job.ep},
        "spec": asdict(job),
        "groups": done.ranks.named(),
        "ranks": [
            {
                "rank": rank,
                "ip": plant.addresses[e],
                "host": plant.names[e],
                "server": int(plant.host[e]),
                "gpu": int(plant.gpu[e]),
                "leaf": plant.switches[plant.leaf[e]],
            }
            for rank, e in enumerate(own.tolist())
        ],
        "start_ns": round(done.begin) + start_ns,
        "steps": _steps(done.begins, done.ends, start_ns, observed_ns),
        "steps_wire": _steps(since, wire, start_ns, observed_ns),
        "events": [
            [0, kind, round(begin) + start_ns, round(end) + start_ns, step, {}] for kind, step, begin, end in done.pauses
        ],
    }


def _steps(begin: Floats, end: Floats, start_ns: int, observed_ns: tuple[int, int]) -> dict[str, list[list[int]]]:
    a, b = begin.round().astype("int64") + start_ns, end.round().astype("int64") + start_ns
    whole = (a >= observed_ns[0]) & (b <= observed_ns[1])
    rows = {str(r): np.flatnonzero(whole[:, r]).tolist() for r in range(a.shape[1])}
    return {r: [[k, int(a[k, int(r)]), int(b[k, int(r)])] for k in own] for r, own in rows.items()}
