from pathlib import Path

from benchmarks.accuracy import of_folder
from benchmarks.live import measured
from benchmarks.live_restart import gone_ns

PCAPS = Path(__file__).parents[2] / "pcaps"


def test_one_that_is_killed_in_its_middle_is_judged():
    told = measured(of_folder(PCAPS / "slow_rank", "slow_rank"), 2.0)
    assert (told.faults, told.found, told.wrong, told.flaps) == (1, 1, 0, 0)


def test_it_is_killed_amid_a_fault_or_in_the_middle():
    truth = {"jobs": {"A": {"steps": {"0": [(0, 100, 200), (1, 200, 300)]}}}, "faults": []}
    assert gone_ns(truth) == 200
    assert gone_ns(truth | {"faults": [{"start_ns": 120, "end_ns": 140}]}) == 130
    assert gone_ns(truth | {"faults": [{"start_ns": 120, "end_ns": 120}]}) == 200  # a crash
    assert gone_ns(truth | {"faults": [{"start_ns": 200}]}) == 250
