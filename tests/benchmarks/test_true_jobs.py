from benchmarks.accuracy import of_folder
from benchmarks.true_jobs import asked_cases, cases, evidence, part, places
from tests.benchmarks.test_sensitivity import folder  # noqa: F401


def test_a_job_counts_once_and_only_if_its_members_spoke(folder):  # noqa: F811
    (one,) = cases(of_folder(folder / "ring", "ring"))
    assert one.name == "ring A"
    assert len(one.members) == 4
    assert one.layout == {"dp": 4, "pp": 1}
    assert evidence(one) is not None


def test_a_part_holds_some_whole_steps_and_the_members_keep_their_places(folder):  # noqa: F811
    (one,) = cases(of_folder(folder / "ring", "ring"))
    problem = evidence(one)
    some = part(one, problem)
    assert some is None or 5 <= evidence(some).steps.count <= 12
    assert sorted(places(problem, one.job).values()) == list(range(4))


def test_captures_and_grids_are_asked_for_together(folder):  # noqa: F811
    asked, found = asked_cases("kinds", "Fit.", [str(folder), "--grid", "7:1", "--penalty", "2"], penalty=1.0)
    assert asked.penalty == 2
    assert {one.origin for one in found} == {folder.name, "grid"}


def test_captures_may_be_joined_to_one_origin(folder):  # noqa: F811
    _, found = asked_cases("kinds", "Fit.", [f"one simulator={folder}"])
    assert {one.origin for one in found} == {"one simulator"}
