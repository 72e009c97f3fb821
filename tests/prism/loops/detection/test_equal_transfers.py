from itertools import pairwise

import numpy as np
import pytest

from prism.loops.constants import SAME_SIZE as NEAR
from prism.loops.detection.equal_transfers import rested, unit_of

WINDOW, REST = 4_194_304, 11_805_696
UNIT = WINDOW + REST


def stream(transfers, *, steps=4, seed=0, long=100, short=20):
    """Records of so many transfers a step: whole where the receiver was ready (True), else parted after what may be sent."""
    rng = np.random.default_rng(seed)
    begin, octets, bounds, at = [], [], [0], 0
    for _ in range(steps):
        for whole in transfers:
            at += long + int(rng.integers(9))
            for part in (WINDOW, REST):
                begin.append(at)
                octets.append(part)
                at += 4 if whole else short + int(rng.integers(9))
        bounds.append(len(begin))
    begins = np.array(begin, np.int64)
    return begins, begins + 4, np.array(octets, np.float64), np.stack([bounds[:-1], bounds[1:]], axis=1)


def naive_rested(begin, end):
    wide = np.median(end - begin)
    return [i > 0 and begin[i] - end[:i].max() > wide for i in range(len(begin))]


def naive_unit(octets, rests, bounds, most=16, share=0.7, whole=0.05):
    runs, totals = [], []
    for a, b in bounds.tolist():
        if b - a > 1:
            cuts = [a, *(i for i in range(a + 1, b) if rests[i]), b]
            runs += [octets[i:j].sum() for i, j in pairwise(cuts)]
            totals.append(octets[a:b].sum())
    groups: list[list[float]] = []
    for run in sorted(runs):
        if groups and run <= groups[-1][0] * (1 + NEAR):
            groups[-1].append(run)
        else:
            groups.append([run])
    least = sorted((len(g) for g in groups), reverse=True)[:most][-1:]
    sizes = [float(np.median(g)) for g in groups if least and len(g) >= least[0]]
    for size in sizes:
        times = np.median(totals) / size
        if round(times) >= 2 and abs(times - round(times)) <= whole:
            parts = [
                abs(size - run) <= NEAR * size
                or any(abs(size - run - p) <= NEAR * size and abs(size - 2 * run) > NEAR * size for p in sizes)
                for run in runs
            ]
            if np.mean(parts) >= share:
                return float(np.median(totals) / round(times))
    return 0.0


@pytest.mark.parametrize("seed", range(20))
def test_as_the_plain_way_says(seed):
    rng = np.random.default_rng(seed)
    begin, end, octets, bounds = stream(rng.random(12) < rng.random(), seed=seed)
    octets = np.where(rng.random(len(octets)) < 0.1 * (seed % 3), octets / 2, octets)  # lost records
    rests = rested(begin, end)
    assert rests.tolist() == naive_rested(begin, end)
    unit = unit_of(octets, rests, bounds)
    assert unit == naive_unit(octets, rests, bounds)


def test_halves_are_transfers_of_their_own():
    """Whether two like parts belong together does not show."""
    begin, end, octets, bounds = stream((False,) * 6)
    rests = rested(begin, end)
    assert unit_of(np.full(len(octets), WINDOW), rests, bounds) == WINDOW
    some = stream((True, False, True, True))
    assert unit_of(np.full(len(some[2]), WINDOW), rested(*some[:2]), some[3]) == 0.0


def test_of_transfers_of_any_size_there_is_no_unit():
    begin, end, octets, bounds = stream((False,) * 8)
    sizes = octets * np.random.default_rng(3).uniform(0.3, 3, len(octets))
    assert unit_of(sizes, rested(begin, end), bounds) == 0.0
    assert unit_of(octets[:1], np.zeros(1, bool), np.array([[0, 1]])) == 0.0
