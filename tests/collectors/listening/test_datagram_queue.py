import threading
import time

from collectors.exports.datagrams import Datagrams
from collectors.listening.datagram_queue import Inbox, Parcel, join_parcels


def parcel(*payloads, kind="ipfix", weight=1, sender="10.0.0.1", when=5):
    return Parcel(kind, weight, Datagrams.of([(sender, payload, when) for payload in payloads]))


def contents(p):
    d = p.datagrams
    return [d.data[o : o + n] for o, n in zip(d.offset.tolist(), d.length.tolist(), strict=True)]


def test_small_parcels_are_joined_in_order():
    parcels = join_parcels([parcel(b"a", b"bb", when=1), parcel(b"", when=2), parcel(b"c", when=3)])
    assert [contents(p) for p in parcels] == [[b"a", b"bb", b"", b"c"]]
    assert parcels[0].datagrams.received_ns.tolist() == [1, 1, 2, 3]
    assert parcels[0].datagrams.sender.tolist() == [0] * 4


def test_what_differs_stays_apart():
    parcels = [parcel(b"a"), parcel(b"b", kind="sflow"), parcel(b"c", weight=2), parcel(b"d", sender="10.0.0.2"), parcel(b"e")]
    assert join_parcels(parcels) == parcels
    assert join_parcels([]) == []


def test_enough_comes_at_once_and_less_after_a_while():
    inbox = Inbox(enough=3)
    assert inbox.take(within=0) == []
    inbox.put(parcel(b"a"))
    began = time.monotonic()
    assert [contents(p) for p in inbox.take(within=0.05)] == [[b"a"]]
    assert time.monotonic() - began >= 0.04
    for payload in (b"a", b"b", b"c", b"d"):
        inbox.put(parcel(payload))
    assert [contents(p) for p in inbox.take(within=600)] == [[b"a", b"b", b"c"]]
    assert inbox.held_datagrams == 1
    inbox.close()
    assert [contents(p) for p in inbox.take(within=600)] == [[b"d"]]
    assert (inbox.held_datagrams, inbox.held_octets) == (0, 0)


def test_a_full_inbox_makes_its_writer_wait():
    inbox = Inbox(octets=1000)
    inbox.put(parcel(bytes(2000)))
    writer = threading.Thread(target=inbox.put, args=(parcel(b"x"),))
    writer.start()
    writer.join(0.05)
    assert writer.is_alive()
    assert len(inbox.take(within=0)[0].datagrams) == 1
    writer.join(10)
    assert not writer.is_alive()
    inbox.put(parcel(bytes(2000)))
    writer = threading.Thread(target=inbox.put, args=(parcel(b"x"),))
    writer.start()
    inbox.close()
    writer.join(10)
    assert not writer.is_alive()
