import pytest

from prism.api.schemas import job_schemas, service_schemas
from tests.prism.api.conftest import fits


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/gaps", job_schemas.Listed[job_schemas.Gap]),
        ("/windows", job_schemas.Listed[service_schemas.Window]),
        ("/flows?src=10.0.0.0&dst=10.0.0.1", job_schemas.Listed[service_schemas.Flow]),
        ("/health", service_schemas.Health),
    ],
)
def test_answers_hold_what_is_written_and_nothing_else(api, path, kind):
    fits(api.get(path).content, kind)
