import json
from dataclasses import replace

from prism.alerts.alert_settings import Secret
from prism.alerts.receiver_state import ReceiverState
from prism.notify.pending_notifications import list_pending
from tests.prism.alerts.stories import NOW, alerts_of, case, notification, receiver


def test_letters_and_mutes_are_listed_without_secrets():
    to = receiver(url="https://hooks.example/T0/secretpath", token=Secret("t0ken"), routing_key=Secret("key"))
    box = ReceiverState(to)
    box.record(notification(next_ns=NOW, tries=2, error="HTTP 500"))
    box.record(notification(name="prism_0", group="{}:{}", state="dead", tries=1, error="HTTP 400"))
    alert = alerts_of(case())[0]
    made = list_pending([box], [alert, replace(alert, case="c2", ended_ns=5)], {alert.fingerprint: "silenced (s1)"})
    assert made["receivers"] == [{"name": "hook", "kind": "webhook", "host": "hooks.example", "disabled": ""}]
    assert [(one["state"], one["tries"], one["error"]) for one in made["waiting"] + made["dead"]] == [
        ("waiting", 2, "HTTP 500"),
        ("dead", 1, "HTTP 400"),
    ]
    assert [(one["case"], one["why"]) for one in made["muted"]] == [("c1", "silenced (s1)")]
    assert not any(word in json.dumps(made) for word in to.hidden)
