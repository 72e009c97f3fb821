import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.alerts.alert_settings import KINDS, Secret
from prism.alerts.receivers.webhook_bodies import ZERO_TIME, post, rfc3339, shared_entries
from tests.prism.alerts.stories import NOW, S, alerts_of, case, finding, notification, receiver

SECRET = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
ONE = alerts_of(case(), external_url="https://prism.example")[0]
OTHER = alerts_of(case("c2", finding("crash", ("10.0.1.1",), severity="critical")))[0]
BOTH = notification(ONE, OTHER)
OVER = notification(replace(ONE, ended_ns=NOW))


def body(told, kind, **more):
    found = post(told, receiver(kind=kind, **more), external_url="https://prism.example", now_ns=NOW)
    return json.loads(found.body)


def test_the_webhook_body_has_alertmanager_s_fields():
    made = body(BOTH, "webhook")
    assert made | {"alerts": 0, "commonLabels": 0} == {
        "version": "4",
        "groupKey": '{}:{job="job1"}',
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": "hook",
        "groupLabels": {"job": "job1"},
        "commonLabels": 0,
        "commonAnnotations": shared_entries([ONE.annotations, OTHER.annotations]),
        "externalURL": "https://prism.example",
        "alerts": 0,
    }
    assert made["commonLabels"] == {"job": "job1", "subject": "endpoint"}
    assert made["alerts"][0] == {
        "status": "firing",
        "labels": dict(ONE.labels),
        "annotations": dict(ONE.annotations),
        "startsAt": rfc3339(ONE.started_ns),
        "endsAt": ZERO_TIME,
        "generatorURL": "https://prism.example/#/findings/c1",
        "fingerprint": ONE.fingerprint,
    }
    over = body(OVER, "webhook")
    assert (over["status"], over["alerts"][0]["status"], over["alerts"][0]["endsAt"]) == ("resolved", "resolved", rfc3339(NOW))


def test_an_alertmanager_believes_it_for_four_refreshes():
    (first, second) = body(notification(ONE, replace(OTHER, ended_ns=NOW)), "alertmanager", refresh_s=60.0)
    assert (first["endsAt"], second["endsAt"]) == (rfc3339(NOW + 240 * S), rfc3339(NOW))
    assert set(first) == {"labels", "annotations", "startsAt", "endsAt", "generatorURL"}
    assert "generatorURL" not in second
    for url in ("http://am:9093", "http://am:9093/", "http://am:9093/api/v2/alerts"):
        assert post(BOTH, receiver(kind="alertmanager", url=url), now_ns=NOW).url == "http://am:9093/api/v2/alerts"


def test_pagerduty_opens_and_resolves_one_incident_per_group():
    made, over = body(BOTH, "pagerduty", routing_key=Secret("k" * 32)), body(OVER, "pagerduty")
    assert (made["event_action"], over["event_action"]) == ("trigger", "resolve")
    assert made["dedup_key"] == over["dedup_key"] != body(notification(ONE, group="{}:{}"), "pagerduty")["dedup_key"]
    assert len(made["dedup_key"]) <= 255
    assert made["routing_key"] == "k" * 32
    assert made["payload"]["summary"] == "Crash of 10.0.1.1 (server1): job job1 stopped (and 1 more)"  # the worst of it
    assert (made["payload"]["severity"], made["payload"]["source"]) == ("critical", "server1")
    long = replace(ONE, annotations={"summary": "x" * 5000, "description": "y" * 50_000})
    assert len(body(notification(long, long), "pagerduty")["payload"]["summary"]) == 1024
    assert len(json.dumps(body(notification(*[long] * 50), "pagerduty"))) < 512 * 1024  # what PagerDuty takes


def test_a_signed_one_has_the_same_inside_and_is_signed():
    made = body(BOTH, "signed", secrets=(SECRET,))
    assert (made["type"], made["timestamp"], made["data"]) == ("alerts.firing", rfc3339(NOW), body(BOTH, "webhook"))
    headers = dict(post(BOTH, receiver(kind="signed", secrets=(SECRET, SECRET)), now_ns=NOW).headers)
    assert (headers["webhook-id"], headers["webhook-timestamp"]) == (BOTH.id, str(NOW // S))
    assert headers["webhook-signature"].count("v1,") == 2
    assert "webhook-signature" not in dict(post(BOTH, receiver(), now_ns=NOW).headers)
    assert dict(post(BOTH, receiver(token=Secret("t0k")), now_ns=NOW).headers)["Authorization"] == "Bearer t0k"


@pytest.mark.parametrize("kind", KINDS)
def test_the_body_is_the_same_each_time_it_is_tried(kind):
    made = [post(replace(BOTH, tries=n), receiver(kind=kind), now_ns=NOW + n * S) for n in (0, 5)]
    assert (made[0].body == made[1].body) == (kind != "alertmanager")


@given(st.integers(0, 4 * 10**18))
def test_times_are_read_back_as_they_were(time_ns):
    text = rfc3339(time_ns)
    whole, _, fraction = text.removesuffix("Z").partition(".")
    from datetime import datetime

    seconds = round(datetime.fromisoformat(whole + "+00:00").timestamp())
    assert seconds * S + int((fraction or "0").ljust(9, "0")) == time_ns
    assert not fraction.endswith("0")


@given(st.text(), st.sampled_from([kind for kind in KINDS if kind != "email"]))
def test_any_text_is_sent_as_json(text, kind):
    told = notification(replace(ONE, annotations={"summary": text, "description": text}))
    json.loads(post(told, receiver(kind=kind), now_ns=NOW).body)
