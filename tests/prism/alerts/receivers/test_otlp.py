import json
from dataclasses import replace

from prism.alerts.receivers.otlp import otlp
from prism.alerts.receivers.webhook_bodies import post
from tests.prism.alerts.stories import NOW, alerts_of, case, notification, receiver

ONE = alerts_of(case(), external_url="https://prism.example")[0]


def records(made):
    [resource] = made["resourceLogs"]
    [scope] = resource["scopeLogs"]
    return scope["logRecords"]


def test_an_alert_is_an_event_with_what_names_it():
    opened, closed = records(otlp(notification(ONE, replace(ONE, ended_ns=NOW)), "https://prism.example"))
    assert (opened["eventName"], opened["severityNumber"]) == ("prism.finding.opened", 13)
    assert opened["timeUnixNano"] == str(ONE.started_ns)
    attributes = {one["key"]: one["value"]["stringValue"] for one in opened["attributes"]}
    assert attributes["prism.alertname"] == "slow rank"
    assert attributes["prism.finding"] == "c1"
    assert attributes["prism.url"] == "https://prism.example/#/findings/c1"
    assert (closed["eventName"], closed["severityText"], closed["timeUnixNano"]) == ("prism.finding.closed", "INFO", str(NOW))


def test_it_is_posted_to_where_collectors_take_logs():
    for url in ("http://127.0.0.1:4318", "http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/logs"):
        made = post(notification(ONE), receiver(kind="otlp", url=url), now_ns=NOW)
        assert made.url == "http://127.0.0.1:4318/v1/logs"
        assert ("Content-Type", "application/json") in made.headers
        assert len(records(json.loads(made.body))) == 1
