import numpy as np
import pytest

from prism.analysis import diagnose
from prism.inventory.operator_hints import Hints, JobHints
from prism.jobs import naming, recognize, rows_of
from prism.model import Source
from prism.topology import Endpoint, Topology
from tests.prism.traffic import MS, T0, Wire, address, placed, ring_allreduce, training


def members(flows, topology=None):
    return [tuple(job.endpoints) for job in recognize(flows, topology)]


def names(ranks):
    return tuple(map(address, ranks))


def storage(wire, clients, server, *, every=40, count=40):
    """Each client opens a connection for each file it reads or writes."""
    for k in range(count):
        for client in clients:
            at, ports = T0 + (k * every + client * 3) * MS, {"src_port": 50_000 + k, "dst_port": 2049, "protocol": 6}
            src, dst = (client, server) if k % 2 else (server, client)
            wire.send(src, dst, 3_000_000, at, **ports)
    return wire


@pytest.mark.parametrize("topology", [placed(12), None])
def test_a_job_is_its_members_in_order_of_address(topology):
    (job,) = recognize(training(dp=12).flows(), topology)
    assert job.endpoints == names(range(12))
    assert job.hosts == (tuple(sorted(f"host{r}" for r in range(12))) if topology else ())
    assert T0 <= job.start_ns < job.end_ns
    assert recognize(training(dp=12, steps=20).flows(), topology)[0].id == job.id


@pytest.mark.parametrize("topology", [placed(8), None])
def test_storage_that_serves_two_jobs_joins_neither(topology):
    wire = training(dp=4, wire=Wire(tcp=True))
    training(dp=4, wire=wire, first=4, work=lambda _step, _rank: 27.0)
    flows = storage(wire, range(8), 8).flows()
    assert sorted(members(flows, topology)) == [names(range(4)), names(range(4, 8))]


