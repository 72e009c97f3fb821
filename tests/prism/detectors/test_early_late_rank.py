import json
from dataclasses import replace

import pytest

from prism import topology
from prism.detectors.early_late_rank import early_late_rank
from prism.model import Severity
from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.synth.simulation import simulate
from tests.prism.faults import named
from tests.prism.traffic import MS, Wire, address, placed, seen, training

RANKS, STEPS, SLOW = 8, 26, 5
USUAL = 1000.0  # ms forwards; backwards take twice as long


def job(work, *, after_ms=5000.0, tcp=True, least=2, steps=STEPS):
    """Build a job with one reduction per step, seen `after_ms` after its newest step began."""
    made = training(dp=RANKS, steps=steps, wire=Wire(tcp=tcp), work=work).flows()
    whole = seen(made, placed(RANKS))
    now = int(whole.ends[-2] + after_ms * MS)
    view = seen(made.take(made.end_ns <= now), placed(RANKS))
    return replace(view, least=least, now=now, until=int(view.flows.end_ns.max()))


def late(step, rank, *, since=STEPS - 2):
    return 2 * USUAL if rank == SLOW and step >= since else USUAL


@pytest.mark.parametrize("tcp", [True, False])
def test_who_is_late_again_is_told_before_that_step_is_over(tcp):
    view = job(late, tcp=tcp)
    (one,) = early_late_rank(view)
    assert (one.detector, one.kind, one.ids) == ("late_again", "slow_rank", (address(SLOW),))
    assert one.severity is Severity.CRITICAL
    assert one.start_ns == view.begins[-1]
    assert one.end_ns == view.now > view.ends[-1]
    assert one.evidence["late_ms"] == pytest.approx(3 * USUAL, rel=0.1)
    assert one.evidence["late_again_ms"] == pytest.approx(2000, rel=0.1)
    assert one.slowdown == pytest.approx(1.9, abs=0.1)


def test_not_before_it_is_late_by_half_as_much_again_nor_once():
    assert early_late_rank(job(late, after_ms=4000.0)) == []
    assert early_late_rank(job(late, after_ms=2500.0)) == []  # nobody has begun to speak
    assert early_late_rank(job(lambda step, rank: late(step, rank) if step < STEPS - 1 else USUAL)) == []
    other = (SLOW + 3) % RANKS
    assert early_late_rank(job(lambda step, rank: late(step, other if step == STEPS - 1 and rank == SLOW else rank))) == []


def test_not_in_all_that_was_recorded_nor_where_little_is_known():
    assert early_late_rank(job(late, least=3)) == []
    assert early_late_rank(job(lambda step, rank: late(step + 12, rank), steps=STEPS - 12)) == []
    assert (
        early_late_rank(job(lambda step, rank: late(step, rank) / 5, after_ms=900.0)) == []
    )  # of short steps two are over soon


@pytest.mark.parametrize(("often", "expected"), [(99, [(address(SLOW),)]), (8, [])])
def test_where_ranks_are_late_often_this_may_be_chance(often, expected):
    def work(step, rank):
        hiccup = step < STEPS - 2 and step % often == 2 and rank == 1
        return 2 * USUAL if hiccup else late(step, rank)

    assert named(early_late_rank(job(work))) == expected


HOSTS, INNER = 4, 3  # the second of its host: nobody sees it send


def hidden(*faults, after_s, buckets=1, tcp=True):
    """Build a job with two ranks per host, seen `after_s` after its newest step began."""
    spec = Job(dp=2 * HOSTS, steps=STEPS, buckets=buckets, overlap=buckets > 1, forward_ms=1000, backward_ms=2000)
    octets = 40_000_000 if tcp else 1_000_000_000
    spec = replace(spec, transport="tcp" if tcp else "rdma", gradient_octets=octets, jitter=0.02, spike_chance=0)
    made = simulate(Spec("x", Cluster(hosts=HOSTS, gpus=2, nic_gbit=10.0 if tcp else 200.0), (spec,), faults), 3)
    own = topology.parse(json.dumps(made.topology), "t.json")
    now = int(seen(made.flows, own).ends[-2] + after_s * 1e9)
    view = seen(made.flows.take(made.flows.end_ns <= now), own)
    return replace(view, least=2, now=now, until=int(view.flows.end_ns.max()))


def slow(rank, since, stop=None):
    return Fault("compute_slow", ranks=(rank,), first=since, stop=stop, factor=1.6)


@pytest.mark.parametrize("tcp", [True, False])
@pytest.mark.parametrize(("buckets", "after_s"), [(1, 4.5), (4, 4.0)])
def test_where_lanes_are_inside_hosts_the_ring_waits_again(buckets, after_s, tcp):
    view = hidden(slow(INNER, STEPS - 2), buckets=buckets, after_s=after_s, tcp=tcp)
    (one,) = early_late_rank(view)
    assert one.ids == ("10.10.1.2",)
    assert (one.start_ns, one.end_ns) == (view.begins[-1], view.now)
    assert one.severity is not Severity.INFO
    assert one.evidence["late_again_ms"] >= one.evidence["late_ms"] / 2 > 500
    assert "unseen" in one.evidence


@pytest.mark.parametrize("buckets", [1, 4])
def test_where_lanes_are_inside_hosts_once_is_not_again(buckets):
    assert early_late_rank(hidden(slow(INNER, STEPS - 2), buckets=buckets, after_s=1.0)) == []  # nobody has begun to speak
    assert early_late_rank(hidden(slow(INNER, STEPS - 2, STEPS - 1), buckets=buckets, after_s=3.0)) == []
    other = (slow(INNER, STEPS - 2, STEPS - 1), slow(INNER + 3, STEPS - 1))
    assert early_late_rank(hidden(*other, buckets=buckets, after_s=4.5)) == []
    assert early_late_rank(hidden(buckets=buckets, after_s=3.0)) == []


def test_a_healthy_job_that_waits_for_nobody_is_not_blamed():
    assert early_late_rank(job(lambda _step, _rank: USUAL, after_ms=3500.0)) == []
