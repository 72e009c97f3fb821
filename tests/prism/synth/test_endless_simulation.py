import itertools
from dataclasses import replace

import numpy as np
import pytest

from collectors.columns.record import Transits, concatenated
from prism.synth.capture.collection_losses import Collection
from prism.synth.capture.packet_trains import make_trains
from prism.synth.capture.transfer_records import flows_of
from prism.synth.endless_simulation import EndlessRun, in_order, simulate_attempts
from prism.synth.scenario.presets import PRESETS
from prism.synth.scenario.specification import Cluster, Degradation, Fault, Job, Nuisances, Spec
from prism.synth.simulation import simulate
from prism.synth.training.job_run import FAR_NS
from tests.collectors.builders.packets import rows_of

SMALL = replace(PRESETS["pipeline-rdma"].jobs[0], steps=6, gradient_octets=4_000_000, activation_octets=200_000, credits=True)
TWO = Spec(
    cluster=Cluster(hosts=32, hosts_per_leaf=8, spines=2),
    jobs=(
        replace(SMALL, storage_octets=20_000, checkpoint_every=3, checkpoint_octets=10_000_000),
        replace(SMALL, name="B", begin_s=0.4, first_host=16, dp=2),
        Job(name="T", transport="tcp", dp=4, steps=4, begin_s=0.2, first_host=24, gradient_octets=2_000_000),
    ),
    faults=(
        Fault("uplink_throttle", job="B", switch="leaf1", first=2, stop=4, factor=20.0),
        Fault("crash", job="A", ranks=(3,), first=3, restart_s=0.5),
        Fault("nic_throttle", job="A", ranks=(2,), first=1, stop=3),
    ),
    nuisances=Nuisances(bulk_gbit=0.1, monitor=True),
)
SPECS = {name: PRESETS[name] for name in ("pipeline", "crash", "busy", "hang")} | {
    "rdma": Spec(jobs=(replace(SMALL, dp=2),)),
    "twins": replace(TWO, jobs=(TWO.jobs[1], replace(SMALL, name="A")), nuisances=Nuisances()),
    "two": TWO,
}


def streamed(spec, seed, most, **options):
    play = EndlessRun(spec, seed, most=most, **options)
    return play, list(play.pieces())


@pytest.mark.parametrize("name", SPECS)
def test_pieces_hold_what_the_whole_holds(name):
    spec, ways = SPECS[name], {}
    play, pieces = streamed(spec, 5, 500)
    assert len(pieces) > 1 or all(job.transport == "tcp" for job in spec.jobs)
    flows = [flows_of(parts, play.plant, spec.start_ns, ways) for parts, _ in pieces]
    whole = simulate(spec, 5)
    rows, expected = rows_of(concatenated(flows)), rows_of(whole.flows)
    if any(f.kind == "crash" for f in spec.faults):  # what is cut short is an octet longer
        rows, expected = ([(*row[:8], *row[9:]) for row in some] for some in (rows, expected))
    assert rows == expected
    assert play.truth() == whole.truth
    for part, following in itertools.pairwise(flows):
        assert not len(part) or not len(following) or part.start_ns.max() <= following.start_ns.min()


def test_a_run_that_fits_is_one_piece_in_the_same_order():
    spec = SPECS["two"]
    play, pieces = streamed(spec, 2, 10**9)
    assert [until for _, until in pieces] == [FAR_NS]
    flows, whole = flows_of(pieces[0][0], play.plant, spec.start_ns), simulate(spec, 2).flows
    assert flows.octets.tolist() == whole.octets.tolist()
    assert flows.start_ns.tolist() == whole.start_ns.tolist()


def test_rows_begin_before_their_piece_ends_and_after_the_one_before():
    _, pieces = streamed(SPECS["rdma"], 1, 300)
    low = -1.0
    assert len(pieces) > 2
    for parts, until in pieces:
        starts = np.rint(np.concatenate([rows.columns["start_ns"] for rows in parts]))
        assert ((starts >= low) & (starts < until)).all()
        low = until


def test_packets_of_pieces_are_those_of_the_whole():
    spec = SPECS["rdma"]
    play, pieces = streamed(spec, 1, 300, packets=True)
    _, whole = streamed(spec, 1, 10**9, packets=True)
    trains = [make_trains(parts, play.plant) for parts, _ in pieces]
    both = {name: np.concatenate([t[name] for t in trains]) for name in trains[0]}
    expected = make_trains(whole[0][0], play.plant)
    names = ("link", "way", "start", "end", "octets", "again", "up")
    assert sorted(zip(*(both[n].tolist() for n in names), strict=True)) == sorted(
        zip(*(expected[n].tolist() for n in names), strict=True)
    )


def test_summed_records_are_not_cut_by_pieces():
    spec = replace(SPECS["rdma"], degradation=Degradation(aggregate_s=0.3, skew_ms=2.0))
    play, pieces = streamed(spec, 4, 300)
    assert len(pieces) > 2
    collection = Collection(spec.degradation, (0, 1 << 62), play.rng)
    parts = [collection.degrade(flows_of(p, play.plant, spec.start_ns), Transits.empty())[0] for p, _ in pieces]
    whole = simulate(spec, 4).flows
    assert len(concatenated(parts)) == len(whole)
    assert rows_of(concatenated(parts)) == rows_of(whole)


def test_a_part_of_the_time_is_the_same_part():
    for spec in (SPECS["rdma"], SPECS["pipeline"]):
        cut = replace(spec, degradation=Degradation(keep=0.5))
        play, _ = streamed(cut, 4, 300)
        assert play.seen == pytest.approx(streamed(cut, 4, 10**9)[0].seen, abs=1e5)


def test_jobs_that_trouble_the_network_come_first():
    assert [job.name for _, job in in_order(TWO)] == ["A", "B", "T"]
    assert [job.name for _, job in in_order(replace(TWO, faults=TWO.faults[:1]))] == ["B", "A", "T"]


def test_too_much_to_keep_is_none():
    spec = SPECS["rdma"]
    play = EndlessRun(spec, 1)
    assert simulate_attempts(spec, play.plant, 1, 50) is None
    assert len(simulate_attempts(spec, play.plant, 1, 10**9)) == 1
