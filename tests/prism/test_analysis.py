"""The whole analysis: one cause, one alarm; answers that do not hang on order, names or clocks; odd input."""

import json
from dataclasses import replace

import numpy as np
import pytest

from collectors.columns.record import COLUMNS, Flows, concatenated
from prism import analysis
from prism import topology as topologies
from prism.analysis import diagnose, too_many
from prism.loops.arrays.record_merging import bursts
from prism.model import Severity
from prism.recordings import file_analysis as module
from prism.recordings.file_analysis import replay
from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.synth.simulation import simulate
from prism.topology import Endpoint, Topology
from prism.tracking import step_numbers
from tests.prism.evidence.made import Wire as Made
from tests.prism.faults import FAULTS, NIC, RANK, TOPOLOGY
from tests.prism.recordings.test_file_analysis import PCAPS, inputs
from tests.prism.traffic import MS, T0, Wire, address, claims, placed, shifted, source, told, training

CAUSES = {
    "slow rank": ("slow_rank", (address(RANK),)),
    "rank always slow": ("slow_rank", (address(RANK),)),
    "slow NIC": ("slow_link", (address(NIC),)),
    "NIC always slow": ("slow_link", (address(NIC),)),
    "slow uplink": ("slow_link", ("leaf1", "spine0")),
    "lossy NIC": ("slow_link", (address(NIC),)),
    "hang": ("hang", (address(RANK),)),
    "crash": ("crash", (address(RANK),)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_one_cause_is_one_claim(fault):
    found = told(FAULTS[fault](Wire(tcp=True)).flows(TOPOLOGY), TOPOLOGY)
    assert claims(found) == ([CAUSES[fault]] if fault in CAUSES else [])
    assert [len(one.job.endpoints) for one in found.jobs] == [12]
    assert found.unexplained == ()


@pytest.mark.parametrize("fault", ["slow rank", "slow NIC", "hang", "crash"])
def test_the_cause_is_found_without_a_topology_too(fault):
    found = told(FAULTS[fault](Wire(tcp=True)).flows())
    assert claims(found) == [CAUSES[fault]]
    assert "without --topology" in found.unexplained[0]


def test_a_finding_names_its_job():
    wire = FAULTS["slow NIC"](Wire(tcp=True))
    flows = training(dp=4, wire=wire, first=12, work=lambda _step, _rank: 31.0).flows()
    found = told(flows, placed(16))
    assert [len(one.job.endpoints) for one in found.jobs] == [12, 4]
    assert [f.job for f in found.findings if f.severity is not Severity.INFO] == [found.jobs[0].job.id]


def test_a_window_does_not_deny_that_a_known_job_trains(monkeypatch):
    flows = training(dp=4).flows()
    (one,) = told(flows, placed(4)).jobs
    monkeypatch.setattr(analysis, "LEAST_TRAINING", 2.0)
    known = step_numbers.known(one.timeline, 0)
    for before, found in ((None, 0), (known, 1)):
        again = diagnose(flows, source(flows), topology=placed(4), jobs=(one.job,), least=2, known=before)
        assert len(again.jobs) == found


# What must not matter, on a real capture.


@pytest.fixture(scope="module", params=["slow_rank", "slow_nic"])
def captured(request):
    """Flows, transits and topology of a recorded run, and what is said of it."""
    folder, asked = PCAPS / request.param, []
    placed = topologies.parse((folder / "topology.json").read_text(), "topology.json")

    def record(flows, source, **more):
        asked.append((flows, more["transits"]))
        return diagnose(flows, source, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "diagnose", record)
        found = replay(inputs(folder), placed)
    return (*asked[0], placed, said(found))


def said(diagnosis, *, by_ns=0, name=lambda address: address):
    """What a diagnosis says, in a form that can be compared: times moved by `by_ns`, addresses renamed."""
    jobs = []
    for one in diagnosis.jobs:
        steps = {name(e): (s + by_ns).tolist() for e, s in zip(one.job.endpoints, one.timeline.steps, strict=True)}
        groups = sorted((g.kind, sorted(map(name, g.members)), g.evidence) for g in one.parallelism.groups)
        pairs = sorted((name(p.src), name(p.dst), p.kind, p.octets) for p in one.parallelism.pairs)
        events = [(e.kind, e.start_ns + by_ns, e.end_ns + by_ns) for e in one.timeline.events]
        jobs.append((one.parallelism.layout, steps, groups, pairs, events))
    findings = [
        (f.detector, str(f.severity), tuple(map(name, f.ids)), f.start_ns + by_ns, f.end_ns + by_ns, f.slowdown, f.score)
        for f in diagnosis.findings
    ]
    return jobs, findings, len(diagnosis.unexplained)


def again(flows, captured, *, transits=None, topology=None):
    return diagnose(flows, source(flows), topology=topology or captured[2], transits=transits or captured[1])


def test_something_is_reported(captured):
    jobs, findings, _ = captured[3]
    assert len(jobs) == len(findings) == 1


def test_the_order_of_rows_does_not_matter(captured):
    flows = captured[0]
    order = np.random.default_rng(0).permutation(len(flows))
    assert said(again(flows.take(order), captured)) == captured[3]


@pytest.mark.parametrize("by_ns", [-1_600_000_000 * 10**9, 123_456_789_012_345_677])
def test_the_time_of_day_does_not_matter(captured, by_ns):
    flows, transits = shifted(captured[0], by_ns), replace(captured[1], start_ns=captured[1].start_ns + by_ns)
    assert said(again(flows, captured, transits=transits), by_ns=-by_ns) == captured[3]


def renamed(flows, names, order):
    """The same records, with endpoints called otherwise and listed in another order."""
    place = np.argsort(order)
    endpoints = tuple(names[flows.endpoints[i]] for i in order)
    return replace(flows, src=place[flows.src].astype(np.int32), dst=place[flows.dst].astype(np.int32), endpoints=endpoints)


@pytest.mark.parametrize("seed", [0, 1])
def test_names_do_not_matter(captured, seed):
    chance = np.random.default_rng(seed)
    flows, _, placed, before = captured
    every = sorted({*flows.endpoints, *placed.endpoints})
    names = dict(zip(every, (f"10.7.{i}.9" for i in chance.permutation(len(every))), strict=True))
    back = {new: old for old, new in names.items()}
    moved = Topology({names[e]: spot for e, spot in placed.endpoints.items()}, placed.links)
    found = again(renamed(flows, names, chance.permutation(len(flows.endpoints))), captured, topology=moved)
    assert said(found, name=lambda address: back.get(address, address)) == before


def test_how_records_were_batched_does_not_matter(captured):
    flows, parts = captured[0], np.array_split(np.arange(len(captured[0])), 7)
    assert said(again(concatenated([flows.take(rows) for rows in parts]), captured)) == captured[3]


def test_a_clock_that_runs_twice_as_fast_names_the_same(captured):
    flows, transits = captured[:2]
    base = int(flows.start_ns.min())
    slow = {name: base + (getattr(flows, name) - base) * 2 for name in ("start_ns", "end_ns")}
    slow_hops = {"start_ns": base + (transits.start_ns - base) * 2, "delay_ns": transits.delay_ns * 2}
    found = again(replace(flows, busy_ns=flows.busy_ns * 2, **slow), captured, transits=replace(transits, **slow_hops))
    jobs, findings, _ = said(found)
    assert (jobs[0][0], jobs[0][2], jobs[0][3]) == (captured[3][0][0][0], captured[3][0][0][2], captured[3][0][0][3])
    assert [f[:3] for f in findings] == [f[:3] for f in captured[3][1]]


# What is no training, or hardly anything.


def browsing(clients=6, servers=2, requests=400):
    """Requests and answers, as people make them."""
    wire, chance = Wire(tcp=True), np.random.default_rng(3)
    for _ in range(requests):
        client, server = int(chance.integers(clients)), clients + int(chance.integers(servers))
        at, port = T0 + int(chance.uniform(0, 60_000) * MS), int(chance.integers(30_000, 60_000))
        wire.send(client, server, 400, at, src_port=port, dst_port=443)
        wire.send(server, client, int(chance.lognormal(10, 2)), at + 20 * MS, src_port=443, dst_port=port)
    return wire.flows()


@pytest.mark.parametrize("topology", [None, placed(8)])
def test_browsing_is_no_training(topology):
    found = told(browsing(), topology)
    assert (found.jobs, found.findings) == ((), ())
    assert "no training job: the 800 flow records between 8 endpoints" in found.unexplained[0]


@pytest.mark.parametrize(("idle_ms", "jobs"), [(0, 0), (5, 1)])
def test_collectives_back_to_back_are_no_training(idle_ms, jobs):
    """A benchmark repeats three reductions; with some time to compute between, they may be those of a job."""
    wire, at = Made([address(i) for i in range(8)]), 0.0
    for _ in range(12):
        for octets in (1_000_000, 4_000_000, 2_000_000):
            wire.ring(list(range(8)), at, octets, long=octets / 1e6)
            at += 14 * 1.1 * octets / 1e6
        at += idle_ms
    flows = wire.flows()
    assert len(diagnose(flows, source(flows)).jobs) == jobs
    summed = replace(flows, messages=np.full(len(flows), 2))  # rests within records are not known
    assert len(diagnose(summed, source(summed)).jobs) == 1


def test_nothing_is_said_of_nothing():
    found = told(Wire().flows(), placed(4))
    assert (found.jobs, found.findings, found.unexplained) == ((), (), ("the input contains no payload",))
    empty = Flows.build({"start_ns": []}, endpoints=())
    assert told(empty).unexplained == ("the input contains no payload",)


def test_a_single_record():
    wire = Wire()
    wire.send(0, 1, 1000, T0)
    found = told(wire.flows())
    assert (found.jobs, found.findings) == ((), ())
    assert "no training job" in found.unexplained[0]


def test_records_without_octets_without_length_and_all_at_once():
    same = {c.name: np.full(50, c.default) for c in COLUMNS} | {"start_ns": np.full(50, T0), "end_ns": np.full(50, T0)}
    columns = same | {"src": np.arange(50) % 5, "dst": (np.arange(50) + 1) % 5}
    for octets in (0, 1, 10**12):
        flows = Flows.build(columns | {"octets": np.full(50, octets)}, endpoints=tuple(map(address, range(5))))
        assert told(flows).findings == ()


def test_a_topology_may_know_others_only_or_more():
    flows = FAULTS["slow NIC"](Wire()).flows()
    strangers = Topology({f"192.0.2.{i}": Endpoint(f"h{i}", 0, "leaf0") for i in range(4)})
    assert told(flows, strangers).jobs == ()
    assert "no training job" in told(flows, strangers).unexplained[0]
    more = Topology({**strangers.endpoints, **TOPOLOGY.endpoints}, TOPOLOGY.links)
    assert claims(told(flows, more)) == [CAUSES["slow NIC"]]
    bare = Topology({address(r): Endpoint(None, None, None) for r in range(12)})
    assert claims(told(flows, bare)) == [CAUSES["slow NIC"]]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_endpoints_without_steps_are_no_job(seed):
    wire, chance = Wire(), np.random.default_rng(seed)
    for at in np.cumsum(chance.exponential(20, 300)):
        wire.send(*chance.choice(4, 2, replace=False).tolist(), int(chance.lognormal(12, 2)) + 5000, T0 + int(at * MS))
    found = told(wire.flows(), placed(4))
    assert (found.jobs, found.findings) == ((), ())
    assert "no training job" in found.unexplained[0]


@pytest.mark.parametrize("fault", ["slow rank", "slow NIC", "hang", "crash"])
def test_condensed_records_give_the_same_result(fault):
    flows = FAULTS[fault](Wire(tcp=True)).flows(TOPOLOGY)
    whole, less = told(flows, TOPOLOGY), told(bursts(flows, near=1.0, parts=64).flows, TOPOLOGY)
    assert claims(less) == claims(whole)
    assert [one.job for one in less.jobs] == [one.job for one in whole.jobs]
    assert [one.parallelism.pairs for one in less.jobs] == [one.parallelism.pairs for one in whole.jobs]


def test_progress_is_reported():
    asked = []
    flows = training(dp=4).flows()
    diagnose(flows, source(flows), progress=lambda done, total: asked.append((done, total)))
    assert asked[0] == (0, 1)
    assert json.dumps(asked)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("equal", [True, False])
def test_messages_at_random_are_no_job(seed, equal):
    wire, chance = Wire(), np.random.default_rng(seed)
    for at in np.cumsum(chance.exponential(20, 300)):
        src, dst = chance.choice(4, 2, replace=False).tolist()
        wire.send(src, dst, 100_000 if equal else int(chance.lognormal(12, 2)) + 5000, T0 + int(at * MS))
    found = told(wire.flows(), placed(4))
    assert found.jobs == ()
    assert any("no training job" in text for text in found.unexplained)


@pytest.mark.parametrize("seed", [1, 2])
def test_evaluations_after_some_steps_neither_make_layers_steps_nor_several_steps_one(seed):
    job = Job(
        mode="fsdp", dp=8, layers=4, steps=18, forward_ms=140, backward_ms=280, optimizer_ms=14, gradient_octets=16_000_000,
        evaluate_every=5, evaluate_s=1.3, checkpoint_every=7, checkpoint_octets=2_000_000_000,
    )  # fmt: skip
    made = simulate(Spec("x", Cluster(hosts=8, nic_gbit=200.0), (job,)), seed)
    (one,) = told(made.flows).jobs
    assert len(one.timeline.steps[0]) == 18


def test_a_job_that_evaluates_or_writes_as_often_as_not_is_one():
    """A third of its steps are several times as long as the others, and nothing but pairs move together."""
    job = Job(
        dp=2, pp=4, micro=4, steps=16, schedule="interleaved", forward_ms=3.7, backward_ms=7.4, gradient_octets=30_000_000,
        activation_octets=1_200_000, evaluate_every=5, evaluate_s=0.23, checkpoint_every=12, checkpoint_octets=387_000_000,
    )  # fmt: skip
    slow = Fault("compute_slow", ranks=(1,), first=6, stop=12, factor=1.9)
    made = simulate(Spec("x", Cluster(hosts=8, nic_gbit=200.0), (job,), (slow,)), 1)
    (one,) = told(made.flows, topologies.parse(json.dumps(made.topology), "t.json")).jobs
    assert (one.parallelism.layout.pp, one.parallelism.layout.dp) == (4, 2)
    assert len(one.timeline.steps[0]) == 16


def test_messages_of_a_small_cluster_are_not_merged_unless_there_are_very_many():
    assert [too_many(records, ends) for records in (1 << 19, 1 << 22, 1 << 24) for ends in (64, 1024)] == [
        False, False, False, True, True, True,
    ]  # fmt: skip
