import pytest

from prism.api import schemas
from tests.prism.api.conftest import fits


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/board", schemas.Board),
        ("/jobs", schemas.Listed[schemas.JobSummary]),
        ("/jobs/job-1", schemas.Job),
        ("/jobs/job-1/steps?max_cells=50", schemas.Steps),
        ("/jobs/job-1/timeline?max_spans=50", schemas.Timeline),
        ("/jobs/job-1/graph", schemas.Graph),
    ],
)
def test_answers_hold_what_is_written_and_nothing_else(api, path, kind):
    fits(api.get(path).content, kind)
