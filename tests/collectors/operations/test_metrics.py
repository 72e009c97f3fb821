import socket
import urllib.request

import pytest

from collectors.operations.metrics import PREFIX, Count, Published, flat, keyed, served, sum_tallies


def counts():
    yield Count(PREFIX + "received", "all", {(): 5})
    yield Count(PREFIX + "refused", "why", keyed({"sender not allowed": 2, "too many": 0}), ("reason",))
    yield Count(PREFIX + "inbox", "waits", {(): 0}, level=True)
    yield Count(PREFIX + "from", "who", keyed({"10.0.0.1": 3}), ("exporter",))


def test_counts_are_served_while_the_context_lasts():
    with served("127.0.0.1", 0, counts) as port:
        text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read().decode()
        with pytest.raises(OSError, match="in use") as caught, served("127.0.0.1", port, counts):
            pass
    assert caught.value.filename == f"127.0.0.1:{port}"
    assert "prism_collect_received_total 5.0" in text
    assert 'prism_collect_refused_total{reason="sender not allowed"} 2.0' in text
    assert 'prism_collect_from_total{exporter="10.0.0.1"} 3.0' in text
    assert "prism_collect_inbox 0.0" in text
    assert "# TYPE prism_collect_inbox gauge" in text
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), 10):
        pass


def test_one_line_of_numbers():
    assert flat(counts()) == {"received": 5, "refused_sender_not_allowed": 2, "inbox": 0}


def test_sums_of_tallies():
    assert sum_tallies({"a": 1, "b": 2}, {}, {"b": 3}) == {"a": 1, "b": 5}


def test_what_is_published_is_of_one_moment_until_it_is_refreshed():
    numbers = [0, 0]

    def counts():
        yield Count("a", "", {(): numbers[0]})
        yield Count("b", "", {(): numbers[1]})

    told = Published(counts)
    numbers[:] = 1, 1
    assert [count.values[()] for count in told()] == [0, 0]
    told.refresh(every_s=600)
    assert [count.values[()] for count in told()] == [0, 0]
    told.refresh()
    assert [count.values[()] for count in told()] == [1, 1]
