"""Test the cost of a fault against the same job simulated without it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from prism import topology
from prism.analysis import infer_job
from prism.detectors import DETECTORS
from prism.diagnosis.assessment.finding_scope import steps_of
from prism.diagnosis.assessment.root_causes import merge_by_cause
from prism.diagnosis.attribution.comparisons import Case
from prism.diagnosis.attribution.finding_cost import costs
from prism.jobs import recognize
from prism.model import Severity
from prism.synth.scenario.presets import SLOW
from prism.synth.scenario.specification import Fault, Job, Spec
from prism.synth.simulation import simulate
from tests.prism.faults import case

DDP = Job(dp=6, gradient_octets=60_000_000, forward_ms=40, backward_ms=80, steps=16)
TCP = replace(DDP, transport="tcp", gradient_octets=1_500_000, forward_ms=60, backward_ms=120)
RUNS = {
    "slow NIC": (SLOW, TCP, Fault("nic_throttle", ranks=(3,), first=6, stop=12, factor=4.0)),
    "NIC always slow": (SLOW, TCP, Fault("nic_throttle", ranks=(3,), factor=4.0)),
}


def viewed(spec):
    made = simulate(spec, 1)
    placed = topology.parse(json.dumps(made.topology), "topology.json")
    job = recognize(made.flows, placed, unproven=True)[0]
    return infer_job(made.flows, made.transits, job, made.flows.window[1], placed)[0]


def claims_of(view):
    """Claims of detectors."""
    found = merge_by_cause([finding for detect in DETECTORS for finding in detect(view)], ())
    return [f for f in found if f.severity is not Severity.INFO]


@pytest.mark.parametrize("name", RUNS)
def test_the_slowdown_is_that_against_the_same_job_without_the_fault(name):
    cluster, job, fault = RUNS[name]
    view, healthy = viewed(Spec("run", cluster, (job,), (fault,))), viewed(Spec("run", cluster, (job,)))
    (claim,) = claims_of(view)
    first, stop = steps_of(view, claim)
    first = max(first, 1)
    took, else_took = (float(v.ends[stop - 1] - v.ends[first - 1]) for v in (view, healthy))
    (cost,) = costs(Case(view), [claim])
    assert cost.slowdown == pytest.approx(took / else_took, rel=0.05)
    assert cost.lost_ns == pytest.approx(took - else_took, rel=0.15)


@pytest.mark.parametrize("name", ["slow NIC"])
def test_where_other_steps_are_healthy_the_replay_comes_near_them_or_says_so(name):
    view = case(name)
    (claim,) = claims_of(view)
    (cost,) = costs(Case(view), [claim])
    assert cost.slowdown == pytest.approx(claim.slowdown, rel=0.06)
    assert (cost.what_if is None) == bool(cost.why)


@pytest.mark.parametrize("name", ["hang", "crash"])
def test_a_hang_or_crash_costs_the_time_itself(name):
    view = case(name)
    (claim,) = claims_of(view)
    (cost,) = costs(Case(view), [claim])
    assert cost.what_if is None
    if name == "hang":
        assert cost.lost_ns == pytest.approx(2e9, rel=0.05)
    assert cost.lost_ns > 0


def test_where_what_was_taken_for_healthy_steps_has_no_length_what_was_seen_is_told():
    view = case("slow NIC")
    (claim,) = claims_of(view)
    view = replace(view)
    view.__dict__["durations"] = np.zeros(len(view.ends))
    (cost,) = costs(Case(view), [claim])
    assert (cost.what_if, cost.why) == (None, "its steps have no known duration")
    view = replace(view)
    view.__dict__["ends"] = np.full(len(view.ends), view.ends[-1])
    (cost,) = costs(Case(view), [claim])
    assert (cost.what_if, cost.slowdown) == (None, claim.slowdown)
