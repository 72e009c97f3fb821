import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from prism.alerts.receivers.teams import teams
from tests.prism.alerts.stories import NOW, alerts_of, case, finding, notification

ONE = alerts_of(case(), external_url="https://prism.example")[0]


def card(told):
    return teams(told, "https://prism.example")["attachments"][0]["content"]


def test_the_card_begins_with_the_worst_and_links_to_it():
    crash = alerts_of(case("c2", finding("crash", ("10.0.1.1",), severity="critical")), external_url="https://prism.example")[0]
    made = card(notification(ONE, crash))
    assert made["body"][0]["text"].startswith("CRITICAL: Crash of 10.0.1.1 \\(server1\\)")
    assert [block["color"] for block in made["body"] if "color" in block] == ["attention", "warning"]
    assert made["actions"][0]["url"] == "https://prism.example/#/findings/c2"
    over = card(notification(replace(ONE, ended_ns=NOW)))
    assert over["body"][1]["color"] == "good"
    assert teams(notification(ONE))["type"] == "message"


@given(st.text(max_size=8000), st.integers(1, 60))
def test_a_message_stays_below_its_limit_and_holds_no_markdown(text, many):
    told = notification(*[replace(ONE, annotations={"summary": text, "description": text + "[a](http://b)"})] * many)
    made = teams(told)
    assert all("[a](" not in block["text"] for block in made["attachments"][0]["content"]["body"])
    if text.isascii() and "\\" not in text:
        assert len(json.dumps(made)) < 56_000  # escapes at most double it
    assert ("more" in made["attachments"][0]["content"]["body"][-1]["text"]) == (many > 8)
