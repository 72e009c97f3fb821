import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.past.time_spans import S, moment, span, title

NOW = 1_795_214_600 * S


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("now", NOW),
        ("-1h", NOW - 3600 * S),
        ("now-15m", NOW - 900 * S),
        ("2026-11-20T22:43:20Z", NOW),
        ("2026-11-20T22:43:20", NOW),
        ("2026-11-20T23:43:20.5+01:00", NOW + S // 2),
        (str(NOW), NOW),
    ],
)
def test_each_way_to_write_a_time_is_read(text, at):
    assert moment(text, NOW) == at


@pytest.mark.parametrize("text", ["", "soon", "1795214600", "-1y", "1960-01-01", "2026-13-01", "9" * 30])
def test_an_invalid_time_is_an_error(text):
    with pytest.raises(ValueError, match="is not"):
        moment(text, NOW)


@given(st.text(max_size=30))
def test_any_text_is_a_time_or_an_error(text):
    try:
        found = moment(text, NOW)
    except ValueError:
        found = 0
    assert 0 <= found < 1 << 63


def test_a_span_is_in_order():
    assert span("-1h", "now", NOW) == (NOW - 3600 * S, NOW)
    with pytest.raises(ValueError, match="is not after"):
        span("now", "-1h", NOW)
    assert title(NOW, NOW + S) == "2026-11-20T22-43-20Z_2026-11-20T22-43-21Z"
