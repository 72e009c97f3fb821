import threading
import time

import numpy as np

from collectors.columns.record import concatenated
from collectors.flows.flow_tracking import follow
from collectors.flows.single_switch import follow_frames
from collectors.live import live_capture as module
from collectors.live._mirror_sessions import Mirrors, named_switches
from collectors.live.live_capture import Capturer, OneSwitch, warm
from collectors.operations.metrics import flat
from collectors.packets.frame_batch import Batch
from tests.collectors.builders import frames
from tests.collectors.builders.toys import Kept, until
from tests.collectors.live.test_mirror_sessions import erspan

MS, SECOND = 1_000_000, 1_000_000_000


class Played:
    """A ring that plays batches; nothing is lost, but `lost` says so."""

    def __init__(self, *batches):
        self.batches, self.lost, self.closed, self.detached = list(batches), 7, False, False

    def read(self, *, within):
        return self.batches.pop(0) if self.batches else time.sleep(within)

    def count_losses(self):
        pass

    def detach(self):
        self.detached = True

    def close(self):
        self.closed = True


def burst(begin, count, *, ports=(1000, 2000)):
    """Segments of 1000 octets, 10 us apart."""
    frame = frames.ethernet(frames.ipv4(frames.tcp(bytes(1000), ports=ports)))
    out = []
    for i in range(count):
        sequence = (i * 1000).to_bytes(4, "big")
        out.append((begin + i * 10_000, frame[:38] + sequence + frame[42:], len(frame)))
    return out


def run(capturer, *, enough=lambda: True):
    stop = threading.Event()
    thread = threading.Thread(target=capturer.run, args=(stop,))
    thread.start()
    until(enough)
    stop.set()
    thread.join(60)
    assert not thread.is_alive()
    return concatenated([part for part in capturer.sink if len(part)] or [capturer.sink[-1]])


def test_records_come_while_packets_still_do_and_the_rest_at_the_end():
    now = time.time_ns()
    ring = Played(*[Batch.of(burst(now + i * 3 * SECOND, 100, ports=(1000 + i, 2000))) for i in range(3)])
    capturer = Capturer(ring, OneSwitch("leaf0"), Kept())
    flows = run(capturer, enough=lambda: capturer.records >= 2)
    assert flows.octets.tolist() == [100_000] * 3
    assert {flows.exporters[i] for i in flows.exporter.tolist()} == {"leaf0"}
    assert ring.closed
    assert ring.detached
    assert capturer.sink.closed
    counts = flat(capturer.counts())
    assert (counts["packets"], counts["packets_decoded"], counts["records"]) == (300, 300, 3)
    assert counts["kernel_lost_capture"] == 7


def test_what_is_no_packet_of_a_flow_is_counted():
    frame = frames.ethernet(bytes(50), 0x0806)
    capturer = Capturer(Played(Batch.of([(time.time_ns(), frame, 60)] * 5)), OneSwitch("leaf0"), Kept())
    run(capturer, enough=lambda: capturer.packets == 5)
    assert flat(capturer.counts())["packets_fate_not_IP_ARP_(EtherType_0x0806)"] == 5


def test_switches_that_mirror_one_packet_are_its_path():
    now, rows = time.time_ns(), []
    mirrors = Mirrors(named_switches(["leaf0=192.0.2.1", "spine0=192.0.2.2"]))
    for i in range(50):
        for source, delay in (("192.0.2.1", 0), ("192.0.2.2", 3000)):
            frame = erspan(5, source=source)
            at = frame.index(b"\xb2\xd0\x5e\x00")  # the sequence number of the mirrored segment
            rows.append((now + i * MS + delay, frame[:at] + (i * 30).to_bytes(4, "big") + frame[at + 4 :], len(frame)))
    capturer = Capturer(Played(Batch.of(rows)), mirrors, Kept(), horizon_ns=200 * MS)
    flows = run(capturer, enough=lambda: capturer.packets == 100)
    assert flows.octets.sum() == 50 * 30
    assert {flows.paths[i] for i in flows.path.tolist()} == {("leaf0", "spine0")}
    counts = flat(capturer.counts())
    assert (counts["packets_decoded"], counts["hop_packets_leaf0_spine0"]) == (100, 50)
    assert abs(counts["hop_delay_seconds_leaf0_spine0"] - 50 * 3e-6) < 1e-9
    assert counts["hop_longest_seconds_leaf0_spine0"] == 3e-6


def test_memory_stays_bounded(monkeypatch):
    monkeypatch.setattr(module, "MOST_FLOWS", 20)
    now = time.time_ns()
    batches = [Batch.of(burst(now + i * SECOND, 10, ports=(i, 5))) for i in range(100)]
    capturer = Capturer(Played(*batches), OneSwitch("leaf0"), Kept())
    flows = run(capturer, enough=lambda: capturer.packets == 1000)
    assert capturer.restarts >= 2
    assert np.sum(flows.octets) == 100 * 10_000
    assert flat(capturer.counts())["table_restarts"] == capturer.restarts


def test_nothing_is_left_to_compile_while_frames_come():
    warm()
    known = [len(loop.signatures) for loop in (follow, follow_frames)]
    now = time.time_ns()
    run(Capturer(Played(Batch.of(burst(now, 9))), OneSwitch("leaf0"), Kept()))
    assert [len(loop.signatures) for loop in (follow, follow_frames)] == known
