from dataclasses import replace

from prism.alerts.alert_settings import Grouping
from prism.alerts.notifications import REFRESH
from prism.alerts.receiver_state import ReceiverState
from tests.prism.alerts.stories import NOW, S, alerts_of, case, notification, receiver, settings

TOLD = notification(next_ns=NOW)
SET = settings()


def box(*told, to=None):
    made = ReceiverState(to or receiver())
    for one in told:
        made.record(one)
    return made


def test_what_waits_comes_in_order_when_it_is_due():
    later = notification(name="prism_2", group="{}:{}", next_ns=NOW + 5 * S)
    made = box(later, TOLD)
    assert made.next_due(NOW - 1) is None
    assert made.next_due(NOW) == TOLD
    made.record(replace(TOLD, state="sent", tries=1))
    assert made.next_due(NOW + 4 * S) is None
    assert made.next_due(NOW + 5 * S) == later
    made.retry_all(NOW)
    assert made.next_due(NOW).id == "prism_2"


def test_news_hurry_what_waits_but_not_all_the_time():
    made = box(replace(TOLD, next_ns=NOW + 7200 * S, tries=4))
    made.tried_ns[TOLD.group] = NOW
    made.retry_soon(TOLD.group, NOW + 60 * S, SET)
    assert made.waiting[0].next_ns == NOW + 300 * S
    made.retry_soon(TOLD.group, NOW + 900 * S, SET)
    assert made.waiting[0].next_ns == NOW + 300 * S


def test_news_without_an_interval_wait_for_the_first_pause():
    """Else a receiver that answers 503 is tried at every turn, for as long as there is news behind."""
    made = box(replace(TOLD, next_ns=NOW + 7200 * S, tries=4))
    made.tried_ns[TOLD.group] = NOW
    made.retry_soon(TOLD.group, NOW + S, replace(SET, grouping=Grouping(interval_s=0)))
    assert made.waiting[0].next_ns == NOW + round(SET.retrying.after_s[0] * S)


def test_dead_letters_are_kept_and_refreshes_are_none():
    made = box(replace(TOLD, state="dead", error="HTTP 400"), notification(name="prism_3", reason=REFRESH, state="dead"))
    assert [one.id for one in made.dead] == ["prism_1"]


def test_who_is_gone_is_gone_until_it_is_somewhere_else():
    gone = replace(TOLD, state="dead", error="HTTP 410: gone", gone=receiver().digest)
    assert box(gone).disabled == "HTTP 410: gone"
    assert box(gone, to=receiver(url="http://127.0.0.1:10/")).disabled == ""


def test_what_nobody_got_is_not_known_after_a_restart():
    dead = replace(TOLD, state="dead", error="HTTP 400", number=6)
    made = box()
    made.restore(dead)
    assert (made.logs[TOLD.group].open, made.logs[TOLD.group].cases, list(made.dead)) == ({}, {}, [dead])
    assert made.logs[TOLD.group].last.number == 6
    made.restore(replace(TOLD, id="prism_7", number=7, state="sent"))
    assert set(made.logs[TOLD.group].cases) == {"c1"}


def test_old_groups_are_forgotten():
    going, over = box(replace(TOLD, state="sent")), box(replace(TOLD, state="sent"))
    over.record(notification(*[replace(one, ended_ns=NOW) for one in alerts_of(case())], name="prism_2", state="sent"))
    for one in (going, over):
        one.drop_old_groups(NOW + 100_000 * S, SET)
    assert (list(going.logs), list(over.logs)) == ([TOLD.group], [])
