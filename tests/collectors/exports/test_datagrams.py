from collectors.exports.datagrams import Datagrams


def test_each_datagram_is_where_it_says():
    batch = Datagrams.of([("10.0.0.1", b"abc", 5), ("10.0.0.2", b"", 6), ("10.0.0.1", b"de", 7)])
    assert len(batch) == 3
    assert [batch.data[o : o + n] for o, n in zip(batch.offset, batch.length, strict=True)] == [b"abc", b"", b"de"]
    assert [batch.senders[i] for i in batch.sender] == ["10.0.0.1", "10.0.0.2", "10.0.0.1"]
    assert batch.received_ns.tolist() == [5, 6, 7]


def test_none_at_all():
    assert len(Datagrams.of([])) == 0
