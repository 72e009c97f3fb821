from dataclasses import replace

import numpy as np
import pytest

from prism.analysis import diagnose
from prism.layout.comparison import weigh
from prism.layout.constants import RANKS_MISSING, UNCOUNTED
from prism.model import Layout, Parallelism, Source
from prism.report.json_report import to_json
from tests.prism.layout.made import data_parallel, job, pipelined, tensor_and_data, topology

SOURCE = Source(files=(), packets=0, flows=0, skipped={}, start_ns=0, end_ns=0)


def weighed(wire, layout, per_host=1):
    return weigh(wire.flows(), job(wire), Parallelism(layout, (), ()), topology(wire.endpoints, per_host))


def test_what_was_told_rightly_is_kept_with_the_probability_that_evidence_gives_it():
    wire = tensor_and_data(hosts=4, per_host=4)
    found = weighed(wire, Layout(dp=4, tp=4, confidence=0.98), 4)
    assert 0.4 < found.confidence < 0.95
    assert found.alternatives[0].layout.dp == 16
    assert "not seen" in found.alternatives[0].why


def test_what_is_much_likelier_is_reported_instead():
    wire = data_parallel(hosts=4, per_host=4)
    found = weighed(wire, Layout(dp=4, tp=4, confidence=0.98), 4)
    assert (found.instead.layout.dp, found.instead.layout.tp) == (16, 1)
    assert found.confidence > 0.9


def test_bursts_of_tcp_are_judged_too():
    wire = tensor_and_data(hosts=4, per_host=1)
    flows = wire.flows()
    flows = replace(flows, src_port=np.full(len(flows), 999, np.uint16), dst_port=np.full(len(flows), 999, np.uint16))
    found = weigh(flows, job(wire), Parallelism(Layout(pp=4, confidence=0.98), (), ()), topology(wire.endpoints, 1))
    assert found.instead.layout.dp == 4
    assert found.confidence > 0.8


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
def test_samples_and_sums_are_not_counted(column):
    wire = data_parallel(hosts=4, per_host=4)
    flows = replace(wire.flows(), **{column: np.full(len(wire.rows), 4, np.int64)})
    told = Parallelism(Layout(dp=4, tp=4, confidence=0.98), (), ())
    found = weigh(flows, job(wire), told, topology(wire.endpoints, 4))
    assert found.instead is None
    assert found.confidence == UNCOUNTED


def test_ranks_may_be_missing_where_hosts_have_gpus_left():
    wire = tensor_and_data(hosts=4, per_host=2)
    placed = topology([*wire.endpoints, "10.9.9.9"], 2)
    told = Parallelism(Layout(dp=4, tp=2, confidence=0.98), (), ())
    whole = weigh(wire.flows(), job(wire), told, placed)
    part = replace(job(wire), endpoints=tuple(sorted(wire.endpoints))[:-1])
    assert weigh(wire.flows(), part, told, placed).confidence <= RANKS_MISSING
    assert whole.confidence > 0
