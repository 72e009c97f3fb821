import pytest

from prism.api import schemas, schemas_findings
from tests.prism.api.conftest import fits


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/findings", schemas.Listed[schemas_findings.Case]),
        ("/findings/closed", schemas_findings.CaseMore),
        ("/hosts", schemas.Listed[schemas_findings.Host]),
        ("/switches", schemas_findings.Switches),
    ],
)
def test_answers_hold_what_is_written_and_nothing_else(api, path, kind):
    fits(api.get(path).content, kind)
