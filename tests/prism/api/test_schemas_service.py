import pytest

from prism.api import schemas, schemas_service
from tests.prism.api.conftest import fits


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/gaps", schemas.Listed[schemas.Gap]),
        ("/windows", schemas.Listed[schemas_service.Window]),
        ("/flows?src=10.0.0.0&dst=10.0.0.1", schemas.Listed[schemas_service.Flow]),
        ("/health", schemas_service.Health),
    ],
)
def test_answers_hold_what_is_written_and_nothing_else(api, path, kind):
    fits(api.get(path).content, kind)
