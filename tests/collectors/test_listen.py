import threading
from struct import pack

import pytest

from collectors.admission import Admission
from collectors.evidence import REASONS
from collectors.inbox import Inbox
from collectors.intake import Intake
from collectors.listen import FAILED, Listener
from collectors.metrics import flat
from collectors.receiving import Endpoint, bound
from collectors.sflow import SflowDecoder, warm
from collectors.testimony import waits
from tests.collectors import frames
from tests.collectors.exports import counters, drop_sample, flow_record, flow_sample, raw_header, sflow
from tests.collectors.toys import Kept, Lengths, send, until


@pytest.fixture
def listening():
    """Runs listeners in threads; gives each with its port, and a function that ends it."""
    ends = []

    def make(*, decoder=None, sink=None, **admission):
        sock, _ = bound(Endpoint("ipfix", "127.0.0.1", 0), buffer=8 << 20)
        inbox, stop = Inbox(), threading.Event()
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
    hops = waits(found.delays, [])
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
