"""Examples are what the service would answer, and fit what it says of its answers."""

import pytest
from jsonschema import Draft202012Validator
from schemathesis.specs.openapi.definitions import OPENAPI_31

from prism.api import app
from prism.api.schemas.openapi import examples
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


def test_the_description_is_valid_openapi():
    """By the schema of OpenAPI 3.1, which leaves the schemas inside to JSON Schema."""
    assert [f"{list(e.path)}: {e.message}" for e in Draft202012Validator(OPENAPI_31).iter_errors(DESCRIPTION)] == []
    inside = list(schemas(DESCRIPTION))
    assert len(inside) > 100
    for schema in inside:
        Draft202012Validator.check_schema(schema)
    names = set(DESCRIPTION["components"]["schemas"])
    assert {place.removeprefix("#/components/schemas/") for place in referred(DESCRIPTION)} <= names


def schemas(value):
    """Every schema in a description."""
    if isinstance(value, dict):
        if isinstance(value.get("schema"), dict):
            yield value["schema"]
        yield from value.get("schemas", {}).values() if isinstance(value.get("schemas"), dict) else ()
        for one in value.values():
            yield from schemas(one)
    if isinstance(value, list):
        for one in value:
            yield from schemas(one)


def referred(value):
    """Every reference in a description."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for one in value.values():
            yield from referred(one)
    if isinstance(value, list):
        for one in value:
            yield from referred(one)
