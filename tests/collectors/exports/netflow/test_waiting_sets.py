from hypothesis import given
from hypothesis import strategies as st

from collectors.exports.netflow.waiting_sets import OVERHEAD, Ticket, WaitingRoom, WaitingSet


def waiter(exporter="a", key=1, octets=b"x" * 100, when=0):
    return WaitingSet(exporter, key, octets, 0, 0, when, Ticket(1))


def test_sets_wait_for_their_template_alone():
    room = WaitingRoom()
    for exporter, key in (("a", 1), ("a", 2), ("b", 1), ("a", 1)):
        assert room.put(waiter(exporter, key)) == []
    assert [(w.exporter, w.key) for w in room.take("a", 1)] == [("a", 1)] * 2
    assert room.take("a", 1) == room.take("c", 1) == []
    assert (len(room), room.octets) == (2, 2 * (100 + OVERHEAD))
    assert [w.exporter for w in room.forget("b")] == ["b"]
    assert room.forget("b") == []


def test_they_wait_for_so_long():
    room = WaitingRoom(most_ns=10)
    for when in (1, 2, 5):
        room.put(waiter(when=when))
    assert [w.received_ns for w in room.expire(12)] == [1]
    assert [w.received_ns for w in room.expire(100)] == [2, 5]
    assert (len(room), room.octets) == (0, 0)


def test_who_has_most_gives_way():
    room = WaitingRoom(most_octets=20_000, most_each=15_000)
    gone = [w.exporter for i in range(40) for w in room.put(waiter("greedy", i))]
    assert set(gone) == {"greedy"}
    gone = [w.exporter for i in range(5) for w in room.put(waiter(f"modest {i}"))]
    assert "modest 0" not in gone
    assert room.octets <= 20_000


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.integers(0, 3))))
def test_nothing_is_lost_and_octets_are_right(steps):
    room = WaitingRoom(most_octets=3000, most_each=2000)
    put = out = 0
    for exporter, key, what in steps:
        if what < 3:
            put += 1
            out += len(room.put(waiter(exporter, key, bytes(what * 50))))
        else:
            out += len(room.take(exporter, key))
        assert put == out + len(room)
        assert 0 <= room.octets <= 3000
    assert (room.octets == 0) == (len(room) == 0)
