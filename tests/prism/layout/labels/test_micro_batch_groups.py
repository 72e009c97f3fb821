import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.analysis import diagnose
from prism.layout.labels._micro_batch_groups import _begun, _waited
from prism.layout.labels.pipelines import chains_of
from prism.loops.arrays.edges import edges_of
from prism.model import Layout
from prism.synth.scenario.specification import Cluster, Job, Spec
from prism.synth.simulation import simulate
from prism.topology import parse
from tests.prism.traffic import inferred, placed, source, training


def told(transport, **job):
    made = Job(
        transport=transport, steps=20, tensor_octets=500_000 if "tp" in job else 0, activation_octets=1_000_000,
        gradient_octets=20_000_000, **job,
    )  # fmt: skip
    done = simulate(Spec("x", Cluster(hosts=made.world, nic_gbit=4.0 if transport == "tcp" else 200.0), (made,)), 1)
    placed = parse(json.dumps(done.topology), "t")
    found = diagnose(done.flows, source(done.flows), topology=placed)
    assert found.findings == ()
    return inferred(done.flows, placed).layout


times = st.lists(st.integers(0, 40), max_size=12).map(lambda own: np.sort(np.array(own, np.int64)))


@given(times, times, times)
def test_what_is_waited_in_steps_and_spoken_meanwhile(given_at, over, spoken):
    waits = np.where(np.diff(np.searchsorted(over, given_at)) == 0, np.diff(given_at), 0)
    said = np.diff(np.searchsorted(spoken, given_at)) > 0
    assert _waited(given_at, over, spoken) == (waits.sum(), waits[said].sum())


@pytest.mark.parametrize("transport", ["tcp", "rdma"])
@pytest.mark.parametrize(("pp", "tp", "micro", "schedule"), [(2, 2, 2, "1f1b"), (4, 2, 8, "1f1b"), (2, 4, 4, "gpipe")])
def test_what_goes_on_with_every_micro_batch_reduces_no_gradients(transport, pp, tp, micro, schedule):
    layout = told(transport, pp=pp, dp=1, tp=tp, micro=micro, schedule=schedule)
    assert layout == Layout(dp=1, pp=pp, tp=tp, ep=1, cp=1, confidence=layout.confidence)


@pytest.mark.parametrize("transport", ["tcp", "rdma"])
@pytest.mark.parametrize("more", [{"micro": 2}, {"micro": 2, "zero1": True}, {"micro": 8, "schedule": "gpipe"}])
def test_what_is_reduced_once_a_step_does(transport, more):
    layout = told(transport, pp=2, dp=4, **more)
    assert (layout.dp, layout.pp, layout.tp) == (4, 2, 1)


def test_beside_a_reduction_nothing_is_asked():
    layout = told("tcp", pp=2, dp=2, tp=2, micro=4)
    assert (layout.dp, layout.pp, layout.tp) == (2, 2, 2)


def test_stages_of_a_branching_pipeline_that_exchange_nothing_begin_nothing():
    flows = training(dp=1, pp=4).flows(placed(4))
    edges = edges_of(flows, np.flatnonzero(~flows.control()))
    ends = {(0, 1): (0, 2), (1, 0): (2, 0), (1, 2): (1, 2), (2, 1): (2, 1), (2, 3): (2, 3), (3, 2): (3, 2)}
    branching = {ends[key]: edge for key, edge in edges.items()}
    ((first, second, *_),) = chains_of(branching, {}, {})[0]
    assert (first, second) not in branching
    assert list(_begun(branching, {})) == []
