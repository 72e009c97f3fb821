from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.alerts.alert_settings import Grouping, Selection
from prism.alerts.alert_texts import format_time
from prism.alerts.grouping import Log
from prism.alerts.matchers import parse_matcher
from prism.alerts.notifications import REFRESH
from prism.alerts.planning import plan_notifications
from tests.prism.alerts.stories import NOW, S, alerts_of, case, finding, receiver, settings

AT_ONCE = settings(grouping=Grouping(wait_s=0, interval_s=0))
KEY = '{}:{job="job1"}'
CRASH = finding("crash", ("10.0.7.1",), severity="critical")


def plan(alerts, logs=None, *, now=NOW, to=None, asked=AT_ONCE, **more):
    return plan_notifications(now, alerts, to or receiver(), asked, at_ns=now, logs=logs, **more)


def told(made, logs=None, *, state="sent"):
    logs = dict(logs or {})
    for one in made.notifications:
        logs[one.group] = logs.get(one.group, Log()).with_notification(replace(one, state=state))
    return logs


def test_a_group_is_reported_once_then_what_is_new_then_what_is_over():
    one, other = case(), case("c2", finding(ids=("10.0.1.1",)))
    first = plan(alerts_of(one))
    (made,) = first.notifications
    assert (made.group, made.reason, made.number, [a.case for a in made.alerts]) == (KEY, "new group: 1", 0, ["c1"])
    logs = told(first)
    assert not plan(alerts_of(one), logs).notifications
    second = plan(alerts_of(one, other), logs, now=NOW + S)
    assert [a.case for a in second.notifications[0].alerts] == ["c2", "c1"]  # the new one first
    logs = told(second, logs)
    third = plan(alerts_of(replace(one, state="closed", closed_ns=NOW + S), other), logs, now=NOW + 2 * S)
    assert [(a.case, a.firing) for a in third.notifications[0].alerts] == [("c2", True), ("c1", False)]
    logs = told(third, logs)
    assert not plan(alerts_of(other), logs, now=NOW + 3 * S).notifications
    last = plan([], logs, now=NOW + 4 * S)  # it is not on the board any more
    assert [(a.case, a.ended_ns) for a in last.notifications[0].alerts] == [("c2", NOW + 4 * S)]
    assert not plan([], told(last, logs), now=NOW + 5 * S).notifications
    assert [
        first.notifications[0].number,
        second.notifications[0].number,
        third.notifications[0].number,
        last.notifications[0].number,
    ] == [0, 1, 2, 3]


def test_what_waits_is_not_overtaken_but_hurried():
    logs = told(plan(alerts_of(case())), state="waiting")
    found = plan(alerts_of(case(), case("c2", finding(ids=("10.0.1.1",)))), logs)
    assert (found.notifications, found.blocked_groups) == ((), (KEY,))
    assert plan(alerts_of(case()), logs).blocked_groups == ()
    assert plan(alerts_of(case()), logs, to=receiver(kind="alertmanager")).notifications  # of another group


def test_the_same_is_the_same_notification():
    one, again = plan(alerts_of(case())).notifications[0], plan(alerts_of(case()), now=NOW + 3600 * S).notifications[0]
    assert one.id == again.id
    assert one.id != plan(alerts_of(case()), to=receiver("other")).notifications[0].id
    assert one.id != plan(alerts_of(case("c9"))).notifications[0].id


def test_the_muted_are_not_told_but_their_end_is_told_to_who_knows_of_them():
    alerts = alerts_of(case())
    muted = {alerts[0].fingerprint: "silenced (s1)"}
    assert not plan(alerts, muted=muted).notifications
    logs = told(plan(alerts))
    assert not plan(alerts, logs, muted=muted).notifications
    over = alerts_of(case(state="closed", closed=NOW))
    assert [a.firing for a in plan(over, logs, muted=muted).notifications[0].alerts] == [False]
    assert not plan(over, muted=muted).notifications


def test_a_worse_severity_is_news_of_the_same_alert():
    logs = told(plan(alerts_of(case())))
    critical = alerts_of(case(found=finding(severity="critical", slowdown=2.6)))
    worse = plan(critical, logs).notifications[0]
    assert worse.reason == "worse: 1"
    assert [(a.labels["severity"], a.firing) for a in worse.alerts] == [("critical", True)]
    (before,) = logs[KEY].open
    logs = told(plan(critical, logs), logs)
    assert list(logs[KEY].open) == [before]
    assert not plan(critical, logs).notifications
    assert not plan(
        alerts_of(case(found=finding(severity="critical", slowdown=2.0))), logs
    ).notifications  # another number is no news
    assert not plan(alerts_of(case()), logs).notifications  # nor is that it is less bad


def test_to_an_alertmanager_another_label_is_another_alert():
    to = receiver(kind="alertmanager")
    logs = told(plan(alerts_of(case()), to=to))
    worse = plan(alerts_of(case(found=finding(severity="critical"))), logs, to=to)
    assert [(a.labels["severity"], a.firing) for a in worse.notifications[0].alerts] == [("critical", True), ("warning", False)]
    assert "continues as critical" in worse.notifications[0].alerts[1].annotations["description"]
    (going,) = told(worse, logs)["{}:{}"].open.values()
    assert going.labels["severity"] == "critical"


