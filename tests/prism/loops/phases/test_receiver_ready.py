import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.group_sums import latest
from prism.loops.phases.receiver_ready import ready
from tests.prism.traffic import MS, T0, Wire


def test_a_sender_that_waits_for_the_receiver_s_word_was_ready_when_it_said_so():
    wire = Wire(tcp=True, jitter_ns=1_100)
    for k in range(8):
        at = T0 + k * 100 * MS
        wire.send(0, 1, 48, at)  # ready to send
        late = 40 * MS * (k % 2)
        wire.send(1, 0, 48, at + late)  # ready to receive
        wire.send(0, 1, 1_000_000, at + late + MS // 50)
    flows = wire.flows()
    rows = np.flatnonzero(~flows.control())
    offered, called = ready(flows, rows)
    assert (called >= 0).all()
    waited = np.arange(8) % 2 == 1
    assert ((offered[waited] - T0) // (100 * MS) == np.arange(8)[waited]).all()
    assert (flows.start_ns[rows][waited] - offered[waited] > 39 * MS).all()
    assert (offered[~waited] < 0).all()


def test_nobody_says_anything_over_rdma():
    wire = Wire()
    for k in range(4):
        wire.send(0, 1, 1_000_000, T0 + k * MS)
    offered, called = ready(wire.flows(), np.arange(4))
    assert offered.tolist() == called.tolist() == []


KEYED = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30)), max_size=20)


@given(KEYED, KEYED)
def test_the_latest_is_the_latest(known, asked):
    keys, times = (np.array([k[i] for k in known], np.int64) for i in range(2))
    of, by = (np.array([k[i] for k in asked], np.int64) for i in range(2))
    expected = [max((t for k, t in known if k == key and t <= limit), default=-1) for key, limit in asked]
    assert latest(keys, times, of, by).tolist() == expected
