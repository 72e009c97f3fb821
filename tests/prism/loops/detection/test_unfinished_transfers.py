import numpy as np
import pytest

from collectors.columns.record import TCP, UDP, Flows
from prism.loops.detection.unfinished_transfers import by_lane, mid_transfer, streams_of

MS = 1_000_000
WINDOW, REST = 4_000_000, 12_000_000
Sent = tuple[int, int, int, int]  # when, ms; from; to; octets


def streams(step: list[Sent], done: list[Sent], protocol: int = UDP):
    """What four steps of 100 ms say of a fifth of which only `done` happened; records of payload take 1 ms."""
    events = sorted([(100 * k + at, *rest) for k in range(4) for at, *rest in step] + [(400 + at, *rest) for at, *rest in done])
    when, src, dst, octets = (np.array(column, np.int64) for column in zip(*events, strict=True))
    columns = {
        "start_ns": when * MS, "end_ns": when * MS + np.where(octets > 256, MS, 0), "src": src, "dst": dst, "octets": octets,
        "messages": when * 0 + 1, "protocol": when * 0 + protocol,
    }  # fmt: skip
    flows = Flows.build(columns, endpoints=("10.0.0.0", "10.0.0.1"), exporters=("leaf",), paths=((),))
    like = np.array([[[100 * k * MS - 1, 100 * (k + 1) * MS - 1] for k in range(4)]] * 2)
    every = streams_of(flows, by_lane(flows, np.arange(2)), np.arange(2), like, np.full(2, 400 * MS - 1), 500 * MS, 0.005)
    (one,) = [s for s in every if (s.src, s.control) == (0, False)]
    return one


TWICE = [(10, 0, 1, WINDOW), (11, 0, 1, REST), (50, 0, 1, WINDOW), (70, 0, 1, REST)]  # the second time 1 is not ready yet


@pytest.mark.parametrize(
    ("done", "stands", "due", "did"), [(0, False, 10, -np.inf), (2, False, 50, 10), (3, True, 70, 50), (4, False, np.inf, 50)]
)
def test_what_is_left_of_a_transfer_is_not_begun_anew(done, stands, due, did):
    one = streams(TWICE, TWICE[:done])
    assert one.unit == WINDOW + REST
    assert mid_transfer(one, 0) == stands
    assert one.due == pytest.approx(np.full(4, due * MS), abs=2)
    assert one.did == pytest.approx(np.full(4, did * MS), abs=2)
    assert one.waits


WORDS = [(9, 1, 0, 48), (10, 0, 1, 10**6), (30, 1, 0, 48), (50, 0, 1, 10**6), (69, 1, 0, 48), (70, 0, 1, 10**6)]


@pytest.mark.parametrize(("done", "did"), [(2, -np.inf), (4, 50), (6, 50)])
def test_what_goes_at_once_when_the_receiver_is_ready_says_nothing_of_the_sender(done, did):
    one = streams(WORDS, WORDS[:done], TCP)
    assert one.did == pytest.approx(np.full(4, did * MS), abs=2)
    assert not one.waits


def test_a_step_whose_border_falls_into_a_transfer_begins_before_it():
    late = [(99, 0, 1, WINDOW), (102, 0, 1, REST), (150, 0, 1, WINDOW), (151, 0, 1, REST)]
    one = streams(late, [])
    assert one.bounds[1:, 0].tolist() == [0, 4, 8]
