"""Simulated jobs whose work is uneven, or whose input is late, though no part is broken."""

import json
from functools import cache

from prism.diagnosis.assessment.confidence import completeness
from prism.diagnosis.uneven_work.job_findings import job_findings
from prism.graph.job_transfers import transfers_of
from prism.model import Finding, Severity
from prism.synth.scenario.specification import Cluster, Job, Spec
from prism.synth.simulation import simulate
from prism.topology import parse
from tests.prism.traffic import seen

STEPS = 14
PIPES = Job(pp=4, dp=2, micro=8, steps=STEPS, gradient_octets=20_000_000, activation_octets=1_000_000)
CLUSTER = Cluster(hosts=8)


@cache
def made(*faults, job=PIPES):
    return simulate(Spec(cluster=CLUSTER, jobs=(job,), faults=faults), 1)


@cache
def view(*faults, job=PIPES):
    done = made(*faults, job=job)
    return seen(done.flows, parse(json.dumps(done.topology), "topology.json"))


def found(*faults, job=PIPES, known=()):
    seen_view = view(*faults, job=job)
    return job_findings(seen_view, transfers_of(seen_view), completeness(seen_view), known)


def step_time(*faults, job=PIPES):
    steps = made(*faults, job=job).truth["jobs"]["A"]["steps"]["0"]
    return (steps[-1][2] - steps[0][2]) / (len(steps) - 1)


def claimed(*faults, job=PIPES) -> list[Finding]:
    return [one for one in found(*faults, job=job) if one.severity is not Severity.INFO]
