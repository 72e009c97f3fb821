import threading
import time
from collections import Counter
from pathlib import Path
from struct import pack
from urllib.request import urlopen

import pytest

from collectors.exports.admission import CROWDED, Admission
from collectors.exports.evidence import REASONS
from collectors.exports.evidence_store import switch_delays
from collectors.exports.sflow.sflow import SflowDecoder, warm
from collectors.listening import receiver_threads
from collectors.listening.datagram_queue import DatagramQueue
from collectors.listening.listener import FAILED, Listener
from collectors.listening.receiver_threads import Intake
from collectors.listening.udp_sockets import Endpoint, is_pressed, open_socket
from collectors.operations.metrics import flat, served
from collectors.writers.rotating_files import Rotating
from tests.collectors.builders import frames
from tests.collectors.builders.exports import counters, drop_sample, flow_record, flow_sample, raw_header, sflow
from tests.collectors.builders.toys import Kept, Lengths, send, until


@pytest.fixture
def listening():
    """Runs listeners in threads; gives each with its port, and a function that ends it."""
    ends = []

    def make(*, decoder=None, sink=None, **admission):
        sock, _ = open_socket(Endpoint("ipfix", "127.0.0.1", 0), buffer=8 << 20)
        inbox, stop = DatagramQueue(), threading.Event()
        sink = Kept() if sink is None else sink
        listener = Listener(
            Intake([("ipfix", sock)], Admission(**admission), inbox), inbox, {"ipfix": decoder or Lengths()}, sink
        )
        failed = []

        def body():
            try:
                listener.run(stop)
            except BaseException as error:
                failed.append(error)

        thread, port = threading.Thread(target=body), sock.getsockname()[1]
        thread.start()

        def end():
            stop.set()
            thread.join(60)
            assert not thread.is_alive()
            assert sock.fileno() == -1
            return failed

        ends.append(end)
        return listener, sink, port, end

    yield make
    for end in ends:
        end()


def test_every_datagram_is_decoded_or_counted_under_a_reason(listening):
    listener, sink, port, end = listening()
    for i in range(20):
        send(port, [b"bad"] * i + [b"x" * 50] * 30, sender=f"127.0.0.{1 + i % 3}")
    assert end() == []
    flows = [part for part in sink if len(part)]
    assert sum(len(part) for part in flows) == listener.records == 600
    assert {part.exporters[i] for part in flows for i in part.exporter.tolist()} == {f"127.0.0.{i}" for i in (1, 2, 3)}
    counts = flat(listener.counts())
    assert counts["datagrams_received"] == 790
    assert counts["ipfix_datagrams_decoded"] + counts["ipfix_datagrams_error_bad"] == 790
    assert counts["records"] == 600
    assert sink.closed


def test_what_exporters_tell_beside_flows_is_there_to_be_taken(listening):
    decoder = SflowDecoder()
    warm()
    listener, _, port, end = listening(decoder=decoder)
    write = frames.ethernet(frames.ipv4(frames.roce(10, frames.reth(64) + b"x" * 64, dst_qp=0x77), 17))
    queued = (flow_record(1036, pack(">I", 5)), flow_record(1039, pack(">I", 900)), flow_record(1040, pack(">I", 7000)))
    sampled = sflow(flow_sample(raw_header(write), *queued), drop_sample(raw_header(write)), counters(7))
    send(port, [sampled] * 3)
    until(lambda: listener.testimony.told.total() == 9)
    found = listener.drain()
    assert [d for part in found.delays for d in zip(part.delay_ns, part.depth, part.queue, strict=True)] == [(900, 7000, 5)] * 3
    assert [REASONS[reason] for part in found.drops for reason in part.reason.tolist()] == ["no buffer space"] * 3
    assert sum(map(len, found.counters)) == 3
    assert len(listener.drain()) == 0
    send(port, [sampled])  # what comes at the end is there after it
    assert end() == []
    assert listener.records == 4
    assert (len(listener.drain().delays), flat(listener.counts())["evidence_delays"]) == (1, 4)
    hops = switch_delays(found.delays, [])
    assert (hops.exporters, hops.delay_ns.tolist(), hops.packets.sum()) == (("10.9.9.9",), [900] * len(hops), 3)


def test_a_fault_in_a_decoder_is_counted_and_the_next_batch_is_decoded(listening):
    listener, _, port, end = listening()
    send(port, [b"fault"])
    until(lambda: listener.failed == 1)
    send(port, [b"x"])
    until(lambda: listener.records == 1)
    assert end() == []
    assert FAILED.replace(" ", "_") not in flat(listener.counts())
    assert flat(listener.counts())["datagrams_failed"] == 1


