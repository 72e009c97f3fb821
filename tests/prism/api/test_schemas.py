import pytest
from pydantic import TypeAdapter, ValidationError

from prism.api import schemas


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/board", schemas.Board),
        ("/jobs", schemas.Listed[schemas.JobSummary]),
        ("/jobs/job-1", schemas.Job),
        ("/jobs/job-1/steps?max_cells=50", schemas.Steps),
        ("/jobs/job-1/timeline?max_spans=50", schemas.Timeline),
        ("/jobs/job-1/graph", schemas.Graph),
        ("/findings", schemas.Listed[schemas.Case]),
        ("/findings/closed", schemas.CaseMore),
        ("/hosts", schemas.Listed[schemas.Host]),
        ("/switches", schemas.Switches),
        ("/windows", schemas.Listed[schemas.Window]),
        ("/flows?src=10.0.0.0&dst=10.0.0.1", schemas.Listed[schemas.Flow]),
        ("/health", schemas.Health),
    ],
)
def test_answers_hold_what_is_written_and_nothing_else(api, path, kind):
    text = api.get(path).content
    TypeAdapter(kind).validate_json(text, strict=True)
    with pytest.raises(ValidationError):
        TypeAdapter(kind).validate_json(text[:-1] + b',"more":1}', strict=True)
