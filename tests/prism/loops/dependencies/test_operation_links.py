"""Test predecessors against dictionaries of all actions by rank; collectives and messages against plain loops."""

from bisect import bisect_left
from collections import defaultdict
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.intervals import weighted_median
from prism.loops.dependencies.operation_links import DONE, JOINED, MOVE, WORK, Events, gathered, linked, messages, transfers

KINDS = (np.int64, np.int8, np.int32, np.int32, np.int32, np.int32, np.int64)
RANKS, PIPE = 4, np.array([True, True, False, False])
handed = st.tuples(*(st.integers(0, n) for n in (1, 3, 3, 40, 9)), st.integers(-1, 50), st.integers(-1, 50))
groups = st.tuples(st.integers(2, 3), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 9)), min_size=1))
words = st.lists(st.integers(0, 40), min_size=400, max_size=400)


def points(some, many):
    """Events of transfers and collectives in order of time."""
    out = []
    for mark, (op, src, dst, at, took, need, rest) in enumerate(some):
        end = at + 1 + took
        out += [(at, WORK, src, op, mark, dst, need), (end, MOVE, src, op, mark, dst, min(rest, end))]
    for mark, (op, members) in enumerate(many, len(some)):
        own = {rank: (at, took) for rank, at, took in members}
        last = max(at for at, _ in own.values())
        out += [(at, WORK, rank, op, mark, (rank + 1) % RANKS, -1) for rank, (at, _) in own.items()]
        out += [(last + 1, JOINED, -1, op, mark, -1, -1)]
        out += [(last + 1 + took, DONE, rank, op, mark, -1, -1) for rank, (_, took) in own.items()]
    out.sort(key=lambda e: (e[0], e[1] == WORK, e[1]))
    columns = zip(*out, strict=True) if out else [[]] * 7
    return Events(*(np.array(column, kind) for column, kind in zip(columns, KINDS, strict=True)))


class Known:
    """Actions and receives of each rank so far."""

    def __init__(self, time):
        self.time = time
        self.latest = defaultdict(dict)
        self.acted, self.came = defaultdict(list), defaultdict(list)

    def before(self, rank, need):
        """Predecessors of a send of a rank."""
        latest = self.latest[rank]
        if need < 0:
            return list(latest.values())
        out = [point for op, point in latest.items() if op < 0 or not PIPE[op]]
        for op in (op for op in latest if op >= 0 and PIPE[op]):
            came = self.came[rank, op]
            at = bisect_left([end for end, _, _ in came], need)
            at -= at == len(came) or came[at][1] > need
            out += [came[at][2]] if at >= 0 else []
        return out

    def resumed(self, rank, need, since, prompt):
        """Event after which the rest of a message was sent; -1 if it did not wait."""
        at = bisect_left([self.time[p] for p in self.acted[rank]], need) - 1
        other = self.acted[rank][at] if need >= 0 and at >= 0 else -1
        return other if other >= 0 and need - self.time[other] <= prompt * (need - since) else -1


def naively(events, heard, soon, prompt=0.1):
    """Return predecessors, the outer event, and whether each is shaded."""
    time, known = events.time.tolist(), Known(events.time.tolist())
    begun, joined, sent = defaultdict(list), {}, {}
    for i, (at, kind, rank, op, mark, peer, need) in enumerate(zip(*(c.tolist() for c in events), strict=True)):
        before, other, dark = [], -1, False
        if kind == WORK:
            before = known.before(rank, need)
            base = max((time[p] for p in before), default=at)
            queue = sent.get(op, -1) if PIPE[op] else -1
            if heard[i] > base and at - heard[i] <= min(soon[rank], prompt * (at - base)):
                dark = True
                if PIPE[op]:
                    other = max(known.latest[peer].values(), key=lambda p: time[p] if time[p] <= heard[i] else -1, default=-1)
            elif queue >= 0 and time[queue] > base and at - time[queue] <= prompt * (at - base):
                dark, other = True, queue
            begun[mark].append(i)
            known.latest[rank][-1] = i
        elif kind == JOINED:
            before, joined[mark] = list(begun[mark]), i
        elif kind == DONE:
            before = [joined[mark]]
            known.latest[rank][op] = i
        else:
            before, sent[op] = list(begun[mark]), i
            other = known.resumed(peer, need, time[before[0]], prompt)
            dark = other >= 0
            known.latest[peer][op] = i
            known.came[peer, op].append((at, time[before[0]], i))
        if kind != JOINED:
            known.acted[peer if kind == MOVE else rank].append(i)
        yield before, other, max((time[p] for p in before), default=at), dark


