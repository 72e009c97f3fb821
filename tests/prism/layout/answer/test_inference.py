from dataclasses import replace

import numpy as np
import pytest

from prism.analysis import diagnose
from prism.layout.answer import inference
from prism.layout.answer.inference import infer_layout, infer_members, unknown_layout
from prism.layout.answer.posterior import answers
from prism.layout.constants import INCOMPLETE
from prism.model import Source
from prism.report.json_report import to_json
from tests.prism.evidence.made import Wire
from tests.prism.layout.made import addresses, asked, data_parallel, job, pipelined, tensor_and_data, topology

SOURCE = Source(files=(), packets=0, flows=0, skipped={}, start_ns=0, end_ns=0)


def inferred(wire, per_host=1):
    return infer_layout(wire.flows(), job(wire), topology(wire.endpoints, per_host))


def test_tensor_parallel_twins_may_be_replicas():
    found = inferred(tensor_and_data(hosts=4, per_host=4), 4)
    layout = found.best.layout
    assert (layout.dp, layout.tp) == (4, 4)
    assert 0.4 < layout.confidence < 0.95
    assert found.alternatives[0].layout.dp == 16
    assert "not seen" in found.alternatives[0].why


def test_a_ring_through_all_hosts_is_data_parallel():
    found = inferred(data_parallel(hosts=4, per_host=4), 4)
    layout = found.best.layout
    assert (layout.dp, layout.tp) == (16, 1)
    assert layout.confidence > 0.8
    assert found.lockstep == 1


def test_stages_are_numbered_and_every_record_of_payload_has_a_stream():
    wire = pipelined()
    found, flows = inferred(wire), wire.flows()
    assert found.best.layout.pp > 1
    assert sorted(found.best.stages.values())[-1] == found.best.layout.pp - 1
    assert (found.best.of[~flows.control()] >= 0).all()


def test_bursts_of_tcp_are_judged_too():
    wire = tensor_and_data(hosts=4, per_host=1)
    flows = wire.flows()
    flows = replace(flows, src_port=np.full(len(flows), 999, np.uint16), dst_port=np.full(len(flows), 999, np.uint16))
    layout = infer_layout(flows, job(wire), topology(wire.endpoints, 1)).best.layout
    assert layout.dp == 4
    assert layout.confidence > 0.85


@pytest.mark.parametrize("wire", [tensor_and_data(4, 4), pipelined()])
def test_the_report_carries_alternatives_that_are_whole_layouts(wire):
    placed = topology(wire.endpoints, 4 if len(wire.endpoints) == 16 else 1)
    (found,) = to_json(diagnose(wire.flows(), SOURCE, topology=placed), placed)["jobs"]
    assert found["confidence"] <= 1
    for one in found["alternatives"]:
        assert set(one) == {"dp", "pp", "tp", "ep", "cp", "confidence", "why"}
        assert one["confidence"] <= 1
        assert one["why"]


@pytest.mark.parametrize("column", ["messages", "sampling_rate"])
def test_samples_and_sums_cannot_be_counted(column):
    wire = data_parallel(hosts=4, per_host=4)
    flows = replace(wire.flows(), **{column: np.full(len(wire.rows), 4, np.int64)})
    layout = infer_layout(flows, job(wire), topology(wire.endpoints, 4)).best.layout
    assert layout.dp == 16
    assert layout.confidence <= INCOMPLETE


@pytest.mark.parametrize(
    ("messages", "busy", "steps", "expected"),
    [(0, 0.0, 0.25, 1), (0, 0.0, 1, 0.5), (0, 0.0, 2, 0.25), (0, 0.5, 2, 0.5), (0, 1.0, 2, 1), (1, 0.0, 2, 1)],
)
def test_sums_over_the_time_of_a_step_do_not_resolve_it(messages, busy, steps, expected):
    wire = data_parallel(hosts=4, per_host=4)
    problem, flows = asked(wire, 4)[0], wire.flows()
    lasted = np.full(len(flows), round(steps * problem.steps.period))
    shown = {"messages": np.full(len(flows), messages, np.int64), "busy_ns": (busy * lasted).astype(np.int64)}
    flows = replace(flows, end_ns=flows.start_ns + lasted, **shown)
    assert inference._resolved(flows, problem) == pytest.approx(expected)


