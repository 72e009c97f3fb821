from prism.alerts.alert_settings import Secret
from tests.prism.alerts.stories import receiver


def test_a_secret_is_not_shown():
    to = receiver(url="https://hooks.example/T0/abc", token=Secret("t0ken"), secrets=(Secret("whsec_x"),))
    assert not any(word in repr(to) for word in to.hidden)
    assert {"https://hooks.example/T0/abc", "/T0/abc", "t0ken", "whsec_x"} == set(to.hidden)


def test_a_receiver_that_moves_is_another_one():
    assert receiver().digest == receiver(most=3).digest != receiver(url="http://127.0.0.1:10/").digest
