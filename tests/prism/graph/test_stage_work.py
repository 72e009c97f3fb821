import numpy as np
import pytest

from prism.graph.stage_work import BEGIN, END, _ends, handovers, stage_work, unqueued_work
from tests.prism.traffic import Wire, placed, seen, training

PP, MICRO = 4, 8


def view(work=lambda _step, _rank: 20.0, *, tcp=False, pp=PP, dp=2, micro=MICRO, steps=8):
    topology = placed(pp * dp)
    return seen(training(dp=dp, pp=pp, micro=micro, steps=steps, work=work, wire=Wire(tcp=tcp)).flows(topology), topology)


@pytest.mark.parametrize("tcp", [True, False])
def test_hand_overs_are_found_micro_batch_by_micro_batch(tcp):
    found = handovers(view(tcp=tcp))
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
    work = stage_work(handovers(made))
    usual = np.delete(work.whole, [0, heavy])
    assert work.whole[heavy] == pytest.approx(90e6, rel=0.1)
    assert usual == pytest.approx(np.full(PP - 2, 60e6), rel=0.1)
    assert work.busy[heavy] > 0.75 > np.nanmin(work.busy)
    assert (work.by_chain[:, heavy] > 80e6).all()


def test_unqueued_work_knows_one_sample_of_each_chain_and_step():
    found = handovers(view())
    work = unqueued_work(found)
    assert work.shape == (2, 2 * found.forward.shape[3], PP - 1)
    ahead, back = (np.median(part, axis=0) for part in work)
    assert ahead[:-1] == pytest.approx(np.full(PP - 2, 20e6), rel=0.1)
    assert ahead[-1] == pytest.approx(60e6, rel=0.1)
    assert back[:-1] == pytest.approx(np.full(PP - 2, 40e6), rel=0.1)
    assert np.isnan(back[-1])


@pytest.mark.parametrize("pp", [1, 2])
def test_two_stages_allow_no_comparison(pp):
    assert handovers(view(pp=pp, dp=4)) is None


def test_a_hand_over_of_odd_size_shifts_the_later_ones():
    even = np.arange(1.0, 41.0)
    assert _ends(even).tolist() == list(range(40))
    assert _ends(even + 0.1 * (even > 7)).tolist() == list(range(40))
    parts = np.sort(np.concatenate([even - 0.6, even]))
    assert _ends(parts).tolist() == list(range(1, 80, 2))


@pytest.mark.parametrize("gone", [np.cumsum(np.full(40, 0.37)), np.array([0.4]), np.linspace(0.1, 9.7, 11)])
def test_records_that_do_not_end_where_hand_overs_do_are_refused(gone):
    assert len(_ends(gone)) == 0
