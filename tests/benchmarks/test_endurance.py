from pathlib import Path

from benchmarks.accuracy import of_folder
from benchmarks.endurance import hour

PCAPS = Path(__file__).parents[2] / "pcaps"


def test_laps_follow_one_another():
    lines = list(hour(of_folder(PCAPS / "two_jobs", "two_jobs"), seconds=8, rows=2))
    assert len(lines) >= 2
