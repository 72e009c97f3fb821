from pathlib import Path

from benchmarks.accuracy import of_folder
from benchmarks.live import _second, main, measured, table

PCAPS = Path(__file__).parents[2] / "pcaps"


def test_a_capture_is_judged():
    told = measured(of_folder(PCAPS / "slow_nic", "slow_nic"))
    assert (told.faults, told.found, told.claims, told.wrong, told.flaps) == (1, 1, 1, 0, 0)
    assert told.cpu > 0
    assert "slow_nic" in table([told])


def test_nothing_to_play_is_reported(tmp_path, capsys):
    assert main([str(tmp_path)]) == 2
    assert "truth.json" in capsys.readouterr().err


def test_a_step_that_ends_as_a_fault_starts_is_none_of_its_steps():
    steps = {"a": [(0, 0, 100), (1, 100, 200), (2, 200, 350), (3, 350, 500)]}
    truth = {"jobs": {"A": {"steps": steps}}}
    assert [_second({"kind": "compute_slow", "job": "A", "start_ns": start}, truth, 100.0) for start in (195, 200)] == [
        500,
        500,
    ]
    assert _second({"kind": "hang", "job": "A", "start_ns": 195}, truth, 100.0) == 395
