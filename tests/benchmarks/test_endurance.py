from pathlib import Path

from benchmarks.accuracy import of_folder
from benchmarks.endurance import hour

PCAPS = Path(__file__).parents[2] / "pcaps"


def test_laps_follow_one_another():
    run = of_folder(PCAPS / "slow_nic", "slow_nic")
    source = run.open()[2]
    length_s = (source.end_ns - source.start_ns) / 1e9
    head, *lines = hour(run, seconds=length_s + 2, rows=2)
    assert head.split()[:2] == ["recorded", "s"]
    played = [float(line.split()[0]) for line in lines]
    assert len(played) == 2
    assert played[0] < length_s < played[1]
