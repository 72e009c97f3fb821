"""Test rings of hosts with two ranks each: one sends to the next host, the other receives from the previous."""

import json
from dataclasses import replace

import numpy as np
import pytest

from prism import topology
from prism.detectors.late_rank import begins_of
from prism.detectors.peers.host_rings import ring_delays, ring_of, sorted_sends
from prism.loops.arrays.edges import sending
from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.synth.simulation import simulate
from tests.prism.traffic import seen

STEPS, SLOW, RANKS = 12, 3, tuple(range(8))


@pytest.fixture(scope="module")
def view():
    """A rank is slow from step 8 on."""
    job = Job(dp=8, steps=STEPS, forward_ms=400, backward_ms=800, gradient_octets=20_000_000, transport="tcp", jitter=0.01)
    job = replace(job, spike_chance=0)
    fault = Fault("compute_slow", ranks=(SLOW,), first=8, factor=1.5)
    made = simulate(Spec("x", Cluster(hosts=4, gpus=2, nic_gbit=10.0), (job,), (fault,)), 1)
    return seen(made.flows, topology.parse(json.dumps(made.topology), "t.json"))


def own(view):
    return [view.sent[view.code[address]] for address in view.job.endpoints]


def test_the_ring_of_its_hosts(view):
    ring = ring_of(view, RANKS, own(view))
    assert sorted(rank // 2 for rank in ring.senders) == sorted(rank // 2 for rank in ring.takers) == [0, 1, 2, 3]
    assert ring.many.tolist() == [2] * 4
    assert ring_of(replace(view, topology=None), RANKS, own(view)) is None


def test_for_whom_it_waited_in_each_step(view):
    start, begins = sending(view.flows), begins_of(view, RANKS)
    kept = ring_delays(view, RANKS, own(view), start, begins)
    assert kept.whole[SLOW, 8:] == pytest.approx(0.5, rel=0.2)
    assert kept.whole[SLOW, :8].max() < 0.1 > np.delete(kept.whole, SLOW, axis=0).max()
    assert (kept.most <= kept.whole).all()
    assert SLOW not in kept.unsure


def test_for_whom_it_waits_now(view):
    """All ranks but one have sent what they can, and no data arrives."""
    start, begins = sending(view.flows), begins_of(view, RANKS)
    now = int(begins[-1] + 1.5e9)
    flows = view.flows.take(view.flows.end_ns <= now)
    cut = seen(flows, view.topology)
    rows = own(cut)
    kept = ring_delays(cut, RANKS, rows, sending(cut.flows), begins, now=now)
    assert int(np.argmax(kept.whole[:, -1])) == SLOW
    assert kept.whole[SLOW, -1] * cut.period == pytest.approx(0.25e9, rel=0.5)
    assert not ring_delays(cut, RANKS, rows, sending(cut.flows), begins).whole[:, -1].any()
    assert ring_delays(view, RANKS, own(view), start, begins, now=int(begins[-1])).whole.shape == (8, STEPS)


def test_records_in_turn(view):
    start = sending(view.flows)
    rows = [one[::-1] for one in own(view)]
    begins, ends, octets, cuts = sorted_sends(view.flows, rows, start)
    for k, one in enumerate(rows):
        mine = slice(cuts[k], cuts[k + 1])
        assert begins[mine].tolist() == np.sort(start[one]).tolist()
        assert sorted(zip(ends[mine], octets[mine], strict=True)) == sorted(
            zip(view.flows.end_ns[one], view.flows.octets[one], strict=True)
        )
