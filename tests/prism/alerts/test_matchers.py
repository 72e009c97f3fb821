import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.alerts.matchers import Silence, find_silence, parse_matcher, parse_silence


@pytest.mark.parametrize(
    ("text", "labels", "fits"),
    [
        ("severity=critical", {"severity": "critical"}, True),
        ('severity = "critical"', {"severity": "warning"}, False),
        ("severity!=critical", {}, True),
        ("host=~server1.*", {"host": "server12"}, True),
        ("host=~server1", {"host": "server12"}, False),  # the whole value
        ("host!~'server1.*'", {"host": "server12"}, False),
        ("host=", {}, True),  # a label that is not there is empty
        ("host=a=b", {"host": "a=b"}, True),
    ],
)
def test_matchers_fit_as_in_alertmanager(text, labels, fits):
    assert parse_matcher(text).matches(labels) == fits


@pytest.mark.parametrize("text", ["", "critical", "=x", "1a=b", "host=~(", "host~x", "x=" + "y" * 2000, "host=~" + "(" * 900])
def test_an_invalid_matcher_is_refused(text):
    with pytest.raises(ValueError, match=r"matcher|host"):
        parse_matcher(text)


@given(st.text(max_size=40))
def test_any_text_is_a_matcher_or_an_error(text):
    try:
        made = parse_matcher(text)
    except ValueError:
        return
    assert isinstance(made.matches({"a": "b"}), bool)


def test_a_silence_covers_its_time_and_its_labels_only():
    one = Silence("s1", (parse_matcher("job=x"), parse_matcher("host=~a|b")), 10, 20, "me", "cable")
    assert parse_silence(one.to_json()) == one
    covered = [one.covers(labels, at) for labels in ({"job": "x", "host": "a"}, {"job": "x"}) for at in (9, 10, 19, 20)]
    assert covered == [False, True, True, False] + [False] * 4
    longer = Silence("s2", one.matchers, 0, 100)
    assert find_silence({"job": "x", "host": "b"}, [one, longer], 15) == longer
    assert find_silence({"job": "y"}, [one, longer], 15) is None


@pytest.mark.parametrize(
    "fields",
    [
        None,
        [],
        {},
        {"id": "a", "matchers": [], "start_ns": 0, "end_ns": 1},
        {"id": "a", "matchers": ["x=y"], "start_ns": 2, "end_ns": 1},
    ],
)
def test_what_would_silence_all_or_nothing_is_no_silence(fields):
    with pytest.raises(ValueError, match="silence"):
        parse_silence(fields)
