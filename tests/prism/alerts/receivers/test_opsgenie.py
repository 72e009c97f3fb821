import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from prism.alerts.alert_settings import Secret
from prism.alerts.receivers.opsgenie import alias, opsgenie
from prism.alerts.receivers.webhook_bodies import post
from tests.prism.alerts.stories import NOW, alerts_of, case, notification, receiver

ONE = alerts_of(case(), external_url="https://prism.example")[0]
GENIE = receiver(kind="opsgenie", url="https://api.opsgenie.com", token=Secret("k3y"))


def test_a_group_is_opened_and_closed_by_its_alias():
    told, over = notification(ONE), notification(replace(ONE, ended_ns=NOW))
    made = post(told, GENIE, now_ns=NOW)
    assert made.url == "https://api.opsgenie.com/v2/alerts"
    assert ("Authorization", "GenieKey k3y") in made.headers
    body = json.loads(made.body)
    assert (body["alias"], body["priority"], body["entity"]) == (alias(told), "P3", "server5")
    assert body["details"]["finding"] == "https://prism.example/#/findings/c1"
    ended = post(over, GENIE, now_ns=NOW)
    assert ended.url == f"https://api.opsgenie.com/v2/alerts/{alias(told)}/close?identifierType=alias"
    assert set(json.loads(ended.body)) == {"source", "note"}


@given(st.text(max_size=20_000))
def test_its_limits_are_kept(text):
    made = opsgenie(notification(replace(ONE, annotations={"summary": text, "description": text})))
    assert len(made["message"]) <= 130
    assert len(made["description"]) <= 15_000
