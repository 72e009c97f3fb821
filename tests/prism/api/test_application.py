"""The whole interface, as its own description says it is."""

import os

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

EXAMPLES = int(os.environ.get("PRISM_EXAMPLES", "7"))  # more of them by hand
STREAMS = "/api/v1/events"  # has no end
UPLOADS = "/api/v1/replays"  # begins a process for each


def test_every_answer_is_as_described(url):
    schema = (
        schemathesis.openapi.from_url(f"{url}/api/v1/openapi.json").exclude(path=STREAMS).exclude(path=UPLOADS, method="POST")
    )
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) >= 20
    for operation in operations:
        _try(operation, url)


def _try(operation, url):
    @given(operation.as_strategy())
    @settings(max_examples=EXAMPLES, phases=(Phase.generate,), suppress_health_check=list(HealthCheck), deadline=None)
    def follows_its_description(case):
        case.call_and_validate(base_url=url)

    follows_its_description()
