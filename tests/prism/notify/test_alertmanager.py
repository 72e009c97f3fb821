"""Against Debian's Alertmanager: it takes what we push, and what it posts has the fields and types of what we post."""

import http.client
import json
import shutil
import socket
import subprocess
from dataclasses import replace
from time import time_ns
from urllib.parse import urlsplit

import pytest

from prism.alerts.alert_settings import Limits
from prism.alerts.notifications import fingerprint
from prism.alerts.receivers.webhook_bodies import post, webhook
from prism.notify.webhooks import deliver
from tests.prism.alerts.stories import LOOPBACK, alerts_of, case, finding, notification, receiver
from tests.prism.receivers import listening, until

PROGRAM = shutil.which("prometheus-alertmanager")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="prometheus-alertmanager is not installed")
CONFIG = """
route: {{receiver: hook, group_by: [job], group_wait: 100ms, group_interval: 1s, repeat_interval: 1h}}
receivers: [{{name: hook, webhook_configs: [{{url: "{0}/hook", send_resolved: true}}]}}]
"""


@pytest.fixture
def manager(tmp_path):
    """A running Alertmanager (its address) that posts to a server of ours."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with listening() as heard, open(tmp_path / "log", "wb") as log:
        (tmp_path / "am.yml").write_text(CONFIG.format(heard.url))
        command = [PROGRAM, f"--config.file={tmp_path}/am.yml", f"--storage.path={tmp_path}/am", "--cluster.listen-address="]
        process = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
        try:
            until(lambda: _answers(port) or process.poll() is not None)
            assert process.poll() is None, (tmp_path / "log").read_text()
            yield f"http://127.0.0.1:{port}", heard
        finally:
            process.terminate()
            process.wait(60)


def _answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), 1):
            return True
    except OSError:
        return False


def ask(url):
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}")
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def test_it_takes_what_we_push_and_posts_what_we_post(manager):
    url, heard = manager
    now = time_ns()
    cases = (case("c1", opened=now), case("c2", finding("crash", ("10.0.1.1",), severity="critical"), opened=now))
    alerts = alerts_of(*cases, external_url="https://prism.example/größe", extra_labels={"site": 'a "b" \\ ü'})
    told = notification(*alerts)
    to = receiver("am", "alertmanager", url)

    def push(one):
        went = deliver(post(one, to, now_ns=time_ns()), allow=LOOPBACK, limits=Limits(timeout_s=30))
        assert went.ok, went.why

    push(told)
    push(told)  # what is told again is the same alert
    kept = until(lambda: ask(f"{url}/api/v2/alerts?active=true"))
    assert {one["fingerprint"] for one in kept} == {fingerprint(alert.labels) for alert in alerts}
    for one in kept:
        ours = next(alert for alert in alerts if fingerprint(alert.labels) == one["fingerprint"])
        assert (one["labels"], one["annotations"], one["generatorURL"]) == (ours.labels, ours.annotations, ours.link)
    heard.wait(lambda h: any(len(body["alerts"]) == 2 for body in h.bodies("/hook")))
    push(notification(alerts[0], replace(alerts[1], ended_ns=time_ns())))
    heard.wait(lambda h: any(alert["status"] == "resolved" for body in h.bodies("/hook") for alert in body["alerts"]))
    until(lambda: len(ask(f"{url}/api/v2/alerts?active=true")) == 1)

    theirs = next(body for body in heard.bodies("/hook") if len(body["alerts"]) == 2)
    ours = webhook(told, receiver(), "https://prism.example")
    assert shape(ours) == shape(theirs)
    assert set(theirs) == set(ours)
    same = ("status", "version", "groupKey", "groupLabels", "commonLabels", "commonAnnotations", "truncatedAlerts")
    assert {name: theirs[name] for name in same} == {name: ours[name] for name in same}
    by_print = {one["fingerprint"]: one for one in theirs["alerts"]}
    for one in ours["alerts"]:
        there = by_print[fingerprint(one["labels"])]
        apart = {"startsAt": 0, "endsAt": 0, "fingerprint": ""}  # ours stays when the severity changes
        assert {**one, **apart} == {**there, **apart}
        assert one["startsAt"][:23] == there["startsAt"][:23]  # it keeps milliseconds
    over = next(one for body in heard.bodies("/hook") for one in body["alerts"] if one["status"] == "resolved")
    assert shape(over) == shape(ours["alerts"][0])


def shape(value):
    """The fields of an object and their types, values of labels and annotations left out."""
    if isinstance(value, dict):
        return {name: "texts" if name in TEXTS else shape(item) for name, item in value.items()}
    if isinstance(value, list):
        return [json.loads(one) for one in {json.dumps(shape(item), sort_keys=True) for item in value}]
    return type(value).__name__


TEXTS = ("labels", "annotations", "groupLabels", "commonLabels", "commonAnnotations")


def test_it_says_why_it_does_not_take_something(manager):
    url, _ = manager
    alert = alerts_of(case())[0]
    bad = notification(replace(alert, started_ns=alert.started_ns + 10**18, ended_ns=alert.started_ns))
    found = deliver(post(bad, receiver("am", "alertmanager", url), now_ns=alert.started_ns), allow=LOOPBACK)
    assert (found.ok, found.may_retry) == (False, False)
    assert "start time must be before end time" in found.why
