import pytest

from benchmarks import grid
from benchmarks.live_cases import ill, longer, well


@pytest.mark.parametrize("seed", [3, 4])
def test_cases_are_known_before_they_are_ill_and_ill_for_a_while(seed):
    for case in grid.cases(seed, 14):
        more = longer(case, warm=16, warm_s=10, ill_s=8, least_s=0.3, most_s=10)
        job = more.spec.jobs[0]
        step = (job.forward_ms + job.backward_ms) * (job.micro + job.pp - 1) * job.accumulation / 1e3
        assert 0.3 <= round(step, 6) <= 10
        assert job.steps >= case.spec.jobs[0].steps + 16
        for was, now in zip(case.spec.faults, more.spec.faults, strict=True):
            if was.first or was.kind in ("hang", "crash"):
                assert now.first >= 16
                assert now.first * step >= 10 - 1e-6
            assert now.stop is None or (now.stop - now.first) * step >= 8 - 1e-6
            assert now.stop is None or now.stop <= job.steps
            assert now.kind != "hang" or now.seconds >= 8


def test_the_same_may_be_well():
    case = next(case for case in grid.cases(3, 14) if case.spec.faults)
    assert well(longer(case)).spec.faults == ()
    assert well(case).spec.jobs == case.spec.jobs


def test_any_of_them_may_have_any_fault():
    for case in grid.cases(3, 14):
        hangs = ill(case, "hang")
        assert [fault.kind for fault in hangs.spec.faults] == ["hang"]
        assert hangs.spec.jobs == case.spec.jobs
        assert ill(case, "hang") == hangs
