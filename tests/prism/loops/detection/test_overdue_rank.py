import numpy as np
import pytest

from collectors.columns.record import TCP, UDP, Flows
from prism.loops.detection.overdue_rank import overdue
from prism.loops.detection.unfinished_transfers import by_lane

MS = 1_000_000
STEP = 100 * MS
Sent = tuple[int, int, int, int]  # when, ms; from; to; octets


def _flows(events: list[Sent], protocol: int = UDP) -> Flows:
    """Records of 1 ms each."""
    events = sorted(events)
    when, src, dst, octets = (np.array(column, np.int64) for column in zip(*events, strict=True))
    columns = {
        "start_ns": when * MS, "end_ns": when * MS + np.where(octets > 256, MS, 0), "src": src, "dst": dst, "octets": octets,
        "messages": when * 0 + 1, "protocol": when * 0 + protocol,
    }  # fmt: skip
    names = tuple(f"10.0.0.{i}" for i in range(4))
    return Flows.build(columns, endpoints=names, exporters=("leaf",), paths=((),))


def _overdue(flows: Flows, like):
    """What the fifth of some steps, like the others, left undone."""
    ranks = np.arange(4)
    return overdue(flows, by_lane(flows, ranks), ranks, like, np.full(4, 4 * STEP - 1), 5 * STEP)


def _cut(events: list[Sent], step: list[Sent], done: int, protocol: int = UDP):
    """What four steps of `step` say of a fifth of which the first `done` events happened; `events` come on top."""
    every = [(100 * k + at, *rest) for k in range(4) for at, *rest in step]
    every += [(400 + at, *rest) for at, *rest in step[:done]] + events
    like = np.array([[[k * STEP - 1, (k + 1) * STEP - 1] for k in range(4)]] * 4)
    return _overdue(_flows(every, protocol), like)


RELAY = [(10, 0, 1, 10**6), (30, 1, 2, 10**6), (50, 2, 3, 10**6), (70, 3, 2, 10**6), (80, 2, 1, 10**6), (90, 1, 0, 10**6)]


@pytest.mark.parametrize("done", range(1, 6))
def test_whoever_sends_next_is_due(done):
    cut = _cut([], RELAY, done)
    assert np.flatnonzero(cut.votes).tolist() == [RELAY[done][1]]
    assert cut.votes.max() == pytest.approx(1.0)
    assert cut.moved == pytest.approx(done / 6)
    assert np.flatnonzero(cut.begun).tolist() == sorted({src for _, src, *_ in RELAY[:done]})


@pytest.mark.parametrize(("octets", "begun"), [(8_000, False), (60_000, True)])
def test_a_step_of_one_record_is_begun_with_a_part_of_it(octets, begun):
    """TCP may be so busy that all of a step is one record, of which little had gone when a rank hung."""
    ring = [(10, 0, 1, 10**6), (11, 1, 2, 10**6), (12, 2, 3, 10**6), (13, 3, 0, 10**6)]
    cut = _cut([(410, 0, 1, octets)], ring, 0, TCP)
    assert cut.begun.any() == begun


def test_of_a_whole_step_nobody_is_due():
    cut = _cut([], RELAY, 6)
    assert cut.votes.sum() == 0
    assert cut.moved == pytest.approx(1.0)


def test_before_a_step_nobody_has_begun():
    cut = _cut([], RELAY, 0)
    assert not cut.begun.any()


def test_a_transfer_that_stands_waits_for_its_receiver():
    step = [(10, 0, 1, 10**6), (30, 1, 2, 10**6), (31, 1, 2, 10**6), (32, 1, 2, 10**6), (60, 2, 3, 10**6), (80, 3, 0, 10**6)]
    assert np.argmax(_cut([], step, 3).votes) == 2  # stopped in the middle of it
    assert np.argmax(_cut([], step, 1).votes) == 1  # never began it


def test_a_receiver_that_did_not_say_it_is_ready():
    step = [(5, 1, 0, 48), (10, 0, 1, 10**6), (25, 2, 1, 48), (30, 1, 2, 10**6), (60, 2, 3, 10**6), (80, 3, 0, 10**6)]
    asked = [(425, 2, 1, 48)]
    assert np.argmax(_cut(asked, step, 2, TCP).votes) == 1
    assert np.argmax(_cut([], step, 2, TCP).votes) == 2


def _turns(step: int) -> tuple[list[Sent], list[Sent]]:
    """A step in which three ranks exchange twice, other amounts in each step, in messages a little apart: each time's."""
    rng = np.random.default_rng(step)
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    return tuple(
        [(begin + rng.integers(5) + 4 * i, a, b, 10**6) for a, b in pairs for i in range(rng.integers(1, 4))]
        for begin in (10, 60)
    )


