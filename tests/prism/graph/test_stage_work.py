import numpy as np
import pytest

from prism.graph.job_transfers import transfers_of
from prism.graph.stage_work import BEGIN, END, FORWARD, handovers, stage_work
from tests.prism.traffic import Wire, placed, seen, training

PP, MICRO = 4, 8


def view(work=lambda _step, _rank: 20.0, *, tcp=False, pp=PP, dp=2, micro=MICRO, steps=8):
    topology = placed(pp * dp)
    return seen(training(dp=dp, pp=pp, micro=micro, steps=steps, work=work, wire=Wire(tcp=tcp)).flows(topology), topology)


def found_in(made):
    return handovers(made, transfers_of(made))


@pytest.mark.parametrize("tcp", [True, False])
def test_hand_overs_are_found_micro_batch_by_micro_batch(tcp):
    found = found_in(view(tcp=tcp))
    assert found is not None
    assert found.chains.shape == (2, PP)
    assert found.forward.shape == found.backward.shape == (2, 2, PP - 1, found.forward.shape[3], MICRO)
    assert found.alternating
    assert (found.forward[END] > found.forward[BEGIN]).all()
    assert (found.forward[BEGIN, :, 1:] >= found.forward[END, :, :-1]).all()
    assert (found.backward[BEGIN, :, :-1] >= found.backward[END, :, 1:]).all()


@pytest.mark.parametrize("tcp", [True, False])
@pytest.mark.parametrize("heavy", [1, 2, 3])
def test_work_is_that_between_hand_overs(heavy, tcp):
    made = view(lambda _step, rank: 30.0 if rank // 2 == heavy else 20.0, tcp=tcp)
    work, ahead = stage_work(found_in(made))
    whole = np.median(work, axis=(0, 2))
    assert whole[heavy] == pytest.approx(90e6, rel=0.1)
    assert np.delete(whole, [0, heavy]) == pytest.approx(np.full(PP - 2, 60e6), rel=0.1)
    assert ahead == pytest.approx(1 / 3, rel=0.1)
    assert (work[:, heavy] > 80e6).all()


def test_work_is_known_of_each_micro_batch():
    found = found_in(view())
    ahead, back = (np.median(part, axis=(0, 2, 3)) for part in found.work)
    assert found.work.shape == (2, 2, PP, found.forward.shape[3], MICRO)
    assert ahead[1:-1] == pytest.approx(np.full(PP - 2, 20e6), rel=0.1)
    assert ahead[-1] == pytest.approx(60e6, rel=0.1)
    assert back[1:-1] == pytest.approx(np.full(PP - 2, 40e6), rel=0.1)
    assert np.isnan(found.work[1][:, [0, -1]]).all()
    assert np.isnan(found.work[FORWARD, :, 0, :, :PP]).all()
    assert np.median(found.work[FORWARD, :, 0, :, PP:]) == pytest.approx(60e6, rel=0.1)


@pytest.mark.parametrize("dp", [2, 4])
def test_of_two_stages_both_are_known(dp):
    work, ahead = stage_work(found_in(view(lambda _step, rank: 30.0 if rank // dp == 1 else 20.0, pp=2, dp=dp)))
    assert np.median(work, axis=(0, 2)) == pytest.approx([60e6, 90e6], rel=0.1)
    assert ahead == pytest.approx(1 / 3)


def test_without_stages_there_are_no_hand_overs():
    assert found_in(view(pp=1, dp=4)) is None