@pytest.mark.parametrize(("topology", "tcp"), [(placed(8), False), (None, True)])
def test_a_checkpoint_makes_storage_no_member(topology, tcp):
    wire = training(dp=8, wire=Wire(tcp=tcp))
    for rank in range(8):
        for part in range(20):
            ports = {"src_port": 50_000 + part // 5} if tcp else {}
            wire.send(rank, 8, 10_000_000, T0 + 500 * MS + part * 10 * MS, **ports)
    assert members(wire.flows(), topology) == [names(range(8))]


def test_a_background_pair_is_no_part_of_a_job():
    wire, chance = training(dp=4, wire=Wire(tcp=True)), np.random.default_rng(1)
    for at in chance.uniform(0, 1200, 60):
        wire.send(*chance.permutation([4, 5]), int(chance.exponential(3e6)), T0 + at * MS)
    assert names(range(4)) in members(wire.flows())
    assert members(wire.flows(), placed(4)) == [names(range(4))]


def test_two_jobs_side_by_side_are_two_even_on_the_same_hosts():
    wire = training(dp=4, steps=20)
    wire = training(dp=4, steps=20, wire=wire, first=4, work=lambda _step, _rank: 23.0, start=T0 + 7 * MS)
    hosts = {address(r): Endpoint(f"host{r % 4}", r // 4, "leaf0") for r in range(8)}
    assert sorted(members(wire.flows(), Topology(hosts))) == [names(range(4)), names(range(4, 8))]
    assert sorted(members(wire.flows())) == [names(range(4)), names(range(4, 8))]


def rails(*, barrier=False, steps=16):
    """One job of two rings, one per rail of four hosts, that run in step."""
    wire, at = Wire(), T0
    for _ in range(steps):
        at += int(50 * MS * wire.about(0.1))
        ends = [
            ring_allreduce(wire, own, 20_000_000, dict.fromkeys(own, at), lambda _a, _b: 10.0)
            for own in ((0, 2, 4, 6), (1, 3, 5, 7))
        ]
        at = max(max(end.values()) for end in ends)
        if barrier:
            for rank in range(8):
                at = wire.send(rank, (rank + 1) % 8, 64, at)
    return wire.flows()


@pytest.mark.parametrize("topology", [placed(8, nics=2), None])
@pytest.mark.parametrize("barrier", [False, True])
def test_rings_in_lockstep_are_one_job(topology, barrier):
    assert members(rails(barrier=barrier), topology) == [names(range(8))]


def test_rings_in_lockstep_on_other_hosts_are_two_jobs():
    assert sorted(members(rails(), placed(8))) == [names(range(0, 8, 2)), names(range(1, 8, 2))]


def test_few_steps_prove_no_job():
    flows = training(dp=4, steps=2).flows()
    assert members(flows, placed(4)) == []
    assert [job.endpoints for job in recognize(flows, placed(4), unproven=True)] == [names(range(4))]


def test_hints_name_jobs_and_join_what_beats_unclearly():
    given = Hints(jobs=(JobHints("llama", frozenset(names(range(8)))),))
    (job,) = recognize(rails(), placed(8, nics=2), hints=given)
    assert (job.name, job.title) == ("llama", f"llama ({job.id})")
    apart = Hints(jobs=tuple(JobHints(f"job{k}", frozenset(names(range(k, 8, 2)))) for k in range(2)))
    assert {job.name for job in recognize(rails(), placed(8, nics=2), hints=apart)} == {"job0", "job1"}


def test_too_little_is_no_job():
    assert members(Wire().flows()) == []
    assert members(training(dp=4).flows(), placed(1)) == []
    lone = Wire()
    lone.send(0, 1, 1000, T0)
    assert members(lone.flows()) == []
    assert members(lone.flows(), placed(2)) == []


def test_the_rows_of_a_job_are_those_between_its_members():
    wire = training(dp=4)
    wire.send(0, 4, 1_000_000, T0)
    flows = wire.flows()
    job = recognize(flows)[0]
    rows = rows_of(flows, job)
    assert len(rows) == len(flows) - 1
    assert flows.dst[rows].max() == 3


def test_a_member_that_says_nothing_is_in_the_dictionary_all_the_same():
    whole = training(dp=4).flows()
    (job,) = recognize(whole)
    some = whole.take(~np.isin(np.array(whole.endpoints), names([3]))[whole.src])
    some = some.take(~np.isin(np.array(some.endpoints), names([3]))[some.dst]).narrowed()
    assert set(job.endpoints) - set(some.endpoints) == set(names([3]))
    assert set(naming(some, job).endpoints) == set(job.endpoints)
    assert naming(whole, job) is whole
    assert diagnose(some, Source((), 0, len(some), {}, 0, 1), jobs=(job,)) is not None


def test_ranks_of_a_broadcast_before_the_steps_are_silent_members():
    """Each host has a second NIC, which takes part in a broadcast of 20 messages, and in no step."""
    wire, hosts = training(dp=4), {address(r): Endpoint(f"host{r % 4}", r // 4, "leaf0") for r in range(8)}
    for part in range(20):
        for rank in range(4, 7):
            wire.send(rank, rank + 1, 1_000_000, T0 - 40 * MS + (part + rank) * MS)
    (job,) = recognize(wire.flows(), Topology(hosts))
    assert job.endpoints == names(range(8))
    assert job.hosts == tuple(f"host{r}" for r in range(4))


def test_ranks_whose_other_traffic_lasts_are_no_silent_members():
    """Of the second NICs, two exchange throughout the steps, and two only before them."""
    wire, hosts = training(dp=4), {address(r): Endpoint(f"host{r % 4}", r // 4, "leaf0") for r in range(8)}
    end = max(row["end_ns"] for row in wire.rows)
    for part in range(20):
        wire.send(4, 5, 1_000_000, T0 + part * (end - T0) / 20)
        wire.send(6, 7, 1_000_000, T0 + part * MS)
    (job,) = recognize(wire.flows(), Topology(hosts))
    assert job.endpoints == names((0, 1, 2, 3, 6, 7))
