import json

import pytest

from prism.alerts.alert_settings import Hook, Secret
from prism.alerts.receivers.delivery_results import Delivery
from prism.alerts.receivers.signing import signature
from prism.feedback.actions import Action, Change, after_post, from_rows, post, targets
from tests.prism.alerts.stories import NOW, finding

SECRET = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
HOOK = Hook("drain", Secret("https://automation.example/drain"), (SECRET,))
ACTION = Action("act_1", "drain", "c1", ("server5",), True, (Change("proposed", 1, "ada"),), {"kind": "slow_rank"})


def test_the_request_is_signed_and_says_that_it_is_a_dry_run():
    made = post(ACTION.changed("approved", 2, "bob"), HOOK, NOW)
    headers = dict(made.headers)
    assert headers["webhook-signature"] == signature("act_1", NOW // 10**9, made.body, (SECRET,))
    data = json.loads(made.body)["data"]
    assert (data["dry_run"], data["targets"], data["proposed_by"], data["approved_by"]) == (True, ["server5"], "ada", "bob")
    assert data["finding"] == {"id": "c1", "kind": "slow_rank"}


def test_an_action_goes_one_way():
    approved = ACTION.changed("approved", 2, "bob")
    done = after_post(approved, Delivery(True, "HTTP 200"), 3)
    assert [one.state for one in done.trail] == ["proposed", "approved", "done"]
    assert after_post(approved, Delivery(False, "HTTP 500"), 3).state == "failed"
    assert done.to_json()["trail"][-1] == {"state": "done", "at_ns": "3", "by": "hook", "text": "HTTP 200"}
    for one, state in (
        (ACTION, "done"),
        (approved, "rejected"),
        (done, "approved"),
        (ACTION.changed("rejected", 2, "b"), "approved"),
    ):
        with pytest.raises(ValueError, match="cannot become"):
            one.changed(state, 4, "eve")


def test_it_is_about_the_hosts_to_isolate():
    assert targets(finding()) == ("server5",)


def test_rows_are_read_back():
    told = json.dumps({**vars(ACTION), "trail": [vars(one) for one in ACTION.trail]})
    assert from_rows([("act_1", told)]) == {"act_1": ACTION}
