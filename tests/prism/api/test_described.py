"""Examples are what the service would answer, and fit what it says of its answers."""

import pytest
from jsonschema import Draft202012Validator

from prism.api import app
from prism.api.described import examples
from tests.prism.api.conftest import make_service

DESCRIPTION = app(make_service()).openapi()
JSON_TYPES = ("application/json", "application/problem+json")


def described():
    """Every JSON answer that has a schema: where, schema, example."""
    for path, ways in DESCRIPTION["paths"].items():
        for method, way in ways.items():
            for status, answer in way["responses"].items():
                for kind, content in answer.get("content", {}).items():
                    if kind in JSON_TYPES:
                        yield f"{method} {path} {status}", content


@pytest.mark.parametrize(("where", "content"), list(described()))
def test_every_answer_has_an_example_that_fits_its_schema(where, content):
    if where.endswith(("z 200",)):  # /healthz, /readyz
        return
    schema = content["schema"] | {"components": DESCRIPTION["components"]}
    Draft202012Validator(schema).validate(content["example"])


def test_every_parameter_and_answer_is_told_in_words():
    for path, ways in DESCRIPTION["paths"].items():
        for method, way in ways.items():
            assert way["description"], (method, path)
            assert all(answer["description"] for answer in way["responses"].values())


def test_examples_are_made_once():
    assert examples() is examples()
    assert examples()["job"]["ranks"][1]["endpoint"] == "10.10.1.1"
