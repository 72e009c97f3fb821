"""Rings of hosts with several ranks each, of which only the lanes between hosts are seen, while all wait for one rank."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.intervals import union
from prism.loops.detection.stuck_rings import _apart, _moved, _origins, kept, waits
from tests.prism.traffic import on_end

MS = 1_000_000


def ring(hosts, ranks, slow, *, calls=1, steps=6, part=1000, until=100):
    """What is sent on the lanes from each host to the next, in parts of 1 ms: all at once up to the one that needs `slow`'s.

    The last rank of a host sends to the first of the next. The slow one begins each call at `until` ms, the others at 0.
    """
    n = hosts * ranks
    out = []
    for host in range(hosts):
        behind = ((host + 1) * ranks - 1 - slow) % n  # ranks from the slow one to the one that sends
        start = []
        for step in range(steps):
            for call in range(calls):
                at = (step * calls + call) * 1000
                start += [at + k if k < behind else at + until + k for k in range(2 * (n - 1))]
        start = np.array(start, np.int64) * MS
        out.append((start, start + MS, np.full(len(start), part, np.int64)))
    return out, np.full(hosts, ranks), np.arange(steps, dtype=np.int64) * calls * 1000 * MS - MS


@pytest.mark.parametrize("calls", [1, 4])
@pytest.mark.parametrize(("hosts", "ranks"), [(4, 2), (6, 4), (4, 8)])
def test_who_keeps_the_ring_waiting_is_known_by_what_the_others_have_sent(hosts, ranks, calls):
    for slow in range(ranks, 2 * ranks):
        sent, ranks_of, begins = ring(hosts, ranks, slow, calls=calls, until=300)
        found = waits(on_end(sent), ranks_of, begins)
        long = found.long > 150 * MS
        assert long.sum() == 6 * calls
        assert set(found.edge[long].tolist()) == {1}
        assert set(found.ahead[long].tolist()) == {2 * ranks - 1 - slow}
        assert np.bincount(found.step[long]).tolist() == [calls] * 6


def test_what_waits_for_room_at_the_slow_one_has_sent_less():
    sent, ranks, begins = ring(6, 2, 2, until=300)
    start, _, octets = sent[0]  # leads to the slow one
    first = np.arange(len(start)) % 22 == 0
    start[~first] = np.maximum(start[~first], start[first].repeat(21) + 290 * MS)
    found = waits(on_end([(start, start + MS, octets), *sent[1:]]), ranks, begins)
    assert set(found.edge[found.long > 150 * MS].tolist()) == {1}


def test_where_all_have_sent_as_much_nobody_is_waited_for():
    sent, ranks, begins = ring(4, 2, 0, until=0)
    assert not len(waits(on_end(sent), ranks, begins).edge)


def test_few_lanes_give_no_result():
    sent, ranks, begins = ring(4, 2, 0)
    assert not len(waits(on_end(sent[:3]), ranks[:3], begins).edge)
    assert not len(waits(on_end([]), np.zeros(0, np.int64), begins).edge)


def test_a_wait_may_go_on():
    sent, ranks, begins = ring(6, 2, 5, calls=4)
    until = int(begins[-1]) + 1070 * MS  # the second call of the last step, while all wait
    cut = [(start[start < until], end[start < until], octets[start < until]) for start, end, octets in sent]
    before, now = waits(on_end(cut), ranks, begins), waits(on_end(cut), ranks, begins, now=until)
    assert len(now.edge) == len(before.edge) + 1
    whole = waits(on_end(sent), ranks, begins)
    assert (now.edge[-1], now.step[-1], now.ahead[-1]) == (whole.edge[0], len(begins) - 1, whole.ahead[0])
    assert set(now.ahead) == set(whole.ahead) != {-1}  # by what is sent in steps that are over
    assert now.long[-1] == pytest.approx(60 * MS, abs=10 * MS)
    assert len(waits(on_end(cut), ranks, begins, now=until - 50 * MS).edge) == len(before.edge)  # too short


def seen(ranks, late, *, calls=5, steps=6, part=1000):
    """What each rank of a ring sends in calls a second apart, all lanes seen: `late(step, rank)` ms late in each call.

    Who is behind a late one sends on what it has, as many parts as it is ranks behind; a word from all lets all go on.
    """
    sent = [[] for _ in range(ranks)]
    for step in range(steps):
        for call in range(calls):
            at, by = (step * calls + call) * 1000, [late(step, rank) for rank in range(ranks)]
            for rank, own in enumerate(sent):
                free = next((k for k in range(1, ranks) if by[(rank - k) % ranks]), ranks)  # ranks to a late one before it
                own += [(at + by[rank] if k < free else at + max(by) + 1e-3 * (rank + k)) for k in range(2 * ranks - 2)]
    tables = [np.rint(np.array(sorted(own)) * MS).astype(np.int64) for own in sent]
    begins = np.arange(steps, dtype=np.int64) * calls * 1000 * MS - MS
    return on_end([(t, t + MS // 10, np.full(len(t), part, np.int64)) for t in tables]), begins


def waited(found, ranks, steps=6):
    out = np.zeros((ranks, steps))
    np.add.at(out, (found.edge, found.step), found.long / MS)
    return out


def test_of_a_ring_all_of_which_is_seen_who_sent_least_keeps_it_waiting():
    found = waited(kept(*seen(8, lambda step, rank: 200.0 * (step in (2, 3) and rank == 5))), 8)
    assert found[5] == pytest.approx([0, 0, 1000, 1000, 0, 0], abs=5)
    assert np.delete(found, 5, axis=0).max() < 5


def test_of_two_that_keep_it_waiting_each_has_its_part():
    found = waited(kept(*seen(8, lambda _, rank: {2: 100.0, 6: 300.0}.get(rank, 0.0))), 8)
    assert found[2] == pytest.approx([500] * 6, abs=5)
    assert found[6] == pytest.approx([1000] * 6, abs=5)


def test_who_is_only_the_first_to_begin_kept_nobody_waiting():
    assert not len(kept(*seen(8, lambda _step, _rank: 0.0)).edge)
    assert not len(kept(on_end([]), np.zeros(3, np.int64)).edge)


streams = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(1, 9)), min_size=1, max_size=12)


@given(st.lists(streams, min_size=1, max_size=4), st.lists(st.integers(0, 60), max_size=6), st.integers(0, 6))
def test_what_was_sent_so_far_and_when_all_paused(some, times, least):
    sent = []
    for one in some:
        pause, long, octets = np.array(one, np.int64).T
        sent.append((np.cumsum(pause), np.cumsum(pause) + long, octets.copy()))
    starts, ends, _, cuts = on_end(sent)
    whole, parts = union(starts, ends), union(*_apart(starts, ends, cuts, least - 1))
    pauses = [[(a, b) for a, b in zip(end[:-1], begin[1:], strict=True) if b - a >= least] for begin, end in (whole, parts)]
    assert pauses[0] == pauses[1] or not least  # what touches may be one
    times, begins = np.sort(np.array(times, np.int64)), np.array([0, 20, 40])
    step = np.searchsorted(begins, times, "right") - 1
    moved, after = _moved(on_end(sent), times, begins, step)
    for edge, (start, _, octets) in enumerate(sent):
        assert moved[edge].tolist() == [
            octets[start < t].sum() - octets[start < begins[k]].sum() for t, k in zip(times, step, strict=True)
        ]
        assert after[edge].tolist() == [min(start[start >= t], default=np.iinfo(np.int64).max) for t in times]


@given(st.integers(4, 6), st.data(), st.sampled_from((0.05, 0.5)))
def test_from_where_on_what_was_sent_grows_by_a_part_for_each_rank(n, data, alike):
    drawn = st.lists(st.integers(0, 12), min_size=n, max_size=n)
    so_far = np.array(data.draw(st.lists(drawn, min_size=1, max_size=5)), np.float64).T.copy()
    ranks, most = np.array(data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))), 3.0
    out, part = _origins(so_far, ranks, most, alike)
    for k, moved in enumerate(so_far.T):
        best = (-1, np.inf, 0.0)
        for i in range(n):
            turn = np.roll(np.arange(n), -i)[:-1]
            grown = np.diff(moved[turn]) / ranks[turn[1:]]
            usual = float(np.median(grown))
            if 0 < usual <= (1 + alike) * most and (np.abs(grown - usual) <= alike * usual).all() and moved[i] < best[1]:
                best = i, moved[i], usual
        assert (out[k], part[k]) == (best[0], best[2])
