import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.recorded_exports._ip_fragments import INCOMPLETE, MAX_FRAGMENTS, OVERLAP, OVERSIZED, Fragment, Reassembler

WHOLE = bytes(range(256)) * 12


def pieces(whole=WHOLE, size=512, packet="a"):
    places = range(0, len(whole), size)
    return [Fragment(packet, at, at + size >= len(whole), whole[at : at + size]) for at in places]


def put(*fragments, **bounds):
    room = Reassembler(**bounds)
    found = [room.add(fragment, i) for i, fragment in enumerate(fragments)]
    return room, [whole for whole in found if whole is not None]


@given(st.randoms(use_true_random=False), st.sampled_from([8, 512, 4096]))
def test_in_any_order_and_some_twice(chance, size):
    given_pieces = pieces(WHOLE[:2000], size)
    shuffled = chance.sample([*given_pieces[:-1], *given_pieces], len(given_pieces) * 2 - 1)
    room, found = put(*shuffled)
    assert found[0][0] == WHOLE[:2000]
    room.end()
    assert sum(frames for _, frames in found) + room.lost.total() == len(shuffled)
    assert room.octets == 0


def test_two_packets_at_once():
    one, other = pieces(packet="a"), pieces(WHOLE[::-1], packet="b")
    _, found = put(*(piece for pair in zip(one, other, strict=True) for piece in pair))
    assert found == [(WHOLE, 6), (WHOLE[::-1], 6)]


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        (Fragment("a", 512, False, b"x" * 512), OVERLAP),  # other content in the same place
        (Fragment("a", 520, False, b"x" * 8), OVERLAP),
        (Fragment("a", 0, False, WHOLE[:520]), OVERLAP),
        (Fragment("a", 600, True, b""), OVERLAP),  # the end lies before what came
        (Fragment("a", 65_528, True, bytes(16)), OVERSIZED),  # the ping of death
        (Fragment("a", 1024, False, WHOLE[1024:1536], cut=True), INCOMPLETE),
        (Fragment("a", 1024, False, b""), INCOMPLETE),
    ],
)
def test_bad_fragments_spoil_their_packet(last, reason):
    room, found = put(*pieces()[:2], last, *pieces()[2:])
    room.end()
    assert found == []
    assert room.lost == {reason: 7}
    assert room.octets == 0


def test_what_comes_after_the_end_is_an_overlap():
    room, found = put(pieces()[-1], Fragment("a", 4000, False, b"x" * 8), *pieces()[:-1])
    room.end()
    assert (found, room.lost) == ([], {OVERLAP: 7})


def test_a_flood_is_bounded():
    room, _ = put(*(Fragment(i, 8, False, bytes(1400)) for i in range(5000)), most_packets=100)
    assert (room.pending, room.octets, room.lost) == (100, 140_000, {INCOMPLETE: 4900})
    room, _ = put(*(Fragment(i, 8, False, bytes(1400)) for i in range(5000)), most_octets=14_000)
    assert room.octets <= 14_000
    room, _ = put(*(Fragment("a", 16 * i, False, bytes(8)) for i in range(MAX_FRAGMENTS + 5)))
    room.end()
    assert (room.octets, room.lost) == (0, {OVERSIZED: MAX_FRAGMENTS + 5})


def test_old_fragments_are_given_up():
    room = Reassembler(patience_ns=10)
    one, other = pieces(WHOLE[:1024])
    assert room.add(one, 0) is None
    assert room.add(other, 11) is None
    assert room.lost == {INCOMPLETE: 1}


def test_arbitrary_fragments():
    chance, room = random.Random(5), Reassembler(most_packets=8)
    for i in range(3000):
        size = chance.randrange(40)
        room.add(Fragment(chance.randrange(20), 8 * chance.randrange(9), chance.random() < 0.2, bytes(size)), i)
        assert 0 <= room.octets <= 8 * 400
    room.end()
    assert room.octets == room.pending == 0
