import json

import numpy as np

from prism.synth.scenario.cluster import build
from prism.synth.scenario.specification import Cluster
from prism.topology import parse


def test_a_host_goes_to_one_leaf_or_each_of_its_rails_to_another():
    whole = build(Cluster(hosts=4, gpus=2, hosts_per_leaf=2))
    assert whole.leaf[: whole.gpus].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    rails = build(Cluster(hosts=4, gpus=2, hosts_per_leaf=2, rails=True))
    assert rails.leaf[: rails.gpus].tolist() == [0, 1, 0, 1, 2, 3, 2, 3]


def test_pairs_under_one_leaf_cross_no_spine_and_a_flow_keeps_its_spine():
    plant = build(Cluster(hosts=64, hosts_per_leaf=8, spines=4))
    src, dst = (a.ravel() for a in np.meshgrid(np.arange(64), np.arange(64)))
    spine = plant.spine(src, dst, np.zeros(len(src), np.int64))
    assert ((spine == -1) == (src // 8 == dst // 8)).all()
    assert (spine == plant.spine(src, dst, np.zeros(len(src), np.int64))).all()
    counts = np.bincount(spine[spine >= 0] - plant.leaves)
    assert len(counts) == 4
    assert counts.min() > 0.8 * counts.mean()


def test_the_topology_document_can_be_read_and_leaves_outsiders_out():
    plant = build(Cluster(hosts=300, gpus=2))
    placed = parse(json.dumps(plant.topology()), "topology.json")
    assert len(placed.endpoints) == 600 == len(set(plant.addresses[:600]))
    assert placed.host(plant.addresses[599]) == "server299"
    assert plant.addresses[plant.outsider("store")] not in placed.endpoints
