import numpy as np
import pytest

from prism.metrics.aggregate_metrics import aggregate, spread
from prism.model import PHASES, Group, Job, JobDiagnosis, Layout, Pair, Parallelism, Phases, Spans, Timeline

MS = 1_000_000
TYPES = (np.int64, np.int64, np.int32, np.int32, np.int8)
NAMES = ("10.0.0.1", "10.0.0.2")


def job(steps=6, late=5):
    """Two ranks that reduce 1 MB each way in 10 ms at the end of steps of 100 ms; the second begins `late` ms later."""
    begins = np.arange(steps) * 100 * MS
    ends = np.stack([begins, begins + 100 * MS], axis=1)
    start = np.concatenate([begins + 80 * MS, begins + (80 + late) * MS])
    rank = np.repeat([0, 1], steps).astype(np.int32)
    phase = np.full(2 * steps, PHASES.index("dp"), np.int8)
    octets = np.full(2 * steps, 1_000_000)
    spans = Spans(start, start + 10 * MS, rank, phase, 1 - rank, octets)
    times = np.sort(np.concatenate([begins + cut * MS for cut in (0, 80, 95)]))
    kinds = np.tile([PHASES.index(name) for name in ("compute", "dp", "idle")], steps).astype(np.int8)
    one = [
        times,
        np.concatenate([times[1:], [steps * 100 * MS]]),
        np.zeros(len(times), np.int32),
        np.repeat(np.arange(steps), 3),
        kinds,
    ]
    both = [np.concatenate([a, a + (i == 2)]) for i, a in enumerate(one)]
    return JobDiagnosis(
        Job("j", NAMES, (), 0, steps * 100 * MS),
        Parallelism(Layout(dp=2), (Group("dp", NAMES, "traffic", 1.0),), (Pair(*NAMES, "dp", 1),)),
        Timeline(
            (ends, ends), (), spans, Phases(both[0], both[1], both[2].astype(np.int32), both[3].astype(np.int32), both[4])
        ),
    )


def test_the_metrics_of_a_job():
    own = aggregate(job())
    assert own is not None
    assert own.step_s.median == pytest.approx(0.1)
    assert own.volumes == {"dp": 1_000_000}
    [late] = own.lateness
    assert late.worst == NAMES[1]
    assert late.worst_s == pytest.approx(0.005)
    [band] = own.bandwidth
    assert band.members == 2
    assert band.bits_per_s.median == pytest.approx(8e6 / 0.015)  # 1 MB per member while one of them sends
    assert own.void.median == pytest.approx(0.05)
    assert own.work[0].median == pytest.approx(0.08)
    assert own.transfers == {"dp": 1}
    assert own.micro_batches == 0


def test_too_few_steps():
    assert aggregate(job(3)) is None


def test_spreads():
    own = spread(np.array([1.0, 2.0, 3.0]))
    assert (own.median, own.count) == (2.0, 3)
    assert np.isnan(spread(np.zeros(0)).median)
