import numpy as np
import pytest

from prism.kernels.together import inner

MS = 1_000_000


def beats(*groups, long=300.0):
    """Groups of beats of so many ms, a long one before each; what `inner` makes of them."""
    lengths = np.array([long, *(x for group in groups for x in (*group, long))])
    return inner((lengths * MS).astype(np.int64), lengths == long)


def made(groups, places, *, together=0.0, apart=0.0, by_place=0.0, slow=(), seed=1):
    """Beats of 100 ms that vary so much with their group, each for itself, with their place; `slow` ones last half longer."""
    rng = np.random.default_rng(seed)
    length = together * rng.normal(size=(groups, 1)) + apart * rng.normal(size=(groups, places))
    length = 100 * np.exp(length + by_place * (np.arange(places) >= places // 3))
    flat = length.ravel()
    flat[list(slow)] *= 1.5
    return beats(*flat.reshape(groups, places))


def test_the_longest_of_each_group_and_groups_of_another_size_are_left_out():
    found = beats((1, 2, 3), (4, 5, 6), (7, 8), (9, 10, 11))
    assert np.exp(found.length).round().tolist() == [
        [1 * MS, 2 * MS, 3 * MS],
        [4 * MS, 5 * MS, 6 * MS],
        [9 * MS, 10 * MS, 11 * MS],
    ]
    assert inner(np.arange(5), np.zeros(5, np.bool_)).length.shape == (0, 0)


@pytest.mark.parametrize("seed", range(8))
def test_parts_of_one_step_vary_together(seed):
    found = made(12, 4, together=0.03, apart=0.002, seed=seed)
    assert found.of_one_step()
    assert not found.of_their_own()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("slow", [(), range(17, 24)], ids=["all well", "some slow on end"])
def test_steps_take_each_its_own_time(seed, slow):
    found = made(12, 4, apart=0.03, slow=slow, seed=seed)
    assert not found.of_one_step()


def test_most_steps_of_their_own_are_told():
    assert np.mean([made(12, 4, apart=0.03, slow=range(17, 24), seed=seed).of_their_own() for seed in range(100)]) > 0.8


def test_parts_may_differ_by_their_place():
    found = made(6, 8, apart=0.02, by_place=0.5)
    assert found.by_place
    assert found.of_one_step()
    assert not found.of_their_own()


@pytest.mark.parametrize(("long", "may"), [(11.0, False), (18.0, False), (25.0, True), (50.0, True), (700.0, True)])
def test_buckets_of_a_backward_pass_leave_a_forward_pass(long, may):
    """Four of 10 ms, and one with a forward pass of 10 ms or more."""
    assert beats(*[[10.0] * 4] * 6, long=long).may_be_buckets() == may


@pytest.mark.parametrize("groups", [(), ((10, 10),), ((10,), (11,), (12,), (9,), (10,))])
def test_of_too_few_nothing_is_told(groups):
    found = beats(*groups)
    assert not found.of_one_step()
    assert not found.of_their_own()


def test_few_groups_hardly_ever_differ_by_place_by_chance():
    assert np.mean([made(4, 4, apart=0.03, seed=seed).by_place for seed in range(200)]) < 0.03
