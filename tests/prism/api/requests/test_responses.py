import csv
import io
import json

import httpx
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.api.requests.responses import CSV, JSON, PARQUET, as_csv, as_parquet, flatten, preferred_form
from prism.api.server.web_server import served
from prism.tracking.board import Board
from tests.prism.api.conftest import make_service


def test_what_a_client_has_already_is_not_sent_again(api):
    first = api.get("/jobs")
    tag = first.headers["etag"]
    again = api.get("/jobs", headers={"If-None-Match": f'"x", {tag}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == tag
    for other in ('"x"', tag[:-2] + '"', tag.removesuffix('"')):
        assert api.get("/jobs", headers={"If-None-Match": other}).status_code == 200
    as_csv_ = api.get("/jobs", headers={"Accept": CSV, "If-None-Match": tag})
    assert as_csv_.status_code == 200
    assert "Accept" in as_csv_.headers["vary"]


def test_a_new_board_has_a_new_tag():
    service = make_service()
    with served(service) as port:
        url = f"http://127.0.0.1:{port}/api/v1/jobs"
        tag = httpx.get(url).headers["etag"]
        assert httpx.get(url, headers={"If-None-Match": tag}).status_code == 304
        service.boards.publish(Board(revision=2))
        assert httpx.get(url, headers={"If-None-Match": tag}).json()["items"] == []


def test_another_service_has_other_tags():
    """A browser that knew the service which had the port before would show the old board."""
    with served(make_service()) as port:
        tag = httpx.get(f"http://127.0.0.1:{port}/api/v1/jobs").headers["etag"]
    with served(make_service()) as port:
        assert httpx.get(f"http://127.0.0.1:{port}/api/v1/jobs", headers={"If-None-Match": tag}).status_code == 200


def test_how_old_a_board_is_never_comes_from_a_cache():
    """A client that has the board would go on believing it is young."""
    with served(make_service()) as port:
        url = f"http://127.0.0.1:{port}/api/v1/board"
        first = httpx.get(url, headers={"If-None-Match": "*"})
        assert (first.status_code, "etag" in first.headers) == (200, False)
        assert httpx.get(url).json()["age_s"] >= first.json()["age_s"]


def test_head_and_304_have_the_headers_of_the_whole_answer(api):
    whole = api.get("/jobs/job-1")
    tag = {"If-None-Match": whole.headers["etag"]}
    for other in (api.head("/jobs/job-1"), api.head("/jobs/job-1", headers=tag), api.get("/jobs/job-1", headers=tag)):
        assert other.content == b""
        for name in ("etag", "cache-control", "vary"):
            assert other.headers[name] == whole.headers[name]


@pytest.mark.parametrize(("path", "forms"), [("/jobs", (JSON, CSV, PARQUET)), ("/board", (JSON,)), ("/switches", (JSON, CSV))])
def test_a_form_that_is_not_there_is_refused_with_those_that_are(api, path, forms):
    answer = api.get(path, headers={"Accept": "application/xml"})
    assert answer.status_code == 406
    assert answer.headers["content-type"] == "application/problem+json"
    assert "Accept" in answer.headers["vary"]
    assert all(form in answer.json()["detail"] for form in forms)
    assert api.head(path, headers={"Accept": "application/xml"}).status_code == 406


@pytest.mark.parametrize(
    "path", ["/jobs", "/findings", "/hosts", "/windows", "/gaps", "/links", "/flows?src=10.0.0.0&dst=10.0.0.1", "/replays"]
)
def test_lists_come_as_tables_too(api, path):
    items = api.get(path).json()["items"]
    text = api.get(path, headers={"Accept": "text/csv, application/json;q=0.5"})
    assert text.headers["content-type"].startswith("text/csv")
    assert len(list(csv.DictReader(io.StringIO(text.text)))) == len(items)
    table = pq.read_table(io.BytesIO(api.get(path, headers={"Accept": PARQUET}).content))
    assert table.num_rows == len(items)
    for row, item in zip(table.to_pylist(), items, strict=True):
        assert {name: value for name, value in row.items() if value is not None} == {
            name: value for name, value in flatten(item).items() if value is not None
        }


def test_switches_as_a_table_are_the_switches_alone(api):
    table = pq.read_table(io.BytesIO(api.get("/switches", headers={"Accept": PARQUET}).content))
    assert table["id"].to_pylist() == [item["id"] for item in api.get("/switches").json()["items"]]


def test_what_comes_from_live_records_has_no_tag(api):
    for path in ("/switches", "/links", "/flows?src=10.0.0.0&dst=10.0.0.1"):
        assert "etag" not in api.get(path).headers


def test_large_answers_are_packed(api):
    assert api.get("/jobs/job-1", headers={"Accept-Encoding": "gzip"}).headers["content-encoding"] == "gzip"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("text/html", None),
        ("text/html, */*;q=0.1", JSON),
        ("text/*", CSV),
        ("application/*;q=0.5, text/csv;q=0.4", JSON),
        ("application/json;q=0, */*", CSV),
        ("application/json;q=0", None),
        ("text/csv", CSV),
        ("text/csv;q=0.1, application/json;q=0.2", JSON),
        ("text/csv;q=0, application/vnd.apache.parquet;q=0.3", PARQUET),
        ("text/csv;q=NaN", JSON),
        (";;,,=;q=", JSON),
    ],
)
def test_the_form_a_client_likes_best(accept, form):
    assert preferred_form(accept) == form


@given(st.text())
def test_any_accept_header_is_understood(text):
    assert preferred_form(text) in (JSON, CSV, PARQUET, None)


values = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(max_size=5)
items = st.lists(st.dictionaries(st.sampled_from("abc"), values | st.lists(values, max_size=2), max_size=3), max_size=4)


@given(items)
def test_any_items_make_tables(rows):
    names = {name for row in rows for name in row}
    assert set(pq.read_schema(io.BytesIO(as_parquet(rows))).names) == names
    assert set(next(csv.reader(io.StringIO(as_csv(rows).decode())), [])) == names


def test_what_is_nested_is_joined_by_dots():
    assert flatten({"a": {"b": {"c": 1}}, "d": [1, {"e": 2}]}) == {"a.b.c": 1, "d": json.dumps([1, {"e": 2}])}


def test_no_cell_of_a_table_for_spreadsheets_is_a_formula():
    formulas = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"]
    told = list(
        csv.DictReader(io.StringIO(as_csv([{"=name": text, "number": -1.5} for text in formulas]).decode(), newline=""))
    )
    assert [row["'=name"] for row in told] == [f"'{text}" for text in formulas]
    assert {row["number"] for row in told} == {"-1.5"}
