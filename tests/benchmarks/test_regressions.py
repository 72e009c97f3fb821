from benchmarks.regressions import run


def test_a_run_of_the_simulator():
    own, true = run("ddp", 1, 1.0, 8)
    assert own is not None
    assert abs(own.step_s.median / true - 1) < 0.02