def test_of_messages_of_any_number_runs_are_counted():
    """Nobody waits for anybody but for the rank that did not come to the second exchange, in whichever step most was said."""
    every = [(100 * k + at, *rest) for k in range(4) for turn in _turns(k) for at, *rest in turn]
    first, second = _turns(4)
    every += [(400 + at, *rest) for at, *rest in [*first, *(one for one in second if 1 not in one[1:3])]]
    like = np.array([[[k * STEP - 1, (k + 1) * STEP - 1] for k in range(4)]] * 4)
    cut = _overdue(_flows(every), like)
    assert cut.votes.tolist() == [0, 1, 0, 0]


def test_what_came_after_something_else_in_all_steps_may_wait_for_it():
    """0 and 1 send in any order, 2 only after both."""
    starts = [(10, 20), (20, 10), (10, 20), (20, 10)]
    every = [
        (100 * k + at, *rest)
        for k, (a, b) in enumerate(starts)
        for at, *rest in [(a, 0, 3, 10**6), (b, 1, 3, 10**6), (30, 2, 3, 10**6)]
    ]
    like = np.array([[[k * STEP - 1, (k + 1) * STEP - 1] for k in range(4)]] * 4)
    cut = _overdue(_flows(every), like)
    assert cut.first == ((0, 3), (1, 3))


@pytest.mark.parametrize("hung", [0, 1])
def test_of_two_that_exchange_who_said_nothing_is_not_there(hung):
    """Both say that they are ready; who does so last sends first, so that the order tells nothing."""
    every: list[Sent] = []
    for k in range(5):
        for turn, begin in enumerate((10, 30, 50, 70)):
            last = (k + turn) % 2
            words = [(100 * k + begin + i, 1 - last, last, 48) for i in range(1 + (k + turn) % 3)]
            words += [(100 * k + begin + 4, last, 1 - last, 48)]
            sent = [(100 * k + begin + 5, last, 1 - last, 10**6), (100 * k + begin + 6, 1 - last, last, 10**6)]
            if k < 4 or turn < 2:
                every += words + sent
    every += [(450, 1 - hung, hung, 48)]
    like = np.array([[[k * STEP - 1, (k + 1) * STEP - 1] for k in range(4)]] * 4)
    assert np.flatnonzero(_overdue(_flows(every, TCP), like).votes).tolist() == [hung]


@pytest.mark.parametrize("hung", range(4))
def test_who_alone_has_said_nothing_is_not_there(hung):
    """In a ring, where each says that it is ready, once or more often, and who is first sends first."""
    rng = np.random.default_rng(hung)
    every: list[Sent] = []
    for k in range(5):
        words = [(100 * k + 60 + int(rng.integers(3)), r, (r - 1) % 4, 48) for r in range(4) for _ in range(rng.integers(1, 4))]
        sent = [(100 * k + 70 + int(at), r, (r + 1) % 4, 10**6) for r, at in enumerate(rng.permutation(4) * 3)]
        every += [one for one in words + sent if k < 4 or (one[1] != hung and one[3] == 48)]
    every += [(410, r, (r + 1) % 4, 10**5) for r in range(4)]
    like = np.array([[[k * STEP - 1, (k + 1) * STEP - 1] for k in range(4)]] * 4)
    assert np.flatnonzero(_overdue(_flows(every, TCP), like).votes).tolist() == [hung]


def _ring(hung: int) -> list[Sent]:
    """A ring of four ranks that all begin together, round by round; the last events are those that rank `hung` is in."""
    first = [(10, r, (r + 1) % 4, 10**6) for r in range(4)]
    return [one for one in first if hung not in one[1:3]] + [one for one in first if hung in one[1:3]]


@pytest.mark.parametrize("hung", range(4))
def test_a_rank_that_neither_sent_nor_received_its_first_round_hung(hung):
    cut = _cut([], _ring(hung), 2, TCP)
    assert np.flatnonzero(cut.votes).tolist() == [hung]
    assert cut.likely.tolist() == cut.votes.tolist()
    assert len(cut.first) == 2


def test_of_equal_lanes_those_that_moved_some_had_a_predecessor():
    """Ranks 0 and 1 sent a first round; the second is due at the same time as the first one of ranks 2 and 3."""
    ring = [
        (10, 0, 1, 10**6),
        (10, 3, 0, 10**6),
        (20, 1, 2, 2 * 10**6),
        (20, 2, 3, 2 * 10**6),
        (20, 0, 1, 10**6),
        (20, 3, 0, 10**6),
    ]
    cut = _cut([], ring, 2, TCP)
    assert sorted(cut.first) == [(1, 2), (2, 3)]
    assert np.flatnonzero(cut.votes).tolist() == [2]


def test_whether_the_receiver_was_ready_is_unknown_without_a_sign_of_it():
    cut = _cut([], RELAY, 2, TCP)
    assert cut.votes.tolist() == pytest.approx([0, 0, 1, 0])
    assert cut.likely.tolist() == pytest.approx([0, 0, 0.8, 0.2])