@given(st.lists(handed, max_size=12), st.lists(groups, max_size=6), words, st.sampled_from((0.0, 3.0, 50.0)))
def test_points_follow_what_ranks_had_done_and_were_given(some, many, word, soon):
    events = points(some, many)
    n = len(events.time)
    heard = np.where(events.kind == WORK, np.minimum(np.resize(np.array(word), n), events.time), 0)
    found = linked(events, PIPE, heard, np.full(RANKS, soon), prompt=0.5)
    expected = list(naively(events, heard.tolist(), [soon] * RANKS, 0.5))
    told = [sorted(found.before[found.begins[i] : found.begins[i + 1]].tolist()) for i in range(n)]
    assert told == [sorted(before) for before, _, _, _ in expected]
    columns = (found.outer.tolist(), found.base.tolist(), found.shaded.tolist())
    assert list(zip(*columns, strict=True)) == [tuple(rest) for _, *rest in expected]


records = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 9), st.integers(0, 9), st.booleans())


@given(st.lists(records, min_size=1, max_size=30))
def test_who_joins_a_collective_when_and_is_done_when(some):
    some = sorted(some, key=lambda one: one[2])
    src, dst, begin, length = (np.array([one[i] for one in some], np.int64) for i in range(4))
    cuts = [0, *(i for i in range(1, len(some)) if some[i][4]), len(some)]
    expected = []
    for mark, (low, high) in enumerate(pairwise(cuts)):
        join, done = {}, {}
        for one, other, at, long, _ in some[low:high]:
            join.setdefault(one, (at, other))
            for code in (one, other):
                done[code] = max(done.get(code, 0), at + long)
        last = max(at for at, _ in join.values())
        expected += [(at, WORK, one, mark, other) for one, (at, other) in join.items()]
        expected += [(last + 1, JOINED, -1, mark, -1)]
        expected += [(max(at, last + 1), DONE, one, mark, -1) for one, at in done.items()]
    found = gathered(src.astype(np.int32), dst.astype(np.int32), begin, begin + length, np.array(cuts), 4)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected


@given(st.lists(st.integers(1, 9), max_size=30))
def test_parts_are_joined_to_messages_as_large_as_the_largest(octets):
    expected = []
    for i, size in enumerate(octets):
        if expected and sum(octets[expected[-1][0] : i]) + size <= max(octets):
            expected[-1] = (expected[-1][0], i)
        else:
            expected.append((i, i))
    first, last = messages(np.array(octets, np.int64), 0.0)
    assert list(zip(first.tolist(), last.tolist(), strict=True)) == expected


parts = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=15)


@given(st.lists(st.tuples(parts, st.booleans()), max_size=4))
def test_transfers_are_parts_or_messages(some):
    expected, offset = [], 0
    for number, (own, worded) in enumerate(some):
        begin, length, octets = (np.array(column, np.int64) for column in zip(*sorted(own), strict=True))
        end, close = begin + length, weighted_median(length, octets) / 4
        cuts = [0, *(i for i in range(1, len(own)) if begin[i] - end[:i].max() > close), len(own)]
        first, last = messages(np.add.reduceat(octets, cuts[:-1]), 0.0)
        whole = [(k, k) for k in range(len(cuts) - 1)] if worded else zip(first, last, strict=True)
        for a, b in whole:
            resumed = begin[cuts[b]] if b > a else -1
            expected.append((number, offset + cuts[a], end[cuts[a] : cuts[b + 1]].max(), resumed))
        offset += len(own)
    rows = [row for own, _ in some for row in sorted(own)]
    begin, length, octets = (np.array([row[i] for row in rows], np.int64) for i in range(3))
    bounds = np.cumsum([0, *(len(own) for own, _ in some)])
    worded = np.array([worded for _, worded in some], np.bool_)
    found = transfers(begin, begin + length, octets, bounds[:-1], bounds[1:], worded, 0.0)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected
