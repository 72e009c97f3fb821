import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.columns.record import Flows
from prism.loops.detection.late_entry import joined_late

ENDPOINTS = tuple("abcd")


def records(some):
    """Records of 10 ns, from sender, receiver and start."""
    src, dst, start = (np.array([one[k] for one in some], np.int64) for k in range(3))
    columns = {"start_ns": start, "end_ns": start + 10, "src": src, "dst": dst, "octets": np.full(len(some), 4096)}
    return Flows.build(columns, endpoints=ENDPOINTS)


def test_what_goes_on_when_its_receiver_begins():
    sent = [0, 10, 500, 510, 1500, 3000]
    flows = records([(0, 1, at) for at in sent] + [(1, 2, at) for at in (505, 900, 1505, 2900, 2950)])
    every = np.arange(len(flows))
    assert joined_late(flows, [every], 2000).tolist() == [2]  # before 1500 it had spoken at 900: it was there
    assert joined_late(flows, [every[:6], every[6:]], 2000).tolist() == []  # of another collective
    assert joined_late(flows, [every], 900).tolist() == []  # records that last a ninetieth of a step are sums
    assert joined_late(flows, [], 2000).tolist() == []


def test_who_joins_late_is_asked_only_where_nothing_comes_back():
    """1 sends a window to 2, and goes on when 2 begins to send to 3, who sends to 1."""
    ring = [(0, 1, at) for at in (0, 1000, 2000)] + [(1, 2, at) for at in (1000, 1010, 2005)]
    ring += [(2, 0, at) for at in (1005, 1015, 2010)]
    flows = records(ring)
    assert joined_late(flows, [np.arange(9)], 5000).tolist()[0] == 1  # at 2000 it is there, since 1010
    back = records([*ring, (1, 0, 1000)])
    assert 1 not in joined_late(back, [np.arange(10)], 5000)


def naively(flows, streams, period, many, fine):
    """Search pair by pair through all records."""
    out = set()
    for rows in streams:
        pairs = sorted({(int(flows.src[i]), int(flows.dst[i])) for i in rows})
        for src, dst in (pair for pair in pairs if pair[::-1] not in pairs):
            own = sorted((i for i in rows if (flows.src[i], flows.dst[i]) == (src, dst)), key=lambda i: flows.start_ns[i])
            wide = int(np.median([flows.end_ns[i] - flows.start_ns[i] for i in own]))
            said = [int(flows.start_ns[i]) for i in rows if flows.src[i] == dst]
            for k in range(1, len(own) if wide <= fine * period else 0):
                at, done = int(flows.start_ns[own[k]]), max(int(flows.end_ns[i]) for i in own[:k])
                first = min((time for time in said if time >= done), default=None)
                if at - done > many * wide and first is not None and abs(first - at) <= wide:
                    out.add(int(own[k]))
    return sorted(out)


codes = st.integers(0, 3)


@given(
    st.lists(st.tuples(codes, codes, st.integers(0, 120)), max_size=20),
    st.integers(1, 3),
    st.sampled_from((0.5, 2.0)),
)
def test_who_joins_late_is_as_in_the_plain_twin(some, parts, many):
    flows = records(some)
    streams = [np.arange(len(some))[k::parts] for k in range(parts)]
    assert sorted(joined_late(flows, streams, 1000, many=many)) == naively(flows, streams, 1000, many, 0.01)
