import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.alerts.alert_settings import Retrying
from prism.alerts.receivers.delivery_results import DAY, Delivery, interpret_status, parse_retry_after, update_notification
from tests.prism.alerts.stories import NOW, S, notification

AGAIN = Delivery(False, "HTTP 500", may_retry=True)


@pytest.mark.parametrize(
    ("status", "ok", "again", "gone"),
    [
        *((status, True, False, False) for status in (200, 202, 204)),
        *((status, False, True, False) for status in (301, 302, 307, 308, 429, 500, 502, 503, 504)),
        *((status, False, False, False) for status in (400, 401, 403, 404, 413, 422)),
        (410, False, False, True),
    ],
)
def test_what_a_status_means(status, ok, again, gone):
    found = interpret_status(status)
    assert (found.ok, found.may_retry, found.gone) == (ok, again, gone)
    assert str(status) in found.why


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("", 0.0), ("120", 120.0), (" 7 ", 7.0), ("-1", 0.0), ("soon", 0.0), ("999999999999", DAY), ("1.5", 0.0), ("²", 0.0)),
        ("Fri, 20 Nov 2026 22:45:00 GMT", 300.0),
        ("Fri, 20 Nov 2026 22:35:00 GMT", 0.0),
        ("Fri, 20 Nov 9999 22:35:00 GMT", DAY),
        ("Fri, 32 Nov 2026 22:35:00 GMT", 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(text, seconds):
    assert parse_retry_after(text, now_s=1795214400.0) == seconds


@given(st.text(max_size=40))
def test_any_header_is_a_time_to_wait(text):
    assert 0 <= parse_retry_after(text, now_s=0.0) <= DAY


def test_retries_come_when_they_should_and_end():
    told, now, pauses = notification(next_ns=NOW), NOW, []
    while told.state == "waiting":
        told = update_notification(told, AGAIN, now, Retrying(), 1.0)
        if told.state == "waiting":
            pauses.append((told.next_ns - now) / S / 1.1)
            now = told.next_ns
    assert pauses == pytest.approx(Retrying().after_s)
    assert (told.state, told.tries, told.error) == ("dead", 10, "HTTP 500; given up after 10 attempts")


@given(st.floats(0, 1), st.floats(0, 1e5), st.integers(0, 20))
def test_a_retry_is_never_before_what_was_requested(chance, asked, tries):
    found = update_notification(notification(tries=tries), Delivery(False, "HTTP 503", True, asked), NOW, Retrying(), chance)
    least = max(asked, Retrying().after_s[min(tries, 8)]) * S
    assert least - 1 <= found.next_ns - NOW <= least * 1.1 + 1
    assert found.tries == tries + 1


def test_what_cannot_be_mended_is_dead_at_once():
    assert update_notification(notification(), Delivery(False, "HTTP 400"), NOW, Retrying(), 0).state == "dead"
    done = update_notification(notification(error="HTTP 500"), Delivery(True, "HTTP 200"), NOW, Retrying(), 0)
    assert (done.state, done.error, done.done_ns) == ("sent", "", NOW)
