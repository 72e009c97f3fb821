from prism.alerts.alert_settings import KINDS, Limits, Secret
from prism.notify.trial_alert import send_trial
from tests.prism.alerts.stories import receiver, settings
from tests.prism.receivers import listening

SET = settings(limits=Limits(timeout_s=30))


def test_each_kind_hears_a_test_and_its_end():
    with listening() as heard:
        for kind in (kind for kind in KINDS if kind != "email"):  # that one has a test of its own (notify)
            heard.posts.clear()
            to = receiver(kind=kind, url=f"{heard.url}/", secrets=(Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),))
            assert send_trial(to, SET).ok
            first, last = (body.decode() for _, _, body in heard.posts)
            assert "nothing is wrong" in first
            assert first != last
        heard.posts.clear()
        assert send_trial(receiver(url=f"{heard.url}/", resolved=False), SET).ok
        assert len(heard.posts) == 1


def test_a_test_that_fails_is_not_said_to_be_over():
    with listening() as heard:
        heard.answers["/"] = (401, {}, b"who are you")
        found = send_trial(receiver(url=f"{heard.url}/"), SET)
    assert (found.ok, found.why) == (False, "HTTP 401: who are you")
    assert len(heard.posts) == 1
