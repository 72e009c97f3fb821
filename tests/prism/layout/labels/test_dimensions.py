import pytest

from prism.analysis import diagnose
from prism.layout.labels._dimensions import Shape
from prism.model import Job as JobOf
from prism.model import Layout, Source
from prism.synth.scenario.specification import Cluster, Job, Spec
from prism.synth.simulation import simulate
from prism.topology import Endpoint, Topology
from tests.prism.traffic import T0, Wire


def test_a_job_without_groups_is_of_one_dimension_each():
    wire = Wire()
    wire.send(0, 1, 1000, T0)
    shape = Shape(wire.flows(), [0, 1], {0: None, 1: None}, {0: -1, 1: -1}, [], [], {}, {})
    assert shape.groups() == ()
    assert shape.layout == Layout(dp=1, pp=1, tp=2, confidence=shape.layout.confidence)
    assert shape.layout.confidence < 0.8


def test_a_pipeline_over_all_endpoints_is_sure():
    wire = Wire()
    for i in range(3):
        wire.send(i, i + 1, 1000, T0)
    shape = Shape(
        wire.flows(),
        [0, 1, 2, 3],
        dict.fromkeys(range(4)),
        dict.fromkeys(range(4), -1),
        [],
        [[0, 1, 2, 3]],
        {i: i for i in range(4)},
        {},
    )
    assert (shape.layout.pp, shape.layout.dp, shape.layout.tp) == (4, 1, 1)
    assert shape.layout.confidence > 0.9
    assert [group.kind for group in shape.groups()] == ["pp"]


@pytest.mark.parametrize(("dp", "tp"), [(2, 1), (1, 2), (2, 2), (4, 2), (2, 4)])
@pytest.mark.parametrize("transport", ["rdma", "tcp"])
def test_replicas_inside_hosts_go_at_their_own_pace_and_tensor_parallel_ranks_do_not(transport, dp, tp):
    """Of either nothing but what stages hand on is on the wire."""
    job = Job(pp=3, dp=dp, tp=tp, micro=8, steps=16, transport=transport)
    done = simulate(Spec("x", Cluster(hosts=3, gpus=dp * tp), (job,)), 1)
    placed = Topology({a: Endpoint(at["host"], at["rail"], at["leaf"]) for a, at in done.topology["endpoints"].items()})
    whole = JobOf("A", tuple(done.topology["endpoints"]), ("host",), *done.flows.window)
    source = Source(("x",), 0, len(done.flows), {}, *done.flows.window)
    (found,) = diagnose(done.flows, source, topology=placed, jobs=[whole]).jobs
    layout, groups = found.parallelism.layout, found.parallelism.groups
    assert (layout.dp, layout.pp, layout.tp) == (dp, 3, tp)
    place = {address: i for i, address in enumerate(found.job.endpoints)}
    told = {kind: sorted([place[m] for m in g.members] for g in groups if g.kind == kind) for kind in ("dp", "tp")}
    truth = done.truth["jobs"]["A"]["groups"]
    assert told == {kind: sorted(truth[kind]) for kind in ("dp", "tp")}
    assert {g.evidence for g in groups if g.kind != "pp"} == {"placement"}
