"""Test the list of candidate causes of delays."""

from dataclasses import replace

import numpy as np

from prism.diagnosis.attribution.candidates import candidates, quiet_hosts
from prism.graph.job_transfers import transfers_of
from prism.graph.new_delays import against_steps
from tests.prism.faults import RANKS, case
from tests.prism.traffic import address, placed, seen, training


def made(name="nothing"):
    view = case(name)
    return transfers_of(view), candidates(view, transfers_of(view))


def test_every_rank_and_nic_both_ways_and_what_lies_between_leaves():
    transfers, found = made()
    assert sum(one.cause == "work" for one in found) == RANKS
    ways = {one.way for one in found if one.ids == (address(5),)}
    assert ways == {"", "both", "out", "in"}
    between = {one.ids for one in found if one.subject in ("link", "switch")}
    assert {(f"leaf{i}", "spine0") for i in range(3)} <= between
    assert all(set(one.lanes.tolist()) <= set(range(len(transfers.lanes))) for one in found)


def test_what_two_leaves_alone_cross_is_the_way_between_them():
    view = seen(training(dp=8).flows(placed(8)), placed(8))
    found = candidates(view, transfers_of(view))
    assert [one.ids for one in found if one.subject in ("link", "switch")] == [("leaf0", "leaf1")]


def test_a_host_of_several_ranks_is_a_candidate_too():
    view = seen(training(dp=8).flows(placed(8, nics=2)), placed(8, nics=2))
    found = candidates(view, transfers_of(view))
    assert {one.ids for one in found if one.subject == "host"} == {(f"host{i}",) for i in range(4)}
    assert all(one.larger for one in found if one.subject == "host")


def test_work_delays_what_begins_and_the_network_what_lasts():
    transfers, found = made()
    delays = against_steps(case("nothing"), transfers)
    steps = np.ones(transfers.steps, bool)
    work = next(one for one in found if one.cause == "work")
    network = next(one for one in found if one.cause == "network" and one.ids == work.ids)
    begins, lasts = work.gone(delays, steps)
    assert begins.any()
    assert (delays.starved[lasts] > 0).all(), "only what waits for a transfer that begins late"
    assert network.gone(delays, steps).any(axis=1).tolist() == [True, True]
    assert not work.gone(delays, ~steps).any()


def test_hosts_of_ranks_that_exchange_hardly_anything_are_quiet():
    view = seen(training(dp=8).flows(placed(8, nics=2)), placed(8, nics=2))
    transfers = transfers_of(view)
    assert quiet_hosts(view, transfers) == set()
    silent = replace(view, job=replace(view.job, silent=(address(2), address(7))))
    assert quiet_hosts(silent, transfers) == {"host1", "host3"}
    few = np.where((transfers.lanes[transfers.lane] == 3).any(axis=1), transfers.octets / 10_000, transfers.octets)
    assert quiet_hosts(view, replace(transfers, octets=few)) == {"host1"}
    tenth = np.where((transfers.lanes[transfers.lane] == 3).any(axis=1), transfers.octets / 10, transfers.octets)
    assert quiet_hosts(view, replace(transfers, octets=tenth)) == set()
    assert quiet_hosts(view, replace(transfers, octets=tenth), least=0.2) == {"host1"}


def test_all_ranks_of_a_host_that_a_ring_passes_may_delay_what_leaves_it():
    flows, topology = training(dp=8).flows(placed(8, nics=2)), placed(8, nics=2)
    host = np.array([topology.host(name) for name in flows.endpoints])
    view = seen(flows.take(host[flows.src] != host[flows.dst]), topology)
    found = [one for one in candidates(view, transfers_of(view)) if one.cause == "work"]
    assert {one.ids for one in found if len(one.sends)} == {(f"host{i}",) for i in range(4)}
    assert not any(one.larger for one in found)
