"""Rings of hosts with several ranks each, of which only the lanes between hosts are seen, while all wait for one rank."""

import numpy as np
import pytest

from prism.kernels.stuck import waits

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
        found = waits(*ring(hosts, ranks, slow, calls=calls, until=300))
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
    found = waits([(start, start + MS, octets), *sent[1:]], ranks, begins)
    assert set(found.edge[found.long > 150 * MS].tolist()) == {1}


def test_where_all_have_sent_as_much_nobody_is_waited_for():
    sent, ranks, begins = ring(4, 2, 0, until=0)
    assert not len(waits(sent, ranks, begins).edge)


def test_few_lanes_say_nothing():
    sent, ranks, begins = ring(4, 2, 0)
    assert not len(waits(sent[:3], ranks[:3], begins).edge)
    assert not len(waits([], np.zeros(0, np.int64), begins).edge)
