import json
from dataclasses import replace

import pytest

from prism import topology
from prism.analysis import diagnose
from prism.diagnosis.assessment.isolation import choose_hosts, isolation, ranks_of
from prism.model import Severity, Source
from prism.synth.scenario.presets import FAST
from prism.synth.scenario.specification import Fault, Job, Spec
from prism.synth.simulation import simulate
from tests.prism.faults import NIC, RANK, case, claims_of

GROUP = tuple(f"host{i}" for i in range(6))


def pick(weights, min_probability=0.9):
    return choose_hosts({(host,): weight for host, weight in weights.items()}, GROUP, min_probability)


def test_a_clear_culprit_is_isolated_alone():
    found = pick({"host0": 9.0, "host1": 0.0, "host2": 0.0})
    assert found.hosts == ("host0",)
    assert found.confidence > 0.97


def test_of_two_that_may_be_it_both_go():
    found = pick({"host0": 9.0, "host1": 9.0, "host2": 0.0})
    assert found.hosts == ("host0", "host1")
    assert [p for _, p in found.alternatives[:2]] == pytest.approx([0.49, 0.49], abs=0.01)
    assert pick({"host0": 9.0, "host1": 9.0}, min_probability=0.45).hosts == ("host0",)


def test_the_whole_group_when_in_doubt():
    found = pick(dict.fromkeys(GROUP[:5], 1.0))
    assert found.hosts == GROUP


def test_nobody_is_isolated_without_suspects():
    assert pick({}).hosts == ()


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("slow NIC", NIC), ("NIC always slow", NIC), ("lossy NIC", NIC),
        ("hang", RANK), ("crash", RANK),
    ],
)  # fmt: skip
def test_the_culprit_s_host(name, host):
    view = case(name)
    (claim,) = claims_of(view)
    found = isolation(view, claim) if name in ("hang", "crash") else claim.isolate
    assert f"host{host}" in found.hosts
    assert len(found.hosts) <= 2
    assert found.alternatives[0][0] == (f"host{host}",)


def test_a_link_between_switches_is_isolated_itself():
    view = case("slow uplink")
    (claim,) = claims_of(view)
    assert claim.isolate.parts == ("leaf1", "spine0")
    assert claim.isolate.hosts == ()


@pytest.mark.parametrize("leaf", ["leaf0", "leaf1"])
def test_of_two_leaves_the_one_at_whose_uplinks_packets_queue(leaf):
    """All edges that cross one cross the other as well, over either spine."""
    cluster = replace(FAST, hosts=8, hosts_per_leaf=4, spines=2)
    job = Job(dp=8, algorithm="halving", gradient_octets=100_000_000, forward_ms=20, backward_ms=40, steps=16)
    made = simulate(Spec("a", cluster, (job,), (Fault("uplink_throttle", switch=leaf, first=6, stop=12, factor=15.0),)), 1)
    source = Source((), 0, len(made.flows), {}, *made.flows.window)
    found = diagnose(made.flows, source, topology=topology.parse(json.dumps(made.topology), "t.json"), transits=made.transits)
    (one,) = [f for f in found.findings if f.severity is not Severity.INFO]
    assert leaf in one.ids


def test_ranks_of_a_finding():
    view = case("slow NIC")
    (claim,) = claims_of(view)
    assert ranks_of(view, claim) == [f"10.0.{NIC}.1"]
