from pathlib import Path

from benchmarks.accuracy import of_folder
from benchmarks.live import hour, ingest, main, measured, table

PCAPS = Path(__file__).parents[2] / "pcaps"


def test_a_capture_is_judged():
    told = measured(of_folder(PCAPS / "slow_nic", "slow_nic"))
    assert (told.faults, told.found, told.claims, told.wrong, told.flaps) == (1, 1, 1, 0, 0)
    assert told.cpu > 0
    assert "slow_nic" in table([told])


def test_laps_follow_one_another():
    lines = list(hour(of_folder(PCAPS / "two_jobs", "two_jobs"), seconds=8, rows=2))
    assert len(lines) >= 2


def test_nothing_to_play_is_said(tmp_path, capsys):
    assert main([str(tmp_path)]) == 2
    assert "truth.json" in capsys.readouterr().err


def test_batches_are_taken_while_windows_are_analysed():
    lines = list(ingest(of_folder(PCAPS / "two_jobs", "two_jobs"), seconds=0.05))
    assert [line.split()[0] for line in lines] == ["analysis", "none", "thread", "process"]
    assert all(float(line.split()[1]) > 0 for line in lines[1:])
