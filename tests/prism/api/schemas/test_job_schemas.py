import pytest

from prism.api.schemas import job_schemas
from tests.prism.api.conftest import fits


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/board", job_schemas.Board),
        ("/jobs", job_schemas.Listed[job_schemas.JobSummary]),
        ("/jobs/job-1", job_schemas.Job),
        ("/jobs/job-1/steps?max_cells=50", job_schemas.Steps),
        ("/jobs/job-1/timeline?max_spans=50", job_schemas.Timeline),
        ("/jobs/job-1/graph", job_schemas.Graph),
    ],
)
def test_answers_hold_what_is_written_and_nothing_else(api, path, kind):
    fits(api.get(path).content, kind)
