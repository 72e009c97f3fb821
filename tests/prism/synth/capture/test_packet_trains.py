import numpy as np

from collectors.columns.record import ACK, FIN, PSH, SYN, TCP, UDP
from collectors.packets.headers import CNP
from prism.synth.capture.other_traffic import disturbances
from prism.synth.capture.packet_trains import TCP_ACKS, departures, make_trains, marked_packets, take_rows
from prism.synth.capture.transfer_records import Rows
from prism.synth.scenario.cluster import build
from prism.synth.scenario.specification import Cluster, Job, Nuisances, Spec
from prism.synth.training.job_run import attempt

FLAT = Cluster()
DDP = Job(dp=8, steps=2, gradient_octets=8_000_000, channels=2)


def departed(job, cluster=FLAT):
    plant = build(cluster)
    done = attempt(job, plant, (), [], np.random.default_rng(1), 0.0, "A")
    return done, plant, departures(done)


def test_every_octet_leaves_once_and_is_acknowledged():
    for transport in ("rdma", "tcp"):
        done, plant, parts = departed(Job(dp=4, pp=2, micro=2, steps=2, transport=transport, gradient_octets=2_000_000))
        t = make_trains(parts, plant)
        sent = sum(int(b.octets.sum()) for b in (*done.sent, *done.messages))
        assert t["octets"].sum() == sent
        assert (np.diff(t["start"]) >= 0).all()
        assert (t["end"] >= t["start"]).all()
        answers = (t["octets"] == 0) & (t["flags"] & (SYN | FIN) == 0)
        assert np.count_nonzero(answers) == np.count_nonzero(t["octets"])
        assert t["packets"][answers].sum() >= (1 if transport == "rdma" else sent / TCP_ACKS)


def test_answers_come_back_on_the_connection_of_the_data():
    _, plant, parts = departed(DDP)
    t = make_trains(parts, plant)
    for link in np.unique(t["link"]).tolist():
        own = t["link"] == link
        data, answer = own & (t["octets"] > 0), own & (t["octets"] == 0)
        assert set(zip(t["src"][data], t["dst"][data], strict=True)) == set(
            zip(t["dst"][answer], t["src"][answer], strict=True)
        )
        assert len(set(t["dst_qp"][data])) == len(set(t["dst_qp"][answer])) == 1
        assert set(t["way"][data]) | set(t["way"][answer]) == {0, 1}


def test_a_path_is_leaf_spine_leaf_or_one_leaf():
    _, plant, parts = departed(DDP, Cluster(hosts_per_leaf=4, spines=2))
    t = make_trains(parts, plant)
    same = plant.leaf[t["src"]] == plant.leaf[t["dst"]]
    assert (t["first"] == plant.leaf[t["src"]]).all()
    assert (t["second"][same] == -1).all()
    assert (t["third"][same] == -1).all()
    assert (t["second"][~same] >= plant.leaves).all()
    assert (t["third"][~same] == plant.leaf[t["dst"]][~same]).all()


def test_messages_of_one_queue_pair_do_not_overlap():
    columns = {
        "start_ns": np.array([0.0, 10.0, 200.0]), "end_ns": np.array([100.0, 60.0, 300.0]), "src": np.zeros(3, np.int64),
        "dst": np.ones(3, np.int64), "protocol": np.full(3, UDP), "dst_port": np.full(3, 4791), "dst_qp": np.full(3, 7),
        "octets": np.full(3, 8192), "packets": np.full(3, 2), "spine": np.full(3, -1),
    }  # fmt: skip
    t = make_trains([Rows(columns)], build(Cluster(hosts=2)))
    data = t["octets"] > 0
    assert t["start"][data].tolist() == [0, 100, 200]
    assert t["end"][data].tolist() == [100, 100, 300]


def test_what_is_no_training_leaves_too():
    spec = Spec(jobs=(Job(dp=8, steps=2, storage_octets=50_000),), nuisances=Nuisances(bulk_gbit=0.01, monitor=True))
    plant = build(spec.cluster)
    done = attempt(spec.jobs[0], plant, (), [], np.random.default_rng(1), 0.0, "A")
    t = make_trains(disturbances(spec, [done], plant, np.random.default_rng(2)), plant)
    assert (t["protocol"] == TCP).all()
    store = plant.outsider("store")
    read = (t["src"] == store) & (t["octets"] > 0)
    assert (t["first"][read] == plant.leaf[store]).all()
    assert (t["second"][read] == -1).all()
    assert set(t["flags"]) >= {SYN, FIN | ACK, PSH | ACK, ACK}


def test_nothing_sent_is_no_trains():
    assert len(make_trains([], build(Cluster()))["start"]) == 0


def test_what_queues_for_long_is_notified():
    plant = build(Cluster())
    columns = {
        "start_ns": np.array([0.0, 0.0]), "end_ns": np.array([220e3, 220e3]), "src": np.array([0, 1]), "dst": np.array([5, 6]),
        "protocol": np.full(2, UDP), "dst_port": np.full(2, 4791), "dst_qp": np.array([7, 8]), "back_qp": np.array([9, 10]),
        "octets": np.full(2, 1 << 20), "packets": np.full(2, 256), "spine": np.full(2, 2), "up": np.array([2e4, 1e3]),
        "down": np.array([1e3, 1e3]),
    }  # fmt: skip
    t = make_trains([Rows(columns)], plant)
    assert [mask[t["octets"] > 0].tolist() for mask in marked_packets(t)] == [[True, False], [True, False]]
    notices = take_rows(t, t["flags"] == CNP)
    assert (notices["src"].tolist(), notices["dst"].tolist(), notices["dst_qp"].tolist()) == ([5], [0], [9])
    assert notices["packets"].tolist() == [5]
    assert (notices["end"] - notices["start"]).tolist() == [200e3]
