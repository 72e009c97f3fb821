"""The whole interface, as its own description says it is."""

import os
from collections import Counter

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import positive_data_acceptance

from prism.api.server.web_server import served
from prism.past.uploads import Bounds, Uploads
from tests.prism.api.conftest import make_service

EXAMPLES = int(os.environ.get("PRISM_EXAMPLES", "7"))  # more of them by hand
STREAMS = "/api/v1/events"  # has no end
UPLOADS = "/api/v1/replays"  # begins a process for each
DIAGNOSES = "/api/v1/diagnoses"  # too
UNDESCRIBED = (positive_data_acceptance, not_a_server_error)  # a topology is no octets; a full spool is a 503 that is described
SPOOL = Bounds(uploads=3, octets=1 << 20, seconds=0.01)  # a process ends before it could begin


def test_every_answer_is_as_described(url):
    schema = schemathesis.openapi.from_url(f"{url}/api/v1/openapi.json")
    rest = schema.exclude(path=STREAMS).exclude(path=UPLOADS, method="POST").exclude(path=DIAGNOSES)
    operations = [found.ok() for found in rest.get_all_operations()]
    assert len(operations) >= 20
    for operation in operations:
        _try(operation, url)


def test_whatever_is_uploaded_is_answered_as_described_and_the_spool_stays_bounded(tmp_path):
    with Uploads(tmp_path / "spool", SPOOL) as uploads, served(make_service(uploads=uploads)) as port:
        url = f"http://127.0.0.1:{port}"
        schema = schemathesis.openapi.from_url(f"{url}/api/v1/openapi.json")
        (upload,) = (found.ok() for found in schema.include(path=UPLOADS, method="POST").get_all_operations())
        answered = _try(upload, url, examples=3 * EXAMPLES, excluded=UNDESCRIBED)
        assert answered[202]
        (again,) = (found.ok() for found in schema.include(path=DIAGNOSES).get_all_operations())
        _try(again, url)
        assert len(uploads.all()) <= SPOOL.uploads
        assert sum(path.stat().st_size for path in uploads.folder.rglob("*") if path.is_file()) <= SPOOL.octets
    assert not list(uploads.folder.iterdir())


def _try(operation, url, *, examples=EXAMPLES, excluded=()):
    """Ask as its description says one may, and otherwise; how often each status was the answer."""
    answered = Counter()

    @given(operation.as_strategy())
    @settings(max_examples=examples, phases=(Phase.generate,), suppress_health_check=list(HealthCheck), deadline=None)
    def follows_its_description(case):
        answered[case.call_and_validate(base_url=url, excluded_checks=list(excluded)).status_code] += 1

    follows_its_description()
    return answered
