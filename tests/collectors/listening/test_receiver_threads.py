import os
import struct

import pytest

from collectors.exports.admission import LIMITED, Admission, parse_networks
from collectors.listening import receiver_threads as module
from collectors.listening.datagram_queue import DatagramQueue
from collectors.listening.receiver_threads import Intake, has_templates
from collectors.listening.udp_sockets import Endpoint, open_socket
from tests.collectors.builders.toys import send, until


@pytest.fixture
def started():
    """Makes intakes on sockets of their own, and ends them."""
    made = []

    def make(*kinds, admission=None, buffer=1 << 20, **knobs):
        sockets = [(kind, open_socket(Endpoint(kind, "127.0.0.1", 0), buffer=buffer)[0]) for kind in kinds]
        inbox = DatagramQueue()
        made.append(Intake(sockets, admission or Admission(), inbox, **knobs))
        return made[-1], inbox, [sock.getsockname()[1] for _, sock in sockets]

    yield make
    for intake in made:
        intake.stop()
        intake.inbox.close()
        intake.join()
        intake.close()


def taken(inbox, count):
    """So many (kind, weight, payload, sender) from the inbox."""
    rows = []

    def enough():
        for kind, weight, d, done in inbox.take(within=0.05):
            for at, n, who in zip(d.offset.tolist(), d.length.tolist(), d.sender.tolist(), strict=True):
                rows.append((kind, weight, bytes(d.data[at : at + n]), d.senders[who]))
            if done:
                done()
        return len(rows) >= count

    until(enough)
    return rows


def test_datagrams_of_several_sockets_come_with_their_kind_and_sender(started):
    intake, inbox, (one, two) = started("sflow", "ipfix")
    intake.start()
    payloads = [bytes([i]) * i for i in range(200)]
    send(one, payloads, sender="127.0.0.1")
    send(two, payloads, sender="127.0.0.2")
    rows = taken(inbox, 400)
    for kind, sender in (("sflow", "127.0.0.1"), ("ipfix", "127.0.0.2")):
        assert [row[2] for row in rows if row[0] == kind] == payloads
        assert {row[1:2] + row[3:] for row in rows if row[0] == kind} == {(1, sender)}


@pytest.mark.parametrize("size", [100, 3000])
def test_many_at_once_are_whole_and_in_order_whether_copied_or_not(started, monkeypatch, size):
    monkeypatch.setattr(module, "Receiver", lambda sock: module_receiver(sock, slots=64, blocks=3))
    intake, inbox, (port,) = started("ipfix", buffer=8 << 20)
    payloads = [struct.pack(">I", i) * (size // 4) for i in range(1000)]
    send(port, payloads)  # they wait in the kernel
    intake.start()
    assert [row[2] for row in taken(inbox, 1000)] == payloads


module_receiver = module.Receiver


def test_what_is_in_the_kernel_at_the_end_is_still_read(started):
    intake, inbox, (port,) = started("ipfix")
    send(port, [b"a"] * 300)
    intake.start()
    intake.stop()
    intake.join()
    assert len(taken(inbox, 300)) == 300
    assert not intake.is_alive()


def test_only_who_is_allowed(started):
    admission = Admission(allowed=parse_networks(["127.0.0.2"]))
    intake, inbox, (port,) = started("ipfix", admission=admission)
    intake.start()
    send(port, [b"no"] * 10, sender="127.0.0.1")
    send(port, [b"yes"] * 10, sender="127.0.0.2")
    assert [row[2] for row in taken(inbox, 10)] == [b"yes"] * 10
    assert sum(admission.refused.values()) == 10
    assert admission.received_in_all == 20


def test_what_is_kept_of_a_limited_exporter_stands_for_the_rest_and_templates_stay(started):
    admission = Admission(rate=50)
    intake, inbox, (port,) = started("ipfix", admission=admission)
    template, data = bytes.fromhex("000a0010") + bytes(12) + b"\0\2", bytes.fromhex("000a0010") + bytes(12) + b"\1\0"
    send(port, [template if i % 100 == 99 else data for i in range(400)])
    intake.start()
    until(lambda: admission.received_in_all == 400)
    intake.stop()
    intake.join()
    rows = taken(inbox, 1)
    assert sum(row[2] == template for row in rows) == 4
    assert sum(row[1] for row in rows) + int(admission._owed[0]) == 400
    assert len(rows) == 400 - admission.refused[LIMITED] < 120


def test_the_kernel_s_losses_are_identified_by_kind(started):
    intake, _, (port, _) = started("ipfix", "sflow", buffer=20_000)
    send(port, [bytes(1400)] * 300)
    assert intake.lost()["ipfix"] == intake.lost()["ipfix"] > 200
    assert intake.lost()["sflow"] == 0


def test_a_socket_that_fails_is_an_error(started):
    intake, inbox, _ = started("ipfix")
    sock = intake.sockets[0][1]
    pipe, other = os.pipe()
    os.dup2(pipe, sock.fileno())
    os.write(other, b"x")
    intake.start()
    until(lambda: not intake.is_alive())
    assert isinstance(intake.error, OSError)
    assert inbox.take(within=60) == []
    intake.sockets = []
    for number in (pipe, other, sock.detach()):
        os.close(number)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("0009" + "00" * 18 + "0000", True),
        ("0009" + "00" * 18 + "0001", True),
        ("0009" + "00" * 18 + "0002", False),
        ("000a" + "00" * 14 + "0002", True),
        ("000a" + "00" * 14 + "0003", True),
        ("000a" + "00" * 14 + "0100", False),
        ("0005" + "00" * 22, False),
        ("000a", False),
        ("", False),
    ],
)
def test_what_announces_templates(head, expected):
    assert has_templates(bytes.fromhex(head)) == expected
