import httpx
import pytest

from prism.api.requests.moments import LAST, add_time_texts, parse_time, rfc3339


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1795214542677184076", 1795214542677184076),
        ("1970-01-01T00:00:01Z", 10**9),
        ("1970-01-01T01:00:01.000000002+01:00", 10**9 + 2),
        ("1970-01-01T01:00:01 01:00", 10**9),
        ("1969-12-31T23:59:59Z", 0),
        ("9999-12-31T23:59:59Z", LAST),
    ],
)
def test_moments_are_nanoseconds_or_rfc_3339(text, expected):
    assert parse_time(text) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "2026-11-25", "2026-11-25T07:00:00", "2026-13-25T07:00:00Z", "-1", "9" * 19])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="2026-11-25T07:00:00Z"):
        parse_time(text)


def test_both_forms_select_the_same_findings(url):
    def ids(since):
        answer = httpx.get(f"{url}/api/v1/findings", params={"until_ns": since})
        assert answer.status_code == 200
        return [one["id"] for one in answer.json()["items"]]

    assert ids("1970-01-01T00:00:01Z") == ids(str(10**9)) == ["closed"]


def test_a_wrong_time_is_a_problem_with_an_example(url):
    answer = httpx.get(f"{url}/api/v1/findings", params={"since_ns": "yesterday"})
    assert answer.status_code == 400
    assert "2026-11-25T07:00:00Z" in answer.json()["detail"]


def test_every_moment_of_an_answer_is_also_rfc_3339():
    found = add_time_texts({"items": [{"start_ns": "1795214542677184076", "closed_ns": None, "busy_ns": 5}], "at_ns": "0"})
    assert found == {
        "items": [
            {
                "start_ns": "1795214542677184076",
                "start_time": "2026-11-20T22:42:22.677184076Z",
                "closed_ns": None,
                "closed_time": None,
                "busy_ns": 5,
            }
        ],
        "at_ns": "0",
        "at_time": None,
    }


@pytest.mark.parametrize("time_ns", [1, 10**9 - 1, 1795214542677184076, LAST])
def test_what_is_written_is_read_again(time_ns):
    assert parse_time(rfc3339(time_ns)) == time_ns
