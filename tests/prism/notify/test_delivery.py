from prism.alerts.alert_settings import Limits
from prism.alerts.receivers.webhook_bodies import post
from prism.notify.delivery import sent
from tests.prism.alerts.stories import LOOPBACK, NOW, notification, receiver
from tests.prism.notify.test_smtp import smtp
from tests.prism.receivers import listening


def test_each_kind_is_delivered_in_its_way():
    told = notification()
    with listening() as heard:
        hook = receiver(url=heard.url + "/a", kind="teams")
        assert sent(post(told, hook, now_ns=NOW), hook, Limits()).ok
    assert heard.bodies("/a")[0]["type"] == "message"
    with smtp() as (url, lines):
        mail = receiver(kind="email", url=url, sender="p@example.com", to=("a@example.com",), allow=LOOPBACK)
        assert sent(post(told, mail, now_ns=NOW), mail, Limits()).ok
    assert any(line.startswith("Subject: WARNING") for line in lines)
