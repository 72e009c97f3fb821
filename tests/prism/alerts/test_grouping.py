from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.alerts.alert_settings import Grouping
from prism.alerts.grouping import Due, Log, due, group_key, group_labels, grouped
from tests.prism.alerts.stories import NOW, S, alerts_of, case, finding, notification

GROUPING = Grouping(wait_s=30, interval_s=300, repeat_s=14400)
ONE = alerts_of(case())[0]
A, B = ONE.fingerprint, "b" * 16
TOLD = Log().with_notification(notification(ONE, state="sent"))
OVER = TOLD.with_notification(notification(replace(ONE, ended_ns=NOW), name="prism_2", number=1, state="sent"))


def ask(now_s, log=TOLD, *, firing=(A,), ended=(), since_s=0.0):
    return due(
        NOW + round(now_s * S), since_ns=NOW + round(since_s * S), firing=firing, ended=ended, log=log, grouping=GROUPING
    )


@pytest.mark.parametrize(
    ("asked", "now", "why", "at_s"),
    [
        ({"now_s": 0, "log": Log()}, False, "new group, waiting for more alerts", 30),
        ({"now_s": 30, "log": Log()}, True, "new group: 1", 30),
        ({"now_s": 40, "log": Log(), "firing": (A, B)}, True, "new group: 2", 30),
        ({"now_s": 40, "log": Log(), "firing": ()}, False, "nothing to notify", None),
        ({"now_s": 40}, False, "nothing new", 14400),
        ({"now_s": 14400}, True, "repeated: still firing", 14400),
        ({"now_s": 40, "firing": (A, B)}, False, "new alerts, notified recently", 300),
        ({"now_s": 300, "firing": (A, B)}, True, "new alerts: 1", 300),
        ({"now_s": 310, "firing": (A, B), "since_s": 300}, False, "new alerts, waiting for more alerts", 330),
        ({"now_s": 40, "firing": (), "ended": (A,)}, False, "all resolved, notified recently", 300),
        ({"now_s": 300, "firing": (), "ended": (A,)}, True, "all resolved", 300),
        ({"now_s": 300, "firing": (B,), "ended": (A,), "log": replace(TOLD, open={A: ONE, B: ONE})}, True, "resolved: 1", 300),
        ({"now_s": 99999, "firing": ()}, False, "nothing to notify", None),
        ({"now_s": 40, "log": OVER}, False, "new group, notified recently", 300),  # what flaps waits
        ({"now_s": 40, "log": OVER, "firing": (B,)}, True, "new group: 1", 30),  # what is new does not
        (
            {"now_s": 99999, "log": Log().with_notification(notification(ONE))},
            False,
            "the last notification is still being delivered",
            None,
        ),
    ],
)
def test_whether_it_is_due_and_why(asked, now, why, at_s):
    assert ask(**asked) == Due(now, why, 0 if at_s is None else NOW + at_s * S)


@given(st.integers(0, 40_000), st.booleans(), st.sets(st.sampled_from((A, B))), st.integers(0, 400))
def test_it_is_due_at_the_time_that_was_said_and_not_before(now_s, fresh, firing, since_s):
    log = Log() if fresh else TOLD
    asked = {"log": log, "firing": firing, "ended": () if fresh else {A} - firing, "since_s": since_s}
    found = ask(now_s, **asked)
    if found.at_ns:
        at_s = (found.at_ns - NOW) / S
        assert found.now == (now_s >= at_s)
        assert ask(at_s, **asked).now
        assert not ask(at_s - 1e-6, **asked).now


def test_a_log_knows_what_a_receiver_believes():
    assert (set(TOLD.open), TOLD.cases) == ({A}, {"c1": NOW})
    assert not OVER.open
    assert TOLD.with_state(notification(ONE, tries=4)).last.tries == 4
    assert TOLD.with_state(notification(ONE, name="prism_9")) == TOLD
    assert (TOLD.without_cases_before(NOW).cases, TOLD.without_cases_before(NOW + 1).cases) == ({"c1": NOW}, {})


def test_groups_are_named_as_alertmanager_names_them():
    other = alerts_of(case("c2", finding(job='a"b\\')))[0]
    assert set(grouped([ONE, other], ("job",))) == {'{}:{job="job1"}', '{}:{job="a\\"b\\\\"}'}
    assert list(grouped([ONE, other], ())) == ["{}:{}"]
    assert group_labels(ONE, ("severity", "cluster", "job")) == {"job": "job1", "severity": "warning"}
    assert group_key({"severity": "warning", "job": "x\ny"}) == '{}:{job="x\\ny", severity="warning"}'
