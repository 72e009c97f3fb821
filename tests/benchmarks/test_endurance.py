from pathlib import Path

from benchmarks.accuracy import of_folder
from benchmarks.endurance import hour, ingest

PCAPS = Path(__file__).parents[2] / "pcaps"


def test_laps_follow_one_another():
    lines = list(hour(of_folder(PCAPS / "two_jobs", "two_jobs"), seconds=8, rows=2))
    assert len(lines) >= 2


def test_batches_are_taken_while_windows_are_analysed():
    lines = list(ingest(of_folder(PCAPS / "two_jobs", "two_jobs"), seconds=0.05))
    assert [line.split()[0] for line in lines] == ["analysis", "none", "thread", "process"]
    assert all(float(line.split()[1]) > 0 for line in lines[1:])
