from benchmarks.true_jobs import cases, evidence
from tests.benchmarks.test_sensitivity import folder  # noqa: F401


def test_a_job_counts_once_and_only_if_its_members_spoke(folder):  # noqa: F811
    (one,) = cases(folder / "ring", "ring")
    assert one.name == "ring A"
    assert len(one.members) == 4
    assert one.layout == {"dp": 4, "pp": 1}
    assert evidence(one) is not None
