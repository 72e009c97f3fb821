import pytest

from prism.logs.parsing.log_scanner import Kinds, scan
from prism.logs.patterns.healthy_lines import learn
from prism.logs.patterns.log_diagnosis import diagnose

ERROR = b"KeyError: 'x'\n"


def steps(low, high):
    return "".join(f" [2024-11-26 05:17:{i:02d}] iteration {i:8d}/ 50 | lm loss: 1.0 |\n" for i in range(low, high)).encode()


def run(*texts, **known):
    kinds = Kinds()
    return diagnose([scan(f"rank{i}.log", [text], kinds, rank=i) for i, text in enumerate(texts)], **known)


def test_an_error_after_which_training_goes_on_is_survived():
    said = run(steps(0, 9) + ERROR + steps(9, 20))
    assert not said.failed
    assert len(said.survived) == 1
    assert said.stage == "training"


@pytest.mark.parametrize(
    ("text", "stage"),
    [
        (b"", "start-up"),
        (steps(0, 9), "training"),
        (steps(0, 9) + b"saving checkpoint at iteration 9 to /x\n", "checkpoint"),
        (steps(0, 9) + b"saving checkpoint at iteration 9 to /x\n successfully saved checkpoint\n", "training"),
    ],
)
def test_the_stage_in_which_it_failed(text, stage):
    said = run(text + ERROR, steps(0, 3))
    assert said.failed == (stage != "x")
    assert said.stage == ("training" if stage == "start-up" else stage)


def test_what_healthy_runs_print_too_is_no_evidence():
    noise = b"ERROR: plug-in not found, cannot start metrics\nRuntimeError: no metrics\n"
    healthy = learn(scan("h", [noise], Kinds()).events())
    assert run(steps(0, 9) + noise).failed
    assert not run(steps(0, 9) + noise, healthy=healthy).failed
    assert run(steps(0, 9) + noise + ERROR, healthy=healthy).cause == "user code"


def test_clocks_in_other_zones_are_corrected():
    far = "".join(f"2024-11-26 07:17:{i:02d} step {i} loss 1\n" for i in range(9)).encode()
    near = "".join(f"2024-11-26 05:17:{i:02d} step {i} loss 1\n" for i in range(12)).encode()
    said = run(near, far)
    assert any("time zone (+2 h)" in note for note in said.notes)


def test_an_end_and_a_warning_are_no_failure():
    end = b"[after training is done] datetime: 2024\n[W1126 05:21:08.6 x.cpp:207] [c10d] recvValue failed\n"
    assert run(steps(0, 9) + end).stage == "finished"
    assert not run().failed
    assert not run(b"\x00\xff\x1b[" * 500).failed
