import dataclasses
import json

import pytest

from prism.model import NO_PHASES, Diagnosis
from prism.report.trace_files import check_folder, is_folder, write


def test_a_folder_is_one_or_ends_as_one(tmp_path):
    assert is_folder(str(tmp_path))
    assert is_folder("new/")
    assert not is_folder(str(tmp_path / "t.json"))


def test_a_file_gets_the_trace(diagnosis, tmp_path):
    assert write(str(tmp_path / "t.json"), diagnosis) == ()
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]


def test_a_folder_gets_a_file_per_rank_and_loses_those_of_ranks_that_are_no_more(diagnosis, tmp_path):
    (tmp_path / "job-job-1").mkdir()
    for name in ("rank12.json", "notes.txt"):
        (tmp_path / "job-job-1" / name).write_text("old")
    assert write(str(tmp_path), diagnosis) == []
    names = sorted(path.name for path in (tmp_path / "job-job-1").iterdir())
    assert names == ["notes.txt", *(f"rank{r}.json" for r in range(8))]


def test_a_job_without_steps_is_said_to_have_none(diagnosis, tmp_path):
    (found,) = diagnosis.jobs
    still = dataclasses.replace(found, timeline=dataclasses.replace(found.timeline, phases=NO_PHASES))
    assert write(f"{tmp_path}/t/", dataclasses.replace(diagnosis, jobs=(still,))) == [
        "job job-1: no steps were detected, so no trace of its ranks is written"
    ]


def test_names_from_other_reports_stay_in_the_folder(diagnosis, make_job, tmp_path):
    names = ("..", ".", "../a", "a/b", "a%2Fb", "/etc", "\0", "é \\", "")
    jobs = tuple(make_job(name, ranks=4, steps=2) for name in names)
    write(f"{tmp_path}/in/", Diagnosis(diagnosis.source, jobs, ()))
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert len(list((tmp_path / "in").iterdir())) == len(names)


def test_folders_that_cannot_be_written_are_reported_before_any_work(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="is a file; name a folder"):
        check_folder(f"{tmp_path}/file/")
    with pytest.raises(ValueError, match="does not exist"):
        check_folder(f"{tmp_path}/no/t/")
    check_folder(f"{tmp_path}/t/")
    check_folder(str(tmp_path))
