import json

from hypothesis import given
from hypothesis import strategies as st

from prism.alerts.notifications import fingerprint, from_json
from tests.prism.alerts.stories import alerts_of, case, finding, notification


def test_a_notification_goes_through_json_and_back():
    told = notification(
        *alerts_of(case(), case("c2", finding(ids=("10.0.1.1",)), state="closed", closed=10**18)), tries=3, error="x"
    )
    assert from_json(json.loads(json.dumps(told.to_json()))) == told


def test_fingerprints_are_alertmanager_s():
    assert fingerprint({}) == "cbf29ce484222325"
    # of the same labels in an Alertmanager 0.25 (test_alertmanager.py asks a running one)
    assert fingerprint({"alertname": "slow rank", "job": "job1"}) == fingerprint({"job": "job1", "alertname": "slow rank"})


@given(st.dictionaries(st.text(), st.text(), max_size=4), st.dictionaries(st.text(), st.text(), max_size=4))
def test_equal_labels_and_only_those_have_equal_fingerprints(one, other):
    assert (fingerprint(one) == fingerprint(other)) == (one == other)
