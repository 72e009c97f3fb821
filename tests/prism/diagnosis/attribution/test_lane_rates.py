"""Test which parts match the lanes that lost rate."""

from dataclasses import replace

import numpy as np
import pytest

from prism.diagnosis.attribution.comparisons import Case
from prism.diagnosis.attribution.lane_rates import lost_rate, may_be_slower, rate_fit, shares_its_rate
from prism.diagnosis.attribution.slow_steps import verdicts
from tests.prism.faults import BAD, NIC, case
from tests.prism.traffic import MS, T0, Wire, address, placed, seen


def compared(name):
    view = case(name)
    whole = Case(view)
    always = name.startswith("NIC always")
    comparison = whole.versus_peers if always else whole.versus_own_steps
    return comparison, comparison.during(*((0, len(view.ends)) if always else (BAD.start, BAD.stop)))


@pytest.mark.parametrize("name", ["slow NIC", "NIC always slow"])
def test_the_slow_nic_matches_best(name):
    comparison, during = compared(name)
    fit = rate_fit(comparison, during)
    best = comparison.which[int(np.argmax(fit))]
    assert (best.cause, best.ids, fit.max()) == ("network", (address(NIC),), 1.0)
    assert np.nanmax(lost_rate(comparison, during)) == pytest.approx(np.log(10 / 3), rel=0.05)


@pytest.mark.parametrize("name", ["slow rank", "nothing"])
def test_without_slow_lanes_nothing_matches(name):
    assert not rate_fit(*compared(name)).any()


def test_paces_are_times_per_octet():
    comparison, _ = compared("nothing")
    t = comparison.delays.transfers
    mine = (t.lane == 0) & (t.step == 2)
    assert t.pace[0, 2] == pytest.approx(np.log(t.busy[mine].sum() / t.octets[mine].sum()))


def test_lanes_with_few_octets_do_not_hide_the_slow_nic():
    """Their time is that of waits: one appears slower than the lanes of the slow NIC."""
    comparison, during = compared("slow NIC")
    t = comparison.delays.transfers
    far = int(np.flatnonzero(~(t.lanes == NIC).any(axis=1))[0])
    few = t.lane == far
    octets, busy = np.where(few, t.octets / 50, t.octets), np.where(few & during[t.step], 40 * t.busy / 50, t.busy)
    busy = np.where(few & ~during[t.step], t.busy / 50, busy)
    noisy = replace(comparison, delays=replace(comparison.delays, transfers=replace(t, octets=octets, busy=busy)))
    assert np.nanargmax(lost_rate(noisy, during)) == far
    fit = rate_fit(noisy, during)
    assert noisy.which[int(np.argmax(fit))].ids == (address(NIC),)


@pytest.mark.parametrize(("name", "slower"), [("nothing", False), ("NIC always slow", True), ("rank always slow", True)])
def test_only_slow_parts_are_compared_with_peers(name, slower):
    view = case(name)
    peers = Case(view).versus_peers
    assert may_be_slower(view, peers, peers.during(0, peers.delays.transfers.steps)) is slower


def tree(rate):
    """Reduce to rank 0 and broadcast from it: its children 1 and 2, and two children of each. `rate` is that of its lanes."""
    wire, at = Wire(), T0
    outer, inner = [(3, 1), (4, 2), (5, 1), (6, 2)], [(1, 0), (2, 0)]
    for _ in range(14):
        at += 20 * MS
        for pairs in (outer, inner, [(b, a) for a, b in inner], [(b, a) for a, b in outer]):
            at = max([wire.send(*pair, 20_000_000, at, rate if 0 in pair else 10.0) for pair in pairs])
    return Case(seen(wire.flows(placed(7)), placed(7)))


@pytest.mark.parametrize(("rate", "shares"), [(5.0, True), (10 / 3, False)])
def test_the_root_of_a_broadcast_whose_lanes_share_its_nic_is_no_slow_nic(rate, shares):
    one = tree(rate)
    peers = one.versus_peers
    during = peers.during(0, peers.delays.transfers.steps)
    fit = rate_fit(peers, during)
    top = int(np.argmax(fit))
    assert (peers.which[top].ids, fit[top]) == ((address(0),), 1.0), "its lanes are slower than all others"
    assert shares_its_rate(peers, top, during) is shares
    assert [one.candidate.ids for one in verdicts(one)] == ([] if shares else [(address(0),)])


def test_a_slow_nic_moves_less_at_once_than_others():
    comparison, during = compared("NIC always slow")
    assert not shares_its_rate(comparison, int(np.argmax(rate_fit(comparison, during))), during)
