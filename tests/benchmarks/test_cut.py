import json
from pathlib import Path

import pytest

from benchmarks.cut import cut, cut_truth, frames, true_steps, window
from collectors.captures import pcap

SOURCE = Path(__file__).parents[2] / "pcaps" / "slow_rank"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    target = tmp_path_factory.mktemp("cut") / "short"
    cut(SOURCE, target, job=None, first=11, last=13, snaplen=40)
    return target


def test_a_window_spans_the_steps_on_all_ranks():
    truth = json.loads((SOURCE / "truth.json").read_text())
    lo, hi = window(truth, "A", 11, 13)
    steps = [row for rows in true_steps(truth["jobs"]["A"]).values() for row in rows if 11 <= row[0] <= 13]
    assert lo == min(row[1] for row in steps)
    assert 0 <= hi - max(row[2] for row in steps) < 1e9
    with pytest.raises(ValueError, match="no step from 900 to 901"):
        window(truth, "A", 900, 901)


def test_only_whole_steps_and_the_fault_within_stay(made):
    truth = json.loads((made / "truth.json").read_text())
    lo, hi = truth["capture"]["start_ns"], truth["capture"]["end_ns"]
    for rows in true_steps(truth["jobs"]["A"]).values():
        assert [row[0] for row in rows] == [11, 12, 13]
    (fault,) = truth["faults"]
    assert lo < fault["start_ns"] < fault["end_ns"] == hi
    assert truth["name"] == "short"
    assert cut_truth(truth, lo, fault["start_ns"] - 1)["faults"] == []


def test_packets_keep_time_and_length_and_lose_octets(made):
    truth = json.loads((made / "truth.json").read_text())
    lo, hi = truth["capture"]["start_ns"], truth["capture"]["end_ns"]
    whole = [(time_ns, frame[:40], wire) for time_ns, frame, wire in frames(SOURCE / "leaf0.pcap.gz", lo, hi)]
    assert list(frames(made / "leaf0.pcap.gz", 0, 2**63 - 1)) == whole
    assert truth["capture"]["packets"]["leaf0"] == len(whole) > 0


def test_the_topology_comes_along(made):
    assert (made / "topology.json").read_text() == (SOURCE / "topology.json").read_text()
    assert sorted(path.name for path in made.glob("*.pcap.gz")) == ["leaf0.pcap.gz", "leaf1.pcap.gz", "spine0.pcap.gz"]


def test_the_committed_captures_are_small_and_keep_what_decoding_needs():
    for folder in SOURCE.parent.iterdir():
        if folder.is_dir():
            assert sum(path.stat().st_size for path in folder.iterdir()) < 2.5e6
            batch = next(iter(pcap.read(folder / "leaf0.pcap.gz")))
            assert (batch.captured >= 54).all() or (batch.wire[batch.captured < 54] < 54).all()
