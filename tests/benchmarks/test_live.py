from pathlib import Path

from benchmarks.accuracy import of_folder
from benchmarks.live import main, measured, table

PCAPS = Path(__file__).parents[2] / "pcaps"


def test_a_capture_is_judged():
    told = measured(of_folder(PCAPS / "slow_nic", "slow_nic"))
    assert (told.faults, told.found, told.claims, told.wrong, told.flaps) == (1, 1, 1, 0, 0)
    assert told.cpu > 0
    assert "slow_nic" in table([told])


def test_nothing_to_play_is_said(tmp_path, capsys):
    assert main([str(tmp_path)]) == 2
    assert "truth.json" in capsys.readouterr().err