def test_what_pauses_is_not_resolved_and_what_is_over_is_after_a_while():
    asked = settings(grouping=Grouping(wait_s=0, interval_s=0), telling=Selection(over_s=30))
    logs = told(plan(alerts_of(case()), asked=asked))
    paused = alerts_of(case(state="closed", closed=NOW + S))
    assert not plan(paused, logs, now=NOW + 20 * S, asked=asked).notifications
    assert not plan(alerts_of(case()), logs, now=NOW + 21 * S, asked=asked).notifications  # it goes on
    (over,) = plan(paused, logs, now=NOW + 31 * S, asked=asked).notifications[0].alerts
    assert (over.ended_ns, over.firing) == (NOW + S, False)
    assert f"to {format_time(NOW + S)}" in over.annotations["description"]


def test_what_is_gone_from_the_board_ends_with_its_own_times():
    logs = told(plan(alerts_of(case())))
    (over,) = plan([], logs, now=NOW + 90 * S).notifications[0].alerts
    assert (
        over.annotations["description"]
        == f"Resolved: lasted 2 min, from {format_time(over.started_ns)} to {format_time(NOW + 90 * S)}."
    )


def test_a_crash_is_reported_even_if_it_is_over_before_the_wait_is():
    over = alerts_of(case("c1", CRASH, state="closed", closed=NOW), case("c2", state="closed", closed=NOW))
    first = plan(over)
    assert [(a.case, a.firing) for a in first.notifications[0].alerts] == [("c1", True)]  # the other one is not
    second = plan(over, told(first), now=NOW + S)
    assert [(a.case, a.firing) for a in second.notifications[0].alerts] == [("c1", False)]
    assert not plan(over, told(second, told(first)), now=NOW + 2 * S).notifications
    assert not plan(alerts_of(case("c1", CRASH, state="closed", closed=NOW)), now=NOW + 3601 * S).notifications


def test_who_hears_of_no_ends_hears_of_the_next_beginning():
    to = receiver(resolved=False)
    logs = told(plan(alerts_of(case()), to=to))
    assert not plan([], logs, to=to).notifications
    assert not plan(alerts_of(case(state="closed", closed=NOW)), logs, to=to).notifications
    assert plan(alerts_of(case("c2")), logs, to=to).notifications  # the same labels, but another case
    assert not plan(alerts_of(case()), logs, to=to).notifications


def test_many_come_in_pieces_and_all_come():
    cases = [case(f"c{i}", finding(ids=(f"10.0.{i}.1",))) for i in range(7)]
    to, logs, heard = receiver(most=3), {}, []
    for i in range(4):
        found = plan(alerts_of(*cases), logs, to=to, now=NOW + i * S)
        logs = told(found, logs)
        heard += [a.case for one in found.notifications for a in one.alerts]
    assert set(heard) == {one.id for one in cases}
    assert plan(alerts_of(*cases), to=to).notifications[0].truncated == 4


def test_matchers_choose_and_an_alertmanager_is_told_all_again():
    to = receiver(match=(parse_matcher("severity=critical"),))
    assert not plan(alerts_of(case()), to=to).notifications
    to = receiver(kind="alertmanager", refresh_s=60)
    logs = told(plan(alerts_of(case(), case("c2", finding(job="job2"))), to=to))
    assert list(logs) == ["{}:{}"]
    assert not plan(alerts_of(case()), logs, to=receiver(kind="alertmanager", resolved=False), now=NOW + 59 * S).notifications
    both = alerts_of(case(), case("c2", finding(job="job2")))
    assert [one.reason for one in plan(both, logs, to=to, now=NOW + 60 * S).notifications] == [REFRESH]


def test_the_beginning_stays_what_it_was_told_to_be():
    logs = told(plan(alerts_of(case())))
    later = alerts_of(case(found=finding(start=NOW - 10 * S), opened=NOW - 10 * S), case("c2", finding(ids=("10.0.1.1",))))
    assert plan(later, logs).notifications[0].alerts[1].started_ns == NOW - 60 * S


@given(st.lists(st.sets(st.integers(0, 3)), max_size=8), st.sampled_from(["sent", "dead"]))
def test_a_receiver_believes_what_the_board_says(story, state):
    logs = {}
    for i, going in enumerate(story):
        cases = [case(f"c{n}", finding(ids=(f"10.0.{n}.1",))) for n in going]
        found = plan(alerts_of(*cases), logs, now=NOW + i * S)
        assert len({one.id for one in found.notifications}) == len(found.notifications) <= 1
        logs = told(found, logs, state=state)
        believed = {alert.case for log in logs.values() for alert in log.open.values()}
        assert believed == {one.id for one in cases}


@pytest.mark.parametrize("by", [("severity",), (), ("job", "ids")])
def test_groups_are_what_was_asked(by):
    asked = settings(grouping=Grouping(by=by, wait_s=0))
    cases = [case("c1"), case("c2", finding(ids=("10.0.1.1",), severity="critical")), case("c3", finding(job="job2"))]
    assert len(plan(alerts_of(*cases), asked=asked).notifications) == {("severity",): 2, (): 1, ("job", "ids"): 3}[by]
