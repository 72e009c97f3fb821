from dataclasses import replace

import numpy as np
import pytest

from prism.synth.scenario.cluster import build
from prism.synth.scenario.specification import Cluster, Fault, Job
from prism.synth.training.fabric import Fabric, Window

PLANT = build(Cluster(hosts=8, gpus=2, nic_gbit=8.0, hosts_per_leaf=4))  # 1 octet per ns


def moved(src, dst, octets, windows=(), ready=0.0):
    fabric = Fabric(PLANT, Job(), np.random.default_rng(1), list(windows))
    n = len(src)
    start, end = fabric.move(0, np.array(src), np.array(dst), np.full(n, octets), np.full(n, ready))
    return end - start, fabric.sent[0]


def test_a_lone_transfer_goes_at_the_nic_s_rate():
    took, _ = moved([0], [2], 1_000_000)
    assert took == pytest.approx(1e6, rel=0.06)


def test_transfers_into_one_nic_share_it():
    took, _ = moved([0, 2, 4], [6, 6, 6], 1_000_000)
    assert took == pytest.approx(3e6, rel=0.06)


def test_nothing_inside_a_host_is_on_the_wire():
    _, sent = moved([0, 0], [1, 2], 1000)
    assert sent.dst.tolist() == [2]


def window(kind, **more):
    ranks = np.array([2])
    return Window(Fault(kind, factor=4.0, **more), ranks, 1, 0.0, 1e9)


def test_a_throttled_nic_slows_what_goes_through_it_while_it_lasts():
    windows = [window("nic_throttle")]
    took, _ = moved([0, 2, 4], [2, 4, 6], 1_000_000, windows)
    assert took == pytest.approx([4e6, 4e6, 1e6], rel=0.06)
    assert moved([0], [2], 1_000_000, windows, ready=2e9)[0] == pytest.approx(1e6, rel=0.06)
    assert moved([0, 2], [2, 4], 1_000_000, [window("nic_throttle", way="out")])[0] == pytest.approx([1e6, 4e6], rel=0.06)


def test_a_lossy_nic_sends_again():
    took, sent = moved([0, 2, 4], [2, 4, 6], 10_000_000, [window("nic_loss", loss=0.1)])
    assert (sent.retransmits[:2] > 100).all()
    assert sent.retransmits[2] < 5
    assert took[0] == pytest.approx(4 * took[2], rel=0.1)


def test_a_throttled_uplink_slows_and_queues_what_crosses_it():
    shut = Window(Fault("uplink_throttle", switch="leaf1", factor=128.0), np.zeros(0, np.int64), 1, 0.0)
    took, sent = moved([0, 0, 2, 8], [2, 8, 10, 10], 1_000_000, [shut])
    assert took[0] < 3e6
    assert (took[[1, 2]] > 3e6).all()
    assert (sent.queue[[1, 2], 1] > 1e5).all()
    assert (sent.queue[[0, 3]] < 1e5).all()


def test_control_messages_take_the_latency():
    fabric = Fabric(PLANT, Job(), np.random.default_rng(1))
    arrives = fabric.send_messages(0, np.array([0]), np.array([2]), np.array([5.0]))
    assert 4e3 <= arrives[0] - 5 < 5e4
    assert fabric.messages[0].octets.tolist() == [48]


def test_one_lossy_uplink_slows_only_its_own_transfers():
    spines = np.array([2, 3, 2, -1])
    leaf = np.array([1, 1, 0, 1])
    window = Window(Fault("uplink_loss", switch="leaf1", spine="spine0"), np.zeros(0, np.int64), 1, 5.0, 9.0, spine=2)
    assert window.crossed(leaf, spines, np.full(4, 6.0)).tolist() == [True, False, False, False]
    assert not window.crossed(leaf, spines, np.full(4, 9.0)).any()
    assert replace(window, spine=-1).crossed(leaf, spines, np.full(4, 6.0)).tolist() == [True, True, False, False]
