import json

import pytest

from collectors.clickhouse import drivers
from prism.alerts.alert_settings import Hook, Secret
from prism.feedback.action_runner import ActionRunner
from tests.prism.alerts.stories import LOOPBACK, case
from tests.prism.receivers import listening, until

SECRETS = (Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),)


def hook(url, **more):
    return Hook("drain", Secret(url), SECRETS, allow=LOOPBACK, **more)


@pytest.fixture
def database(tmp_path):
    made = drivers.opened(str(tmp_path / "store"))
    yield made
    made.close()


def test_what_is_approved_is_posted_once_and_its_trail_is_kept(database):
    with listening() as heard:
        heard.answers["/drain"] = (202, {}, b"would drain server5")
        desk = ActionRunner((hook(heard.url + "/drain"),), database)
        made = desk.propose("drain", case(), by="ada")
        assert heard.posts == []
        desk.decide(made.id, approved=True, by="bob")
        until(lambda: desk.get(made.id).state == "done")
        with pytest.raises(ValueError, match="cannot become"):
            desk.decide(made.id, approved=True, by="bob")
        desk.close()
        ((_, headers, body),) = heard.posts
    assert headers["webhook-id"] == made.id
    assert json.loads(body)["data"]["dry_run"] is True
    (again,) = ActionRunner((), database).all()
    assert [(one.state, one.by) for one in again.trail] == [("proposed", "ada"), ("approved", "bob"), ("done", "hook")]


def test_what_is_rejected_is_never_posted():
    with listening() as heard:
        desk = ActionRunner((hook(heard.url),))
        made = desk.propose("drain", case(), by="ada")
        assert desk.decide(made.id, approved=False, by="bob").state == "rejected"
        desk.close()
        assert heard.posts == []


def test_only_a_hook_that_may_act_is_asked_to():
    desk = ActionRunner((hook("http://127.0.0.1:9"),))
    with pytest.raises(ValueError, match="dry runs only"):
        desk.propose("drain", case(), by="ada", dry_run=False)
    with pytest.raises(ValueError, match="no hook is named 'x'"):
        desk.propose("x", case(), by="ada")
    assert (
        ActionRunner((hook("http://127.0.0.1:9", dry_run=False),)).propose("drain", case(), by="a", dry_run=False).dry_run
        is False
    )
    desk.close()


def test_what_was_being_posted_when_the_service_ended_is_not_posted_again(database):
    desk = ActionRunner((hook("http://127.0.0.1:9"),), database)
    made = desk.propose("drain", case(), by="ada")
    desk._keep(made.changed("approved", 5, "bob"))
    desk.close()
    (again,) = ActionRunner((hook("http://127.0.0.1:9"),), database).all()
    assert again.state == "failed"
    assert "look there whether it was done" in again.trail[-1].text


def test_a_hook_that_cannot_be_reached_fails_without_its_secret():
    desk = ActionRunner((hook("http://127.0.0.1:9/s3cret-path"),))
    made = desk.propose("drain", case(), by="ada")
    desk.decide(made.id, approved=True, by="bob")
    until(lambda: desk.get(made.id).state == "failed")
    assert "s3cret" not in json.dumps(desk.get(made.id).to_json())
    desk.close()
