import numpy as np
import pytest

from prism.synth.scenario.specification import Fault, Job
from prism.synth.training.fabric import NEVER_NS
from prism.synth.training.faults import Work

QUIET = Job(dp=4, jitter=0.0, uneven_ranks=0.0, spike_chance=0.0)
ALL = np.arange(4)


def work(*faults, job=QUIET):
    return Work(job, np.random.default_rng(1), faults, np.arange(4))


def test_a_slow_rank_is_slow_in_its_steps_only():
    w = work(Fault("compute_slow", ranks=(2,), first=3, stop=5, factor=1.5))
    for step in range(6):
        w.begin(step)
        assert w.work_time(ALL, 10.0) == pytest.approx([1e7, 1e7, 1.5e7 if step in (3, 4) else 1e7, 1e7])


@pytest.mark.parametrize(("kind", "length"), [("hang", 2e9), ("crash", NEVER_NS)])
def test_a_rank_stops_once_in_the_middle_of_a_piece(kind, length):
    w = work(Fault(kind, ranks=(1,), first=2, seconds=2.0))
    w.begin(1)
    assert w.stalled(ALL, np.zeros(4), np.full(4, 1e6))[0].sum() == 0
    w.begin(2)
    extra, at = w.stalled(ALL, np.zeros(4), np.full(4, 1e6))
    assert extra.tolist() == [0, length, 0, 0]
    assert w.stalls[0].begin == pytest.approx(at * 1e6)
    assert 0 < at < 1
    assert w.stalled(ALL, np.zeros(4), np.full(4, 1e6))[0].sum() == 0


def test_other_load_slows_whole_hosts():
    w = Work(
        Job(dp=4, foreign=0.5, jitter=0, uneven_ranks=0, spike_chance=0), np.random.default_rng(1), (), np.array([0, 0, 1, 1])
    )
    w.begin(0)
    assert w.factor[0] == w.factor[1]
    assert w.factor[2] == w.factor[3]


def test_data_that_comes_late_comes_late_to_some():
    w = work(job=Job(dp=400, load_ms=2.0, stall_chance=0.1, stall_ms=100.0, jitter=0, uneven_ranks=0, spike_chance=0))
    took = w.data_wait() / 1e6
    late = took > 3
    assert 20 < np.count_nonzero(late) < 60
    assert took[~late] == pytest.approx(2.0)
    assert ((took[late] > 50) & (took[late] < 153)).all()
    assert work().data_wait() == pytest.approx(2e6)


def test_lengths_of_sequences_are_usual_where_nothing_else_is_requested():
    assert work().lengths(3).tolist() == [1, 1, 1]


def test_data_vary_by_replica_and_micro_batch_and_are_the_same_in_all_stages():
    job = Job(dp=2, pp=2, tp=2, jitter=0.0, uneven_ranks=0.0, spike_chance=0.0)
    w = Work(job, np.random.default_rng(1), (Fault("data_imbalance", spread=0.5, first=1),), np.arange(8))
    w.begin(0)
    assert (w.loads(3) == 1).all()
    w.begin(1)
    once, again = w.loads(3), w.loads(3)
    assert (once[[0, 1, 4, 5]] == once[0]).all()
    assert (once[[2, 3, 6, 7]] == once[2]).all()
    assert len(np.unique(np.concatenate([once[[0, 2]], again[[0, 2]]]))) == 12


def test_experts_get_other_tokens_in_each_step():
    w = work(Fault("data_imbalance", spread=0.5, experts=True))
    w.begin(0)
    first = w.tokens
    w.begin(1)
    assert len(np.unique([first, w.tokens])) == 8
    assert (w.loads(2) == 1).all()


def test_a_heavy_stage_is_heavy_in_its_steps():
    w = work(Fault("stage_imbalance", stage=1, first=2, factor=1.5), Fault("stage_imbalance", stage=1, factor=2.0))
    w.begin(1)
    assert (w.heavier(0), w.heavier(1)) == (1.0, 2.0)
    w.begin(2)
    assert w.heavier(1) == 3.0


@pytest.mark.parametrize(("chance", "expected"), [(1.0, 20), (0.5, 10), (0.0, 0)])
def test_late_input_delays_all_ranks_alike(chance, expected):
    w = work(Fault("input_stall", seconds=0.5, chance=chance, first=10, stop=30))
    waits = []
    for step in range(40):
        w.begin(step)
        took = w.data_wait() / 1e6
        assert np.ptp(took) == 0
        waits.append(took[0] > 100)
    assert sum(waits) == pytest.approx(expected, abs=6 * (chance == 0.5))
    assert [step for _, step in w.input_waits] == np.flatnonzero(waits).tolist()
    assert not any(waits[:10] + waits[30:])
