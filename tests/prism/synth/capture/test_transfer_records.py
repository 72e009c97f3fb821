import numpy as np
import pytest

from collectors.columns.record import FIN, SYN
from prism.synth.capture.transfer_records import attempt_records, flows_of, transits_of
from prism.synth.scenario.cluster import build
from prism.synth.scenario.specification import Cluster, Fault, Job
from prism.synth.training.job_run import attempt

SLOW = Cluster(nic_gbit=0.3, uplink_gbit=1.2, latency_us=60)
DDP = Job(dp=8, steps=10, transport="tcp", buckets=4, overlap=True, gradient_octets=8_000_000, forward_ms=150, backward_ms=300)


def made(cluster, job, *faults):
    plant = build(cluster)
    done = attempt(job, plant, faults, [], np.random.default_rng(1), 0.0, "A")
    return done, flows_of(attempt_records(done), plant, 10**18), transits_of([done], plant, 10**18)


def test_rdma_messages_are_no_longer_than_asked_and_spread_over_queue_pairs():
    done, flows, _ = made(Cluster(), Job(dp=8, steps=2, channels=4, message_octets=1 << 18))
    assert flows.octets.max() == 1 << 18
    assert flows.octets.sum() == sum(int(b.octets.sum()) for b in done.sent)
    pair = (flows.src == 0) & (flows.dst == 1)
    assert len(np.unique(flows.dst_qp[pair])) == 4


def test_tcp_bursts_hold_what_was_sent_and_are_busy_no_longer_than_they_last():
    done, flows, _ = made(SLOW, DDP)
    bulk = ~flows.control()
    assert flows.octets[bulk].sum() == sum(int(b.octets.sum()) for b in done.sent)
    assert (flows.busy_ns[bulk] <= flows.end_ns[bulk] - flows.start_ns[bulk] + 2).all()
    assert (np.diff(flows.start_ns) >= 0).all()


def test_connections_open_before_and_close_after_everything():
    _, flows, _ = made(SLOW, DDP)
    opens, closes = (flows.tcp_flags & SYN) != 0, (flows.tcp_flags & FIN) != 0
    rest = ~opens & ~closes
    assert flows.start_ns[opens].max() < flows.start_ns[rest].min()
    assert flows.start_ns[closes].min() >= flows.end_ns[rest].max()


def test_a_throttled_nic_shows_inside_bursts_and_not_on_average():
    _, flows, _ = made(SLOW, DDP, Fault("nic_throttle", ranks=(3,), factor=4.0))
    bulk = ~flows.control()
    burst, mean = {}, {}
    for rank in range(8):
        rows = bulk & (flows.src == rank)
        burst[rank] = flows.octets[rows].sum() * 8 / flows.busy_ns[rows].sum()
        mean[rank] = flows.octets[rows].sum() * 8 / (flows.end_ns[rows].max() - flows.start_ns[rows].min())
    assert burst[3] == pytest.approx(0.075, rel=0.1)  # ring r → r − 1: into the NIC from 4, out of it from 3
    assert burst[4] == pytest.approx(0.075, rel=0.1)
    assert all(burst[r] > 0.2 for r in (0, 1, 2, 5, 6, 7))
    assert max(mean.values()) < 1.1 * min(mean.values())


def test_a_throttled_uplink_shows_in_the_delay_of_its_hops():
    _, _, transits = made(SLOW, DDP, Fault("uplink_throttle", switch="leaf1", factor=12.0))
    names = np.array(transits.exporters)
    touches = (names[transits.sender] == "leaf1") | (names[transits.receiver] == "leaf1")
    assert np.median(transits.delay_ns[touches]) > 50 * np.median(transits.delay_ns[~touches])


def test_paths_and_exporters_are_those_of_the_sender():
    _, flows, _ = made(SLOW, DDP)
    assert {flows.paths[p] for p in np.unique(flows.path)} == {
        ("leaf0",), ("leaf1",), ("leaf0", "spine0", "leaf1"), ("leaf1", "spine0", "leaf0"),
    }  # fmt: skip
    assert all(flows.paths[p][0] == flows.exporters[e] for p, e in zip(flows.path, flows.exporter, strict=True))


def test_a_pair_s_messages_go_over_its_queue_pairs_in_turn():
    _, flows, _ = made(Cluster(), Job(dp=8, steps=3, queues=3, channels=2, message_octets=1 << 18, gradient_octets=3_000_000))
    pair = (flows.src == 0) & (flows.dst == 1)
    queue = flows.dst_qp[pair]
    assert len(np.unique(queue)) == 6
    assert (queue[6:] == queue[:-6]).all()
    assert len(np.unique(queue[:6])) == 6
