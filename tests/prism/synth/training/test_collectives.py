import numpy as np
import pytest

from prism.synth.scenario.cluster import build
from prism.synth.scenario.specification import Cluster, Job
from prism.synth.training.collectives import Collectives
from prism.synth.training.fabric import Fabric

PLANT = build(Cluster(hosts=8, nic_gbit=8.0, hosts_per_leaf=8))  # 1 octet per ns
ALL = np.arange(8).reshape(1, 8)


def talk(polite=False, **job):
    return Collectives(Fabric(PLANT, Job(**job), np.random.default_rng(1)), np.arange(8), polite)


def sent_by_rank(t):
    out = np.zeros(8)
    for batch in t.fabric.sent:
        np.add.at(out, batch.src, batch.octets)
    return out


def test_a_ring_moves_what_it_must_in_the_time_it_must():
    t = talk()
    done = t.reduce(0, ALL, 8_000_000, np.zeros(8), "ring")
    assert sent_by_rank(t) == pytest.approx(14_000_000, rel=0.01)
    assert done == pytest.approx(14e6, rel=0.1)


@pytest.mark.parametrize("polite", [False, True])
@pytest.mark.parametrize("algorithm", ["ring", "tree", "halving", "pairs"])
def test_nobody_is_done_before_everybody_joined(algorithm, polite):
    joined = np.zeros(8)
    joined[3] = 5e9
    done = talk(polite).reduce(0, ALL, 8_000_000, joined, algorithm)
    assert (done > 5e9).all()


@pytest.mark.parametrize(("algorithm", "each"), [("halving", 14_000_000), ("pairs", 14_000_000)])
def test_other_algorithms_move_the_same(algorithm, each):
    t = talk()
    t.reduce(0, ALL, 8_000_000, np.zeros(8), algorithm)
    assert sent_by_rank(t) == pytest.approx(each, rel=0.01)


def test_a_tree_moves_everything_once_up_and_once_down():
    t = talk()
    t.reduce(0, ALL, 8_000_000, np.zeros(8), "tree")
    assert sent_by_rank(t).sum() == pytest.approx(2 * 7 * 8_000_000)


def test_merged_rounds_move_as_much_and_still_wait_for_all():
    t = talk(most_rounds=4)
    joined = np.zeros(8)
    joined[3] = 5e9
    assert (t.reduce(0, ALL, 8_000_000, joined, "ring") > 5e9).all()
    assert sent_by_rank(t) == pytest.approx(14_000_000, rel=0.01)


def test_a_polite_sender_waits_for_the_late_rank_and_a_one_sided_one_fills_its_window():
    joined = np.zeros(8)
    joined[3] = 5e9
    polite, eager = talk(polite=True), talk(window_octets=1_000_000)
    for t in (polite, eager):
        t.reduce(0, ALL, 80_000_000, joined, "ring")
    early = [sum(b.octets[(b.dst == 3) & (b.start < 5e9)].sum() for b in t.fabric.sent) for t in (polite, eager)]
    assert early == [0, 1_000_000]


def test_a_throttle_of_one_message_larger_than_the_window():
    t = talk(window_octets=1_000_000)
    arrived = t.send(0, np.array([0]), np.array([1]), np.array([4_000_000]), np.zeros(1), np.full(1, 1e9))
    assert arrived[0] == pytest.approx(1e9 + 3e6, rel=1e-3)
    assert t.send(0, np.array([0]), np.array([1]), np.array([900_000]), np.zeros(1), np.full(1, 1e9))[0] < 2e6


def test_all_to_all_moves_the_matrix():
    t = talk()
    octets = np.arange(64).reshape(1, 8, 8) * 1000
    t.exchange(0, ALL, octets, np.zeros(8))
    assert sent_by_rank(t).tolist() == [(octets[0, i].sum() - octets[0, i, i]) for i in range(8)]


def test_credits_are_small_messages_back():
    t = talk(credits=True, window_octets=1)
    t.reduce(0, ALL, 8_000_000, np.zeros(8), "ring")
    told = t.fabric.messages[-1]
    assert (told.octets == 64).all()
    assert ((told.dst - told.src) % 8 == 7).all()


def test_small_and_large_messages_together_wait_only_where_they_must():
    t = talk(window_octets=1_000_000)
    octets = np.array([4_000_000, 500_000, 4_000_000])
    arrived = t.send(0, np.array([0, 2, 4]), np.array([1, 3, 5]), octets, np.zeros(3), np.array([1e9, 1e9, 0.0]))
    assert arrived[0] > 1e9
    assert arrived[1] < 1e7
    assert arrived[2] < 1e7