@pytest.mark.parametrize(("long", "sure"), [(0.5, True), (0.0005, False)])
def test_if_only_scalars_are_on_the_wire_the_layout_is_not_sure(long, sure):
    wire = Wire(addresses(8))
    for step in range(10):
        wire.ring(list(range(8)), step * 400 + 100, 1_000, long=long)
    found = infer_layout(wire.flows(), job(wire), topology(wire.endpoints, 1))
    assert (found.best.layout.confidence > 0.5) == sure


def test_ranks_may_be_missing_where_hosts_have_gpus_left():
    wire = tensor_and_data(hosts=4, per_host=2)
    placed = topology([*wire.endpoints, "10.9.9.9"], 2)
    part = replace(job(wire), endpoints=tuple(sorted(wire.endpoints))[:-1])
    assert infer_layout(wire.flows(), part, placed).best.layout.confidence <= INCOMPLETE
    assert infer_layout(wire.flows(), job(wire), placed).best.layout.confidence > 0


def test_without_repetition_the_layout_is_unknown():
    wire = data_parallel(hosts=4, per_host=1)
    flows = wire.flows().take(np.arange(3))
    assert infer_layout(flows, job(wire), None) is None
    found = unknown_layout(flows, job(wire))
    assert (found.layout.dp, found.layout.confidence, found.groups, found.streams) == (4, 0.0, (), ())
    assert {pair.kind for pair in found.pairs} == {"unknown"}
    assert sum(pair.octets for pair in found.pairs) == flows.octets.sum()


def test_where_no_layout_explains_the_traffic_alternatives_say_so(monkeypatch):
    wire = tensor_and_data(hosts=4, per_host=4)
    explains = iter([0.9, 0.3])
    for expected in (False, True):
        share = next(explains)
        monkeypatch.setattr(
            inference, "answers", lambda *given, share=share: [one._replace(explains=share) for one in answers(*given)]
        )
        found = inferred(wire, 4)
        assert found.alternatives
        assert all((one.why == inference.NOT_EXPLAINED) is expected for one in found.alternatives)


def half_used(wire, per_host=4):
    """A job on half of the GPUs of its hosts, and the hosts; GPUs that send nothing are thought to be its silent ranks."""
    own = wire.endpoints
    hosts = [own[i : i + per_host // 2] for i in range(0, len(own), per_host // 2)]
    idle = [[f"10.9.{i}.{k}" for k in range(per_host // 2)] for i in range(len(hosts))]
    every = [address for used, free in zip(hosts, idle, strict=True) for address in (*used, *free)]
    silent = tuple(address for free in idle for address in free)
    return replace(job(wire), endpoints=tuple(every), silent=silent), topology(every, per_host)


def test_gpus_that_nobody_uses_are_no_ranks_of_a_job_whose_ranks_all_hand_over():
    wire = pipelined(stages=4, replicas=2)
    order = [r * 4 + s for s in range(4) for r in range(2)]  # each stage has a host of its own
    wire.endpoints = tuple(wire.endpoints[i] for i in np.argsort(order))
    supposed, hosts = half_used(wire)
    found, inferred = infer_members(wire.flows(), supposed, hosts)
    assert (sorted(found.endpoints), found.silent) == (sorted(wire.endpoints), ())
    assert inferred.best.layout.pp == 4


def test_ranks_through_which_rings_may_pass_stay_silent_members():
    wire = data_parallel(hosts=4, per_host=2)
    supposed, hosts = half_used(wire)
    found, inferred = infer_members(wire.flows(), supposed, hosts)
    assert found == supposed
    assert inferred.best.layout.dp == 16
