import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from prism import topology
from prism.detectors.late_rank import begins_of, late_rank
from prism.detectors.peers.reduction_trees import sent_after, tree_of
from prism.graph.job_view import View
from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.synth.simulation import Simulation, simulate
from tests.prism.faults import named
from tests.prism.traffic import claims, seen, told

BAD = (8, 13)
RANKS = 8  # in a tree: 0 is its root, 1, 2 and 3 are inside, the others leaves
PLACES = (0, 1, 2, 3, 4, 7)  # the root, those inside, and two leaves


@cache
def run(*faults: Fault, buckets: int = 1, algorithm: str = "tree") -> Simulation:
    """Build eight ranks that reduce in a tree."""
    job = Job(dp=RANKS, steps=20, algorithm=algorithm, buckets=buckets, overlap=buckets > 1, forward_ms=60, backward_ms=120)
    return simulate(Spec("tree", Cluster(hosts=RANKS), (job,), faults))


def view_of(done: Simulation) -> View:
    return seen(done.flows, topology.parse(json.dumps(done.topology), "topology"), done.transits)


def slow(rank: int) -> Fault:
    return Fault("compute_slow", ranks=(rank,), first=BAD[0], stop=BAD[1], factor=1.5)


@pytest.mark.parametrize("rank", PLACES)
@pytest.mark.parametrize("buckets", [1, 4])
def test_who_is_late_is_told_wherever_in_the_tree_it_is(rank, buckets):
    (own,) = late_rank(view_of(run(slow(rank), buckets=buckets)))
    assert np.abs(np.subtract(own.evidence["steps"], BAD)).max() <= 1  # one of them has a hiccup after it
    assert own.ids == (f"10.10.{rank}.1",)
    assert own.evidence["worked_ms"] > 0.25 * own.evidence["late_ms"]  # until the first bucket, of all that it was late by


def above(buckets: int, rank: int) -> Any:
    """The event graph blames the rank above, or one of the two: a known defect."""
    known = (buckets, rank) in {(1, 2), (4, 2), (4, 3)}
    marks = [pytest.mark.xfail(strict=True, reason="blames the rank above")] if known else []
    return pytest.param(buckets, rank, marks=marks)


@pytest.mark.parametrize(("buckets", "rank"), [above(buckets, rank) for buckets in (1, 4) for rank in PLACES])
def test_who_is_slow_is_told_wherever_in_the_tree_it_is(rank, buckets):
    done = run(slow(rank), buckets=buckets)
    assert claims(told(done.flows, view_of(done).topology)) == [("slow_rank", (f"10.10.{rank}.1",))]


@pytest.mark.parametrize("rank", [0, 1, 3, 7])
def test_behind_a_slow_nic_nobody_worked_longer(rank):
    done = run(Fault("nic_throttle", ranks=(rank,), first=BAD[0], stop=BAD[1], factor=6.0))
    assert not any("worked_ms" in f.evidence for f in late_rank(view_of(done)))


def test_in_a_healthy_tree_nobody_is_named():
    assert named(late_rank(view_of(run()))) == []


def test_who_is_above_hears_from_below_before_it_speaks():
    view = view_of(run())
    tree = tree_of(view, view.job.endpoints)
    assert tree is not None
    place = [view.job.endpoints.index(m) for m in tree.inside]
    assert place == [0, 1, 2, 3]
    spoke, needs = sent_after(view, tree, begins_of(view, range(RANKS)))
    assert np.isfinite(spoke[:, 1:]).all()
    assert (spoke[:, 1:] >= needs[:, 1:]).mean() > 0.9
    assert (spoke[0, 1:] > spoke[1:, 1:]).all()  # the root is the last


def test_a_ring_is_no_tree():
    view = view_of(run(algorithm="ring"))
    assert tree_of(view, view.job.endpoints) is None
