from dataclasses import replace
from email import message_from_bytes
from email.policy import default

from hypothesis import given
from hypothesis import strategies as st

from prism.alerts.receivers.email import email
from tests.prism.alerts.stories import NOW, alerts_of, case, notification, receiver

ONE = alerts_of(case(), external_url="https://prism.example")[0]
MAIL = receiver(kind="email", url="smtp://10.0.0.25", sender="prism@example.com", to=("a@example.com", "b@example.com"))


def read(told):
    return message_from_bytes(email(told, MAIL, "https://prism.example"), policy=default)


def test_a_message_says_what_is_wrong_in_text_and_html():
    made = read(notification(ONE))
    assert made["Subject"].startswith("WARNING: Slow rank 10.0.5.1 (server5)")
    assert made["To"] == "a@example.com, b@example.com"
    assert made["Auto-Submitted"] == "auto-generated"
    assert "Isolate server5 first" in made.get_body(("plain",)).get_content()
    assert '<a href="https://prism.example/#/findings/c1">' in made.get_body(("html",)).get_content()


def test_messages_of_a_group_are_one_thread_and_a_repeated_one_is_the_same():
    begin, end = notification(ONE), notification(replace(ONE, ended_ns=NOW), name="prism_2")
    assert read(begin)["References"] == read(end)["References"]
    assert read(begin)["Message-ID"] == read(begin)["Message-ID"] != read(end)["Message-ID"]


@given(st.text(max_size=2000))
def test_no_text_adds_a_header_or_markup(text):
    made = read(notification(replace(ONE, annotations={"summary": text + "\nBcc: x@y", "description": text + "<script>"})))
    assert made["Bcc"] is None
    assert "<script>" not in made.get_body(("html",)).get_content()
