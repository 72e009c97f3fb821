import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from collectors.columns.record import Transits
from prism.detectors.slow_link import joined, lossy_link, slow_link
from prism.model import Severity
from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.synth.simulation import simulate
from prism.topology import parse
from tests.prism.faults import BAD, FAULTS, NIC, RANKS, TOPOLOGY, case, named
from tests.prism.traffic import MS, Wire, address, seen, training

SLOW = {"slow NIC": (address(NIC),), "NIC always slow": (address(NIC),), "slow uplink": ("leaf1", "spine0")}


@pytest.mark.parametrize("tcp", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_who_is_slow_and_nobody_else(fault, tcp):
    assert named(slow_link(case(fault, tcp=tcp))) == ([SLOW[fault]] if fault in SLOW else [])


@pytest.mark.parametrize("tcp", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_who_loses_packets_and_nobody_else(fault, tcp):
    assert named(lossy_link(case(fault, tcp=tcp))) == ([(address(NIC),)] if fault == "lossy NIC" else [])


@pytest.mark.parametrize("longer", [False, True])
def test_who_sends_faster_only_while_steps_are_longer_is_not_slow_in_the_others(longer):
    """In longer steps all ranks wait and then send at full rate; otherwise an edge may be slow most of the time."""
    wire = training(
        dp=RANKS,
        rate=lambda step, *pair: 30.0 if pair == (0, 1) and step in BAD else 10.0,
        work=lambda step, _rank: 20.0 + 100.0 * (longer and step in BAD),
    )
    assert bool(named(slow_link(seen(wire.flows(TOPOLOGY), TOPOLOGY)))) == (not longer)


def test_how_much_a_slow_nic_takes_in_each_step_is_told():
    """Around the ring of twelve each edge carries 11/6 of 40 MB: 59 ms at 10 Gbit/s, 196 ms at 3 Gbit/s."""
    (found,) = slow_link(case("slow NIC"))
    assert found.evidence["lost_ms_per_step"] == pytest.approx(137, rel=0.1)


@pytest.mark.parametrize(("after", "expected"), [(3.0, (address(1),)), (6.0, tuple(sorted((address(0), address(1)))))])
def test_who_hands_on_what_comes_slowly_is_not_why_it_does(after, expected):
    """In a ring 1 forwards data of 0: at equal rate its own NIC may be slow; at a higher rate it waits."""

    def rate(step, *pair):
        return 10.0 if step not in BAD else 3.0 if pair == (0, 1) else after if pair == (1, 2) else 10.0

    assert named(slow_link(seen(training(dp=RANKS, rate=rate).flows(TOPOLOGY), TOPOLOGY))) == [expected]


def going_on(slow, *, least=2, whole=13, rounds=None):
    """The edges of a NIC are slow in some steps, the last of which is not over yet."""

    def rate(step, *pair):
        return 3.0 if NIC in pair and step in slow else 10.0

    view = seen(training(dp=8, rate=rate, rounds=rounds).flows())
    steps = tuple(own[:whole] for own in view.timeline.steps)
    return replace(view, timeline=replace(view.timeline, steps=steps), least=least)


def test_the_step_that_goes_on_is_the_second_slow_one():
    view = going_on({12, 13})
    (one,) = slow_link(view)
    assert one.ids == (address(NIC),)
    assert (one.start_ns, one.end_ns) == view.during(12, 13)
    assert slow_link(going_on({12, 13}, least=3)) == []


@pytest.mark.parametrize("slow", [{12}, {13}])
def test_one_slow_step_is_not_told_nor_what_only_goes_on(slow):
    assert slow_link(going_on(slow)) == []


def test_of_what_goes_on_little_tells_nothing():
    view = going_on({12, 13})
    assert np.isfinite(view.rates_now()).any()
    assert np.isnan(view.rates_now(share=1.5)).all()
    assert slow_link(going_on({12, 13}, rounds=1)) == []


def test_two_slow_steps_are_not_told_where_single_ones_are_frequent():
    assert slow_link(going_on({2, 5, 8, 12, 13})) == []


def test_what_is_said_of_a_slow_nic():
    view = case("slow NIC")
    (one,) = slow_link(view)
    assert (one.kind, one.subject, one.severity) == ("slow_link", "endpoint", Severity.CRITICAL)
    assert (one.start_ns, one.end_ns) == view.during(BAD.start, BAD.stop)
    assert one.evidence["factor"] == pytest.approx(10 / 3, rel=0.05)
    assert sorted(one.evidence["edges"]) == [[address(NIC - 1), address(NIC)], [address(NIC), address(NIC + 1)]]


@pytest.mark.parametrize(("octets", "expected"), [(400_000, True), (40_000_000, False)])
def test_that_short_bursts_are_not_slow_says_nothing_of_a_nic(octets, expected):
    """Shapers pass short bursts at full rate. If long bursts are fast as well, the NIC is not slow."""
    wire = FAULTS["slow NIC"](Wire())
    for end in seen(wire.flows(TOPOLOGY), TOPOLOGY).ends:
        for other in (NIC + 2, NIC + 4, NIC - 3):
            wire.send(NIC, other, octets, int(end) + 2 * MS, gbits=40.0, dst_port=6000)
            wire.send(other, NIC, octets, int(end) + 2 * MS, gbits=40.0, dst_port=6000)
    assert ((address(NIC),) in named(slow_link(seen(wire.flows(TOPOLOGY), TOPOLOGY)))) == expected


def test_an_edge_whose_ends_cannot_be_told_apart_is_a_link():
    """If a single pair is slow, either end may be the cause."""
    pair = (2, 3)
    wire = training(dp=8, rate=lambda step, *edge: 3.0 if edge == pair and step in BAD else 10.0)
    (one,) = slow_link(seen(wire.flows()))
    assert (one.subject, one.ids) == ("link", (address(2), address(3)))


def test_a_switch_is_to_blame_where_all_that_crosses_it_is_slow():
    wire = training(dp=RANKS, rate=lambda step, a, b: 3.0 if 4 in (a // 4 + 3, b // 4 + 3) and step in BAD else 10.0)
    (one,) = slow_link(seen(wire.flows(TOPOLOGY), TOPOLOGY))
    assert (one.kind, one.subject, one.ids) == ("slow_switch", "switch", ("leaf1",))


def test_queues_between_switches_say_which_of_two_links():
    """Two hosts on their own leaf: all their edges cross its uplink, and only the delay there distinguishes the two."""
    flows = FAULTS["slow uplink"](Wire()).flows(TOPOLOGY)
    ends = seen(flows, TOPOLOGY).ends
    start = np.repeat(ends, 2)
    sender, receiver = np.tile([0, 1], 14).astype(np.int32), np.tile([1, 0], 14).astype(np.int32)
    bad = (np.searchsorted(ends, start) >= BAD.start) & (np.searchsorted(ends, start) < BAD.stop)
    delay = np.where(bad, 30 * MS, 3000)
    transits = Transits(start, sender, receiver, np.full(28, 9), delay, delay, ("leaf1", "spine0"), 10 * MS)
    (one,) = slow_link(seen(flows, TOPOLOGY, transits))
    assert one.ids == ("leaf1", "spine0")
    assert set(one.evidence["queues_ms"].values()) == {30.0}
    assert "30.0 ms" in one.message


def test_a_few_losses_everywhere_are_nothing():
    wire = training(dp=8, again=lambda step, a, b: (step + a + b) % 3)
    assert lossy_link(seen(wire.flows())) == []


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_who_waits_for_a_slow_nic_may_take_turns_elsewhere_then(rank):
    """In a tree, waiting children send up simultaneously, each at half rate: they are not the worst edges."""
    job = Job(
        dp=8, steps=20, transport="rdma", algorithm="tree", buckets=8, overlap=True, forward_ms=20.4, backward_ms=40.8,
        optimizer_ms=3.4, gradient_octets=68_000_000, jitter=0.042,
    )  # fmt: skip
    fault = Fault("nic_throttle", ranks=(rank,), first=11, stop=17, factor=7.2)
    done = simulate(Spec("x", Cluster(hosts=8, gpus=1, hosts_per_leaf=4), (job,), faults=(fault,)), 1)
    loud = [one for one in slow_link(seen(done.flows, parse(json.dumps(done.topology), "t"))) if one.severity != Severity.INFO]
    assert [one.ids for one in loud] == [(f"10.10.{rank}.1",)]


@cache
def ring(steps):
    """Build the view of a ring of 16."""
    return seen(training(dp=16, steps=steps).flows())


def losing(counts):
    """Build a ring of 16 with retransmitted packets by edge and step, int[16, steps]."""
    view = ring(counts.shape[1])
    again = np.zeros(len(view.flows), np.int64)
    for key, own in zip(sorted(view.edges), counts, strict=True):
        rows, steps = view.edges[key].rows, view.timeline.steps[view.codes.tolist().index(key[0])]
        again[rows[np.searchsorted(view.flows.end_ns[rows], steps[:, 0], "right")]] = own
    return replace(view, flows=replace(view.flows, retransmits=again))


def test_losses_that_come_in_bunches_are_chance_as_often_as_they_come():
    """Five packets at a time, at random places: three such events at one NIC may be chance."""
    every = [5 * np.random.default_rng(seed).poisson(0.1, (16, 24)) for seed in range(20)]
    assert [claim for counts in every for claim in lossy_link(losing(counts))] == []
    counts = every[0].copy()
    counts[NIC - 1 : NIC + 1, 10:16] += 10
    assert named(lossy_link(losing(counts))) == [(address(NIC),)]


def test_findings_of_one_subject_whose_times_meet_are_one():
    (one,) = slow_link(case("slow NIC"))
    later = type(one)(**{**vars(one), "start_ns": one.end_ns, "end_ns": one.end_ns + 5, "score": 1.0})
    other = type(one)(**{**vars(one), "ids": ("else",), "score": 2.0})
    found = joined([later, other, one])
    assert [(f.ids, f.end_ns, f.score) for f in found] == [(one.ids, one.end_ns + 5, one.score), (("else",), one.end_ns, 2.0)]


def test_two_steps_are_too_few():
    wire = training(dp=8, steps=3, rate=lambda _step, *edge: 3.0 if 3 in edge else 10.0)
    short = seen(wire.flows())
    if len(short.ends) < 3:
        assert slow_link(short) == lossy_link(short) == []
