from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.kernels.edges import edge_from
from prism.kernels.transfers import NEAR, SHARE, borders, continued, is_unit, joined_late, rested, unit_of, woken

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


def naive_continued(octets, rests, bounds, unit):
    out = [False] * len(octets)
    for a, b in bounds.tolist():
        for i in range(a, b):
            out[i] = bool(rests[i]) and SHARE < octets[a:i].sum() / unit % 1.0 < 1 - SHARE
    return out


@pytest.mark.parametrize("seed", range(20))
def test_as_the_plain_way_says(seed):
    rng = np.random.default_rng(seed)
    begin, end, octets, bounds = stream(rng.random(12) < rng.random(), seed=seed)
    octets = np.where(rng.random(len(octets)) < 0.1 * (seed % 3), octets / 2, octets)  # lost records
    rests = rested(begin, end)
    assert rests.tolist() == naive_rested(begin, end)
    unit = unit_of(octets, rests, bounds)
    assert unit == naive_unit(octets, rests, bounds)
    if unit:
        assert continued(octets, rests, bounds, unit).tolist() == naive_continued(octets, rests, bounds, unit)


@pytest.mark.parametrize("ready", [(True, True, True, True), (True, False, True, False), (False, False, False, True)])
def test_what_goes_on_is_the_rest_of_a_transfer(ready):
    begin, end, octets, bounds = stream(ready)
    rests = rested(begin, end)
    assert unit_of(octets, rests, bounds) == UNIT
    on = continued(octets, rests, bounds, UNIT)
    assert octets[on].tolist() == [REST] * (4 * ready.count(False))


def test_where_all_are_parted_others_tell_the_unit():
    begin, end, octets, bounds = stream((False,) * 6)
    rests = rested(begin, end)
    assert unit_of(octets, rests, bounds) == 0.0
    assert [is_unit(octets, bounds, unit) for unit in (UNIT, 2 * UNIT, 6 * UNIT, WINDOW, REST)] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert octets[continued(octets, rests, bounds, UNIT)].tolist() == [REST] * 24


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


def test_a_step_begins_at_the_rest_beside_its_border():
    begin = np.array([0, 10, 20, 500, 510, 520, 1000, 1010])
    end = begin + 5
    assert borders(begin, end, np.array([-1, 495, 505, 995]), 2000, 50.0).tolist() == [0, 3, 3, 6]
    assert borders(begin, end, np.array([505]), 400, 50.0).tolist() == [4]  # that rest was not over
    assert borders(begin, end, np.array([505]), 2000, 0.0).tolist() == [4]


def test_what_goes_on_when_its_receiver_begins():
    begin = np.array([0, 10, 500, 510, 1500, 3000], np.int64)
    edge = edge_from((1, 2), np.arange(10, 16), begin, begin + 10, np.full(6, WINDOW))
    said = np.array([505, 900, 1505, 2900, 2950], np.int64)  # before 1500 it had spoken at 900: it was there
    assert woken(edge, said, 2000).tolist() == [12]
    assert woken(edge, said[:0], 2000).tolist() == []
    assert woken(edge, said + 20, 2000).tolist() == []
    assert woken(edge, said, 900).tolist() == []  # records that last a ninetieth of a step are sums


def naively_at_border(begin, end, time, until, reach):
    """The first record after a time, or the one after the longest rest near it, if that is twice as long."""
    n = len(begin)
    rest = [reach if i in (0, n) else min(begin[i] - end[:i].max(), reach) for i in range(n + 1)]
    at = out = sum(begin <= time)
    for i in range(sum(begin < time - int(reach)), sum(begin <= min(time + int(reach), until))):
        out = i if rest[i] > max(2 * rest[at], rest[out]) else out
    return out


times = st.lists(st.integers(0, 60), min_size=1, max_size=10).map(sorted)


@given(
    times, st.lists(st.integers(1, 9), min_size=10, max_size=10), st.lists(st.integers(0, 70), min_size=1, max_size=4), times
)
def test_loops_over_records_do_what_they_say(at, lengths, borders_at, said):
    begin, words = np.array(at, np.int64), np.array(said, np.int64)
    end = begin + np.array(lengths[: len(begin)], np.int64)
    found = borders(begin, end, np.array(borders_at), 30, 8.0).tolist()
    untils = [30, *[1000] * (len(borders_at) - 1)]
    assert found == [naively_at_border(begin, end, *one, 8.0) for one in zip(borders_at, untils, strict=True)]
    wide, rows = int(np.median(end - begin)), range(1, len(begin))
    first = {i: next((word for word in said if word >= end[:i].max()), 1000) for i in rows}
    on = [i for i in rows if begin[i] - end[:i].max() > 2 * wide and abs(first[i] - begin[i]) <= wide]
    edge = edge_from((1, 2), np.arange(len(begin)), begin, end, np.full(len(begin), WINDOW))
    assert woken(edge, words, 1000, many=2.0).tolist() == on


def test_who_joins_late_is_asked_only_where_nothing_comes_back():
    """1 sends a window to 2, and goes on when 2 begins to send to 3, who sends to 1."""
    begin = {(1, 2): [0, 1000, 2000], (2, 3): [1000, 1010, 2005], (3, 1): [1005, 1015, 2010]}
    edges = {
        key: edge_from(key, 3 * i + np.arange(3), np.array(at, np.int64), np.array(at, np.int64) + 10, np.full(3, WINDOW))
        for i, (key, at) in enumerate(begin.items())
    }
    assert next(joined_late(edges, 5000)).tolist() == [1]  # at 2000 it is there, since 1010
    back = edges | {(2, 1): edges[2, 3]}
    assert len(list(joined_late(edges, 5000))) == 3
    assert len(list(joined_late(back, 5000))) == 2
