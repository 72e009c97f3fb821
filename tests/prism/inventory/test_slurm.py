import pytest

from prism.inventory import slurm
from tests.prism.inventory import documents
from tests.prism.inventory.documents import START_S

S = 10**9


def jobs(document):
    return list(slurm.jobs(document, "jobs.json"))


def test_a_running_job_has_its_hosts_and_no_end():
    (job,) = jobs(documents.slurm())
    assert job["id"] == "4711"
    assert (job["name"], job["user"], job["queue"]) == ("llama-70b", "ada", "gpu")
    assert job["hosts"] == tuple(f"server{i}" for i in range(8))
    assert (job["start_ns"], job["end_ns"]) == (START_S * S, 0)  # its end is only the limit


def test_plain_numbers_and_states_of_older_versions_are_read():
    (job,) = jobs(documents.slurm(start_time=START_S, end_time=START_S + 60, job_state="COMPLETED", array_task_id=None))
    assert (job["start_ns"], job["end_ns"]) == (START_S * S, (START_S + 60) * S)


def test_a_task_of_an_array_is_named_by_both():
    task = {"array_job_id": {"set": True, "number": 70}, "array_task_id": {"set": True, "infinite": False, "number": 3}}
    assert jobs(documents.slurm(**task))[0]["id"] == "70_3"


def test_jobs_without_hosts_are_left_out():
    waiting = {"job_id": 1, "job_state": ["PENDING"], "nodes": ""}
    never = {"job_id": 2, "job_state": ["CANCELLED"], "nodes": ""}
    assert len(jobs(documents.slurm(waiting, never))) == 1


def test_a_name_with_control_characters_is_shown_without_them():
    assert jobs(documents.slurm(name="a\nb\x1b[31m"))[0]["name"] == "a\ufffdb\ufffd[31m"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"nodes": 5}, r"jobs\[0\]\.nodes: must be a host list"),
        ({"nodes": "a[1"}, r"jobs\[0\]\.nodes: a bracket"),
        ({"job_state": 5}, r"jobs\[0\]\.job_state"),
        ({"start_time": "soon"}, r"jobs\[0\]\.start_time: must be a whole number"),
        ({"start_time": {"set": True, "number": -5}}, r"jobs\[0\]\.start_time"),
        ({"name": ["a"]}, r"jobs\[0\]\.name: must be text"),
    ],
)
def test_what_cannot_be_meant_is_an_error_with_its_place(changed, why):
    with pytest.raises(ValueError, match=f"^jobs.json: {why}"):
        jobs(documents.slurm(**changed))
