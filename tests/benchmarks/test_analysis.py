import numpy as np

from benchmarks import analysis
from benchmarks.grid import LAYOUTS


def test_a_cluster_is_filled_with_jobs_of_all_layouts():
    jobs = list(analysis.sizes(10_000, []))
    assert {layout for layout, _ in jobs} == set(LAYOUTS)
    assert jobs[:2] == [("tp-placed", 2496), ("moe", 1216)]
    assert 9_700 <= sum(size for _, size in jobs) <= 10_000
    assert set(analysis.sizes(400, ["ddp"])) == {("ddp", 64), ("ddp", 128)}


def test_records_are_kept_in_order_and_come_back(tmp_path, capsys):
    asked = ["--gpus", "64", "--records", "900", "--only", "ddp", "--cache", str(tmp_path)]
    assert analysis.main(asked) == 0
    told = capsys.readouterr().out.splitlines()[-1].split()
    flows, topology = analysis.read(tmp_path / "64-900-ddp")
    assert told[:2] == ["64", "1"]
    assert int(told[2].replace(",", "")) == len(flows)
    assert len(topology.endpoints) == len(flows.endpoints) == 64
    assert (np.diff(flows.start_ns) >= 0).all()
    assert flows.window[1] - flows.window[0] < 1.1 * analysis.MINUTE
