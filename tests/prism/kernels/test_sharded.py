import numpy as np
import pytest

from prism.kernels.rhythm import NONE
from prism.kernels.sharded import _halves_alike, sharded

MS = 1_000_000


def stream(gaps, steps, *, jitter=0.02, seed=0):
    """One edge of a ring: (octets, ms of silence after it) of every call of a step, and when steps end."""
    chance = np.random.default_rng(seed)
    start, end, octets, ends, clock = [], [], [], [], 0.0
    for _ in range(steps):
        for size, gap in gaps:
            start.append(clock)
            clock += size / 100
            end.append(clock)
            octets.append(size)
            if (size, gap) == gaps[-1]:
                ends.append(clock)
            clock += gap * chance.normal(1, jitter)
    times = [(np.array(column) * MS).astype(np.int64) for column in (start, end, ends)]
    return (times[0], times[1], np.array(octets, np.int64)), times[2]


def layers(count, optimizer):
    """Forward a layer at a time; backward it is gathered again, and its gradients are scattered beside the next one."""
    return [(100, 10)] * (count - 1) + [(200, 21)] + [(200, 20)] * (count - 1) + [(100, optimizer)]


@pytest.mark.parametrize("count", [4, 12, 40])
@pytest.mark.parametrize("optimizer", [5, 15, 60])
def test_a_step_ends_where_a_forward_pass_follows(count, optimizer):
    records, ends = stream(layers(count, optimizer), 12)
    assert sharded(*records).rhythm.quiet[:, 0].tolist() == ends.tolist()


@pytest.mark.parametrize(
    "gaps",
    [[(100, 60)], [(100, 10)] * 7 + [(100, 40)], [(100, 10), (100, 20)] * 4, [(100, 10)] * 12 + [(300, 40)]],
    ids=["one reduction", "buckets", "two in turn", "buckets and a large one"],
)
def test_what_does_not_go_forward_and_backward_is_no_sharded_model(gaps):
    records, _ = stream(gaps, 30)
    assert sharded(*records).rhythm is NONE


def test_too_little_says_nothing():
    records, _ = stream(layers(4, 5), 3)
    assert sharded(*records).rhythm is NONE
    assert sharded(*(np.zeros(0, np.int64) for _ in range(3))).rhythm is NONE


def test_gaps_that_are_cut_to_one_width_are_not_even():
    """Buckets whose gaps differ from step to step, and evaluations: what is far too wide is all alike once it is cut."""
    chance = np.random.default_rng(3)
    for _ in range(40):
        gaps = [(100, float(gap)) for gap in chance.choice([4, 5, 6, 60, 90, 500], 8, p=[0.2, 0.2, 0.2, 0.15, 0.15, 0.1])]
        records, _ = stream(gaps, 12, jitter=0.3, seed=int(chance.integers(1000)))
        assert sharded(*records).uneven > 0.02


def test_forward_gaps_that_ranks_of_a_large_ring_part_unevenly_do_not_move_the_end():
    """A third of the octets moves forward: not one layer less, though the first gap is longer than the others."""
    ahead = [73, 64, 49, 36, 39, 38, 33, 33, 35, 31]
    gaps = [(100, gap) for gap in ahead] + [(100, 86), *[(200, 147)] * 10, (200, 150), (100, 119)]
    records, ends = stream(gaps, 12)
    assert sharded(*records).rhythm.quiet[:, 0].tolist() == ends.tolist()


@pytest.mark.parametrize("pause", [40, 400])
def test_pauses_may_last_longer_than_all_steps(pause):
    """An evaluation after every third step, for some steps' time each."""
    gaps = layers(12, 15)
    step = sum(gap for _, gap in gaps)
    often = [one for k in range(3) for one in gaps[: len(gaps) - (k == 2)]] + [(100, pause * step // 10)]
    records, _ = stream(often, 5)
    found = sharded(*records).rhythm
    assert len(found.quiet) == 15
    assert found.octets == sum(size for size, _ in gaps)


@pytest.mark.parametrize("seed", range(8))
def test_where_other_load_makes_layers_long_at_random_several_steps_may_be_more_alike_than_one(seed):
    (start, end, octets), ends = stream(layers(12, 5), 27, jitter=0.03, seed=seed)
    chance = np.random.default_rng(seed)
    gap = np.append(start[1:], end[-1]) - end
    gap = (gap * np.where(chance.random(len(gap)) < 0.3, 1 + 1.5 * chance.random(len(gap)), 1.0)).astype(np.int64)
    later = np.concatenate([[0], np.cumsum(end - start + gap)[:-1]]) - start
    found = sharded(start + later, end + later, octets).rhythm
    assert found.quiet[:, 0].tolist() == (ends + later[np.searchsorted(end, ends)]).tolist()


def test_the_halves_and_thirds_of_a_step_that_goes_forward_and_backward_are_unlike():
    for gaps, steps, alike in ((layers(12, 5), 1, False), (layers(12, 5), 2, True), ([(100, 10)] * 3 + [(100, 40)], 3, True)):
        (start, end, octets), _ = stream(gaps, 12)
        place, width = np.cumsum(octets)[:-1].astype(np.float64), (start[1:] - end[:-1]).astype(np.float64)
        lag = steps * sum(size for size, _ in gaps)
        assert _halves_alike(place, width, float(lag), 25.0) == alike
