import pytest

from prism.api.schemas import finding_schemas, job_schemas
from tests.prism.api.conftest import fits


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/findings", job_schemas.Listed[finding_schemas.Case]),
        ("/findings/closed", finding_schemas.CaseMore),
        ("/hosts", job_schemas.Listed[finding_schemas.Host]),
        ("/switches", finding_schemas.Switches),
    ],
)
def test_answers_hold_what_is_written_and_nothing_else(api, path, kind):
    fits(api.get(path).content, kind)
