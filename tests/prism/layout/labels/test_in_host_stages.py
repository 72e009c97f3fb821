"""Stages that hand on inside hosts, and what looks like them."""

import numpy as np
import pytest

from prism.analysis import diagnose
from prism.layout.labels._in_host_stages import _reduces_later, with_links
from prism.model import Severity, Source
from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.synth.simulation import simulate
from prism.topology import Endpoint, Topology

MS = 1_000_000


def told_of(cluster, job, *faults):
    """What is told of a simulated job, and the simulation."""
    done = simulate(Spec("x", cluster, (job,), faults), 1)
    placed = Topology({a: Endpoint(at["host"], at["rail"], at["leaf"]) for a, at in done.topology["endpoints"].items()})
    return diagnose(done.flows, Source(("x",), 0, len(done.flows), {}, *done.flows.window), topology=placed), done


def layout_of(cluster, job):
    """The layout that is told, its groups by places of ranks, and the true ones."""
    told, done = told_of(cluster, job)
    (found,) = told.jobs
    truth = done.truth["jobs"]["A"]
    rank = {own["ip"]: own["rank"] for own in truth["ranks"]}
    told = {
        kind: sorted([rank[m] for m in g.members] for g in found.parallelism.groups if g.kind == kind) for kind in ("dp", "pp")
    }
    layout = found.parallelism.layout
    return (layout.dp, layout.pp, layout.tp), told, {kind: sorted(truth["groups"][kind]) for kind in ("dp", "pp")}


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe"])
@pytest.mark.parametrize("transport", ["rdma", "tcp"])
@pytest.mark.parametrize("pp", [2, 4])
def test_stages_of_one_host_reduce_one_after_the_other(pp, transport, schedule):
    job = Job(pp=pp, dp=3, micro=8, steps=16, transport=transport, schedule=schedule, scattered=True)
    layout, told, truth = layout_of(Cluster(hosts=3, gpus=pp), job)
    assert (layout, told) == ((3, pp, 1), truth)


@pytest.mark.parametrize("kind", ["compute_slow", "hang"])
@pytest.mark.parametrize("pp", [2, 4])
def test_who_waits_for_a_stage_of_its_host_is_not_told_from_it(pp, kind):
    slow = Fault(kind, ranks=(4,), first=8, stop=14 if kind == "compute_slow" else None, factor=1.8, seconds=3.0)
    told, done = told_of(Cluster(hosts=3, gpus=pp), Job(pp=pp, dp=3, micro=8, steps=20, scattered=True), slow)
    own = next(rank["ip"] for rank in done.truth["jobs"]["A"]["ranks"] if rank["rank"] == 4)
    claims = {(one.subject, one.ids) for one in told.findings if one.severity is not Severity.INFO}
    host = ("host", (done.topology["endpoints"][own]["host"],))
    assert claims == {host} if kind == "hang" else claims <= {host}  # own work and waiting in the host look alike: not blamed
    assert {len(members) for members in told.jobs[0].parallelism.unseen} == {pp}
    assert not told.jobs[0].parallelism.piped


@pytest.mark.parametrize("transport", ["rdma", "tcp"])
@pytest.mark.parametrize("pp", [1, 2])
def test_tensor_parallel_ranks_of_one_host_reduce_at_one_time(pp, transport):
    job = Job(tp=4, pp=pp, dp=3, micro=8, steps=16, transport=transport)
    layout, told, truth = layout_of(Cluster(hosts=3 * pp, gpus=4), job)
    assert (layout, told) == ((3, pp, 4), truth)


def test_what_begins_later_does_so_in_all_steps_alike():
    chance = np.random.default_rng(0)
    one = 1000 * MS * np.arange(12) + chance.integers(0, 3 * MS, 12)
    assert _reduces_later(one, one + 80 * MS) == 1
    assert _reduces_later(one, one - 80 * MS) == -1
    assert _reduces_later(one, one + 2 * MS) == 0  # less than work takes
    assert _reduces_later(one, one + chance.integers(0, 200 * MS, 12)) == 0
    assert _reduces_later(one[:3], one[:3] + 80 * MS) == 0


def test_links_join_pipelines_end_to_end():
    assert with_links([[1, 2], [5, 6]], {}, [(0, 1), (2, 3), (4, 5), (6, 7)]) == (
        [[0, 1, 2, 3], [4, 5, 6, 7]],
        {0: 0, 1: 1, 2: 2, 3: 3, 4: 0, 5: 1, 6: 2, 7: 3},
    )
    known = {1: 0, 2: 1}
    for links in ([], [(0, 2)], [(2, 1)], [(0, 1), (4, 5)]):  # two before 2, around, and of two lengths
        assert with_links([[1, 2]], known, links) == ([[1, 2]], known)
