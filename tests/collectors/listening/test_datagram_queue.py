import threading
import time

from collectors.exports.datagrams import Datagrams
from collectors.listening.datagram_queue import DatagramBatch, DatagramQueue, join_batches


def batch(*payloads, kind="ipfix", weight=1, sender="10.0.0.1", when=5):
    return DatagramBatch(kind, weight, Datagrams.of([(sender, payload, when) for payload in payloads]))


def contents(p):
    d = p.datagrams
    return [d.data[o : o + n] for o, n in zip(d.offset.tolist(), d.length.tolist(), strict=True)]


def test_small_batches_are_joined_in_order():
    batches = join_batches([batch(b"a", b"bb", when=1), batch(b"", when=2), batch(b"c", when=3)])
    assert [contents(p) for p in batches] == [[b"a", b"bb", b"", b"c"]]
    assert batches[0].datagrams.received_ns.tolist() == [1, 1, 2, 3]
    assert batches[0].datagrams.sender.tolist() == [0] * 4


def test_what_differs_stays_apart():
    batches = [batch(b"a"), batch(b"b", kind="sflow"), batch(b"c", weight=2), batch(b"d", sender="10.0.0.2"), batch(b"e")]
    assert join_batches(batches) == batches
    assert join_batches([]) == []


def test_enough_comes_at_once_and_less_after_a_while():
    inbox = DatagramQueue(enough=3)
    assert inbox.take(within=0) == []
    inbox.put(batch(b"a"))
    began = time.monotonic()
    assert [contents(p) for p in inbox.take(within=0.05)] == [[b"a"]]
    assert time.monotonic() - began >= 0.04
    for payload in (b"a", b"b", b"c", b"d"):
        inbox.put(batch(payload))
    assert [contents(p) for p in inbox.take(within=600)] == [[b"a", b"b", b"c"]]
    assert inbox.held_datagrams == 1
    inbox.close()
    assert [contents(p) for p in inbox.take(within=600)] == [[b"d"]]
    assert (inbox.held_datagrams, inbox.held_octets) == (0, 0)


def test_a_full_inbox_makes_its_writer_wait():
    inbox = DatagramQueue(octets=1000)
    inbox.put(batch(bytes(2000)))
    writer = threading.Thread(target=inbox.put, args=(batch(b"x"),))
    writer.start()
    writer.join(0.05)
    assert writer.is_alive()
    assert len(inbox.take(within=0)[0].datagrams) == 1
    writer.join(10)
    assert not writer.is_alive()
    inbox.put(batch(bytes(2000)))
    writer = threading.Thread(target=inbox.put, args=(batch(b"x"),))
    writer.start()
    inbox.close()
    writer.join(10)
    assert not writer.is_alive()