def test_volumes_of_a_limited_exporter_stay_the_same(listening):
    listener, sink, port, end = listening(rate=100)
    send(port, [b"x" * 50] * 3000)
    assert end() == []
    flows = [part for part in sink if len(part)]
    total = sum(int((part.octets * part.sampling_rate).sum()) for part in flows)
    assert listener.records < 400
    assert total + 50 * int(listener.intake.admission._owed[0]) == 3000 * 50


def test_a_sink_that_fails_ends_the_listener_and_leaves_nothing(listening):
    class Full(Kept):
        def write(self, flows):
            raise BrokenPipeError(len(flows))

    listener, _, port, end = listening(sink=Full())
    send(port, [b"x"] * 50)
    until(lambda: not listener.intake.is_alive())
    assert [type(error) for error in end()] == [BrokenPipeError]


def accounted(text):
    """What a reading of /metrics says: datagrams received, and what became of them; records passed on, and what of those."""
    counts = Counter()
    for line in text.splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            counts[name.replace("prism_collect_", "")] += int(float(value))
    fates = sum(n for name, n in counts.items() if name.startswith(("datagrams_refused_total", 'ipfix_total{what="datagrams ')))
    fates += counts["datagrams_failed_total"] + counts["inbox_datagrams"] - counts['ipfix_total{what="datagrams received"}']
    kept = sum(n for name, n in counts.items() if name.startswith(("sink_records_total", "sink_waiting")))
    return counts["datagrams_received_total"], fates, counts["records_total"], kept, counts["inbox_datagrams"]


def test_every_reading_of_the_metrics_adds_up_amid_a_load(listening, tmp_path):
    class Slow(Lengths):
        def decode(self, datagrams):
            flows = super().decode(datagrams)
            time.sleep(0.002)
            if self.tally["datagrams received"] % 7 == 0:
                raise RuntimeError("now and then")
            return flows

    sink = Rotating(tmp_path, lambda path, _flows: Path(path).write_bytes(b""), suffix=".x", rows=500, seconds=100.0)
    listener, _, port, end = listening(decoder=Slow(), sink=sink, rate=100)
    over, readings = threading.Event(), []

    def load():
        for i in range(60):
            send(port, [b"x" * (50 + i)] * 50, sender=f"127.0.0.{1 + i % 3}")
        over.set()

    with served("127.0.0.1", 0, listener.counts) as at:
        sender = threading.Thread(target=load)
        sender.start()
        until = time.monotonic() + 10  # the first datagrams may be taken after all were sent
        while not over.is_set() or len(readings) < 20 or (not readings[-1][0] and time.monotonic() < until):
            with urlopen(f"http://127.0.0.1:{at}/metrics") as answer:
                readings.append(accounted(answer.read().decode()))
        sender.join()
        assert end() == []
        with urlopen(f"http://127.0.0.1:{at}/metrics") as answer:
            last = accounted(answer.read().decode())
    for received, fates, records, kept, waiting in [*readings, last]:
        assert (received, records) == (fates, kept)
        assert waiting >= 0
    assert any(reading[-1] for reading in readings)
    assert last[0] == 3000
    assert last[-1] == 0
    assert listener.intake.taken().refused


def test_one_exporter_that_floods_does_not_push_out_another(listening, monkeypatch):
    """The decoder is slow, so that more comes than it can take: what is too much is all of the flood."""

    class Slow(Lengths):
        def decode(self, datagrams):
            time.sleep(50e-6 * len(datagrams))
            return super().decode(datagrams)

    monkeypatch.setattr(
        receiver_threads, "Receiver", lambda sock, make=receiver_threads.Receiver: make(sock, slots=256, blocks=3)
    )
    monkeypatch.setattr(receiver_threads, "is_pressed", lambda sock, share: is_pressed(sock, share=min(share, 0.25)))
    monkeypatch.setattr(receiver_threads.Throttle, "press", lambda *_: None)
    listener, _, port, end = listening(decoder=Slow())
    listener.inbox.shares.most = 2000
    flood = threading.Thread(target=send, args=(port, [b"x" * 200] * 30_000), kwargs={"sender": "127.0.0.2"})
    flood.start()
    sent = 0
    while flood.is_alive():
        send(port, [b"good"] * 10)
        sent += 10
        time.sleep(0.01)
    flood.join()
    assert end() == []
    taken = listener.intake.taken()
    assert taken.limited["127.0.0.1"] == 0
    assert taken.limited["127.0.0.2"] == taken.refused[CROWDED] > 1000
    if not listener.intake.lost()["ipfix"]:
        assert taken.by_exporter["127.0.0.1"] == sent
    assert taken.received == taken.refused[CROWDED] + sum(listener.decoders["ipfix"].batches)
