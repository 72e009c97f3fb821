import itertools

import numpy as np
import pytest

from prism.synth.capture.mirror_captures import Mirrors
from prism.synth.capture.packet_streams import Packets
from prism.synth.capture.packet_trains import departures, make_trains
from prism.synth.scenario.cluster import build
from prism.synth.scenario.specification import Cluster, Degradation, Job
from prism.synth.training.job_run import attempt

PLANT = build(Cluster())
JOB = Job(dp=8, steps=2, gradient_octets=2_000_000)
START = 1_790_000_000_000_000_000


def seen(most=1 << 17, **options):
    done = attempt(JOB, PLANT, (), [], np.random.default_rng(1), 0.0, "A")
    mirrors = Mirrors(PLANT, START, np.random.default_rng(2), **options)
    out = {name: [] for name in PLANT.switches}
    for some in mirrors.captured(Packets(most=most).add(make_trains(departures(done), PLANT))):
        assert len(some.octets) == len(some.captured) == len(some.wire) == len(some.time_ns)
        out[some.switch] += [
            (int(t), bytes(row[:n])) for t, row, n in zip(some.time_ns, some.octets, some.captured.tolist(), strict=True)
        ]
    return out


def test_each_switch_sees_what_crosses_it_in_order():
    out = seen()
    for rows in out.values():
        assert rows
        assert all(a[0] <= b[0] for a, b in itertools.pairwise(rows))
        assert len({frame for _, frame in rows}) == len(rows)
    inside = {frame for _, frame in out["leaf0"]} & {frame for _, frame in out["leaf1"]}
    assert inside == {frame for _, frame in out["spine0"]}
    when = {name: {frame: t for t, frame in rows} for name, rows in out.items()}
    assert all(
        min(when["leaf0"][f], when["leaf1"][f]) < when["spine0"][f] < max(when["leaf0"][f], when["leaf1"][f]) for f in inside
    )


def test_small_chunks_give_the_same_captures():
    few, many = seen(most=500), seen()
    assert {name: sorted(rows) for name, rows in few.items()} == {name: sorted(rows) for name, rows in many.items()}


def test_erspan_numbers_count_per_switch():
    for rows in seen(most=2000, erspan=True).values():
        assert [int.from_bytes(frame[38:42], "big") for _, frame in rows] == list(range(len(rows)))


def test_what_collection_loses():
    whole = sum(len(rows) for rows in seen().values())
    assert sum(map(len, seen(asked=Degradation(loss=0.25)).values())) == pytest.approx(0.75 * whole, rel=0.1)
    assert sum(map(len, seen(asked=Degradation(sampling=10)).values())) == pytest.approx(0.1 * whole, rel=0.2)
    skewed, straight = seen(asked=Degradation(skew_ms=3.0)), seen()
    off = {name: {a[0] - b[0] for a, b in zip(skewed[name], straight[name], strict=True)} for name in straight}
    assert all(len(own) == 1 and abs(next(iter(own))) <= 3e6 for own in off.values())
    assert len(set(map(tuple, off.values()))) == len(off)
    middle = seen(seen=(1e8, 4e8))
    assert all(START + 1e8 <= t < START + 4e8 for rows in middle.values() for t, _ in rows)
    with pytest.raises(ValueError, match="aggregate_s"):
        seen(asked=Degradation(aggregate_s=1.0))
