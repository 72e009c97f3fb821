from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from prism.alerts.receivers.slack import headline, slack
from tests.prism.alerts.stories import NOW, alerts_of, case, finding, notification

ONE = alerts_of(case(), external_url="https://prism.example")[0]


def test_the_message_begins_with_the_worst():
    crash = alerts_of(case("c2", finding("crash", ("10.0.1.1",), severity="critical")))[0]
    made = slack(notification(ONE, crash), "https://prism.example")
    assert made["text"] == "CRITICAL: Crash of 10.0.1.1 (server1): job job1 stopped (and 1 more)"
    assert [block["type"] for block in made["blocks"]] == ["header", "section", "section", "context"]
    assert made["blocks"][2]["text"]["text"].startswith("*WARNING* <https://prism.example/#/findings/c1|Slow rank 10.0.5.1")
    assert headline(notification(replace(ONE, ended_ns=NOW))).startswith("RESOLVED: Slow rank")


@given(st.text(max_size=8000), st.integers(1, 60))
def test_slack_s_limits_are_kept_and_nobody_is_mentioned(text, many):
    told = notification(*[replace(ONE, annotations={"summary": text + "<!channel>", "description": text + "&<@U1>"})] * many)
    made = slack(told, "https://prism.example")
    assert len(made["blocks"]) <= 50
    assert len(made["blocks"][0]["text"]["text"]) <= 150
    for block in made["blocks"][1:-1]:
        assert len(block["text"]["text"]) <= 3000
        assert "<!" not in block["text"]["text"]
        assert "<@" not in block["text"]["text"]
    assert ("more" in made["blocks"][-1]["elements"][0]["text"]) == (many > 10)
