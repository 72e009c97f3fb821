import json
import logging
import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest

from collectors.clickhouse.drivers import StoreError, opened
from prism.alerts.alert_settings import Grouping, Limits, Retrying, Secret
from prism.alerts.matchers import parse_matcher
from prism.app.notifier import Alerts
from prism.notify.pending_notifications import LISTING
from prism.notify.silence_file import add, remove
from prism.storage.outbox import Outbox
from prism.tracking.board import Boards
from tests.prism.alerts.stories import NOW, S, board, case, finding, receiver, settings
from tests.prism.receivers import behaving, listening, until

QUICK = Grouping(wait_s=0, interval_s=0)
SOON = Retrying(after_s=(0.01, 0.05, 30.0), jitter=0)
OTHER = case("c2", finding(ids=("10.0.1.1",)))
OVER = replace(case(), state="closed", closed_ns=NOW)


def quick(tmp_path, *receivers, **more):
    return settings(*receivers, **{"folder": str(tmp_path), "grouping": QUICK, "retrying": SOON, **more})


@pytest.fixture
def outbox(tmp_path):
    database = opened(str(tmp_path / "store"))
    yield Outbox(database)
    database.close()


@contextmanager
def running(asked, outbox=None, *, first=None):
    """The thread of alerts, while the context lasts; yields it and the boards it reads."""
    boards, stop, failed = Boards(first), threading.Event(), []
    alerts = Alerts(asked, outbox, turn_s=0.02, pause_s=0.02)

    def run():
        try:
            alerts.run(boards, stop)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield alerts, boards
    finally:
        stop.set()
        thread.join(60)
        assert not thread.is_alive()
        assert not failed, failed
        assert not alerts._errors["turn"]


def cases_of(body):
    return sorted((one["annotations"]["finding"], one["status"]) for one in body["alerts"])


def test_a_case_is_reported_and_its_end_and_nothing_twice_after_a_restart(tmp_path, outbox):
    with listening() as heard:
        asked = quick(tmp_path, receiver(url=f"{heard.url}/"))
        with running(asked, outbox, first=board(case())) as (alerts, boards):
            heard.wait(lambda h: len(h.posts) == 1)
            until(lambda: [one.state for one in outbox.load()] == ["sent"])
            boards.publish(board(case(), OTHER, revision=2))
            heard.wait(lambda h: len(h.posts) == 2)
        with running(asked, outbox, first=board(case(), OTHER, revision=2)) as (alerts, boards):
            until(lambda: alerts._alerts)
            boards.publish(board(OVER, OTHER, revision=3))
            heard.wait(lambda h: len(h.posts) == 3)
        with running(asked, outbox):  # a board that nobody has filled yet ends nothing
            pass
    assert [cases_of(body) for body in heard.bodies()] == [
        [("c1", "firing")],
        [("c1", "firing"), ("c2", "firing")],
        [("c1", "resolved"), ("c2", "firing")],
    ]
    assert len(set(heard.ids())) == 3
    assert sorted(one.id for one in outbox.load()) == sorted(heard.ids())


def test_a_retry_has_the_same_id_and_the_same_body(tmp_path, outbox):
    with listening() as heard:
        heard.answers["/"] = (500, {}, b"no")
        asked = quick(tmp_path, receiver(url=f"{heard.url}/", secrets=(Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),)))
        with running(asked, outbox, first=board(case())) as (alerts, _):
            heard.wait(lambda h: len(h.posts) == 3)
            until(lambda: [(one.tries, one.error) for one in outbox.load()] == [(3, "HTTP 500: no")])
            assert alerts.listing()["waiting"][0]["tries"] == 3
        heard.answers.clear()
        with running(asked, outbox, first=board(case(), OTHER)):  # news hurry what waits for 30 s
            heard.wait(lambda h: len(h.posts) == 5)
    ids = heard.ids()
    assert (len(set(ids[:4])), len(set(ids))) == (1, 2)
    assert len({body for _, _, body in heard.posts[:4]}) == 1


def test_news_do_not_hurry_what_a_receiver_asked_to_wait_with(tmp_path, outbox):
    with listening() as heard:
        heard.answers["/"] = (503, {"Retry-After": "3600"}, b"")
        with running(quick(tmp_path, receiver(url=f"{heard.url}/")), outbox, first=board(case())) as (alerts, boards):
            until(lambda: [one.tries for one in outbox.load()] == [1])
            boards.publish(board(case(), OTHER, revision=2))
            until(lambda: len(alerts.listing()["firing"]) == 2)
            threading.Event().wait(0.2)  # ten turns
            (waiting,) = outbox.load()
    assert len(heard.posts) == 1
    assert waiting.next_ns - waiting.made_ns >= 3600 * S


def test_the_list_is_there_before_the_first_notification(tmp_path):
    """`prism silence add` and `prism alert list` read it, perhaps in the first minute of a service."""
    with running(quick(tmp_path, receiver())):
        until((tmp_path / LISTING).exists)
    assert json.loads((tmp_path / LISTING).read_text())["firing"] == []


def test_dead_letters_are_seen_and_hold_up_nothing(tmp_path, outbox):
    with listening() as heard:
        heard.answers["/"] = (400, {}, b"bad token t0ken")
        to = receiver(url=f"{heard.url}/", token=Secret("t0ken"))
        with running(quick(tmp_path, to), outbox, first=board(case())) as (alerts, boards):
            until(lambda: alerts.listing()["dead"])
            heard.answers.clear()
            boards.publish(board(case(), OTHER, revision=2))
            heard.wait(lambda h: len(h.posts) == 2)
            until(lambda: sorted(one.state for one in outbox.load()) == ["dead", "sent"])
        listing = json.loads((tmp_path / LISTING).read_text())
    assert [one["error"] for one in listing["dead"]] == ["HTTP 400: bad token ***"]
    assert "t0ken" not in json.dumps(listing)
    tally = {name: number for count in alerts.counts() for name, number in count.values.items()}
    assert (tally["hook", "dead"], tally["hook", "sent"], tally[("hook",)]) == (1, 1, 0)


def test_what_nobody_got_is_reported_after_a_restart_under_another_id(tmp_path, outbox):
    with listening() as heard:
        heard.answers["/"] = (401, {}, b"")
        asked = quick(tmp_path, receiver(url=f"{heard.url}/"))
        with running(asked, outbox, first=board(case())):
            until(lambda: [one.state for one in outbox.load()] == ["dead"])
        heard.answers.clear()
        with running(asked, outbox, first=board(case())) as (alerts, _):
            until(lambda: sorted(one.state for one in outbox.load()) == ["dead", "sent"])
            assert [one["error"] for one in alerts.listing()["dead"]] == ["HTTP 401"]
    assert len(set(heard.ids())) == len(heard.posts) == 2


def test_who_is_gone_is_left_alone_also_after_a_restart_until_it_moves(tmp_path, outbox):
    with listening() as heard:
        heard.answers["/"] = (410, {}, b"")
        asked = quick(tmp_path, receiver(url=f"{heard.url}/"))
        with running(asked, outbox, first=board(case())) as (alerts, boards):
            until(lambda: alerts.listing()["receivers"][0]["disabled"])
            until(lambda: [one.state for one in outbox.load()] == ["dead"])
            boards.publish(board(case(), OTHER, revision=2))
            until(lambda: alerts._board.revision == 2)
        with running(asked, outbox, first=board(case(), OTHER)) as (alerts, _):
            until(lambda: alerts._alerts)
            assert alerts.listing()["receivers"][0]["disabled"] == "HTTP 410: the receiver no longer exists"
        assert len(heard.posts) == 1
        with running(quick(tmp_path, receiver(url=f"{heard.url}/new")), outbox, first=board(case(), OTHER)):
            heard.wait(lambda h: h.bodies("/new"))


def test_a_receiver_that_hangs_keeps_nobody_waiting(tmp_path):
    with listening() as heard, behaving(lambda _, stop: stop.wait(60)) as url:
        to = receiver("slow", url=url), receiver(url=f"{heard.url}/")
        asked = quick(tmp_path, *to, limits=Limits(timeout_s=0.3))
        with running(asked, first=board(case())) as (alerts, boards):
            heard.wait(lambda h: len(h.posts) == 1)
            boards.publish(board(case(), OTHER, revision=2))
            heard.wait(lambda h: len(h.posts) == 2)
            until(lambda: [one["error"] for one in alerts.listing()["waiting"]] == ["no answer within 0.3 s"])


def test_silences_are_heeded_while_it_runs(tmp_path):
    with listening() as heard:
        made = add(tmp_path, [parse_matcher("host=server5")], 0, 2**62)
        with running(quick(tmp_path, receiver(url=f"{heard.url}/")), first=board(case())) as (alerts, _):
            until(lambda: [one["why"] for one in alerts.listing()["muted"]] == [f"silenced ({made.id})"])
            (tmp_path / "silences.json").write_text("broken")
            until(lambda: alerts._errors["silences"])
            assert not heard.posts  # what was silenced stays so
            (tmp_path / "silences.json").unlink()
            made = add(tmp_path, [parse_matcher("host=server5")], 0, 2**62)
            remove(tmp_path, made.id, 1)
            heard.wait(lambda h: len(h.posts) == 1)


def test_a_victim_is_told_once_its_cause_is_over(tmp_path):
    cause = case("c9", finding("slow_link", ("10.0.5.1",)))
    with (
        listening() as heard,
        running(quick(tmp_path, receiver(url=f"{heard.url}/")), first=board(case(), cause)) as (alerts, boards),
    ):
        heard.wait(lambda h: len(h.posts) == 1)
        assert alerts.listing()["muted"][0]["why"] == "explained by Slow NIC 10.0.5.1 (server5) (c9)"
        boards.publish(board(case(), replace(cause, state="closed", closed_ns=NOW), revision=2))
        heard.wait(lambda h: len(h.posts) == 2)
    assert [cases_of(body) for body in heard.bodies()] == [[("c9", "firing")], [("c1", "firing"), ("c9", "resolved")]]


def test_while_the_store_is_away_it_tells_and_keeps_it_later(tmp_path):
    class Away(Outbox):
        gone = True

        def save(self, told):
            if self.gone:
                raise StoreError("away", transient=True)
            super().save(told)

    database = opened(str(tmp_path / "store"))
    outbox = Away(database)
    with (
        listening() as heard,
        running(quick(tmp_path, receiver(url=f"{heard.url}/")), outbox, first=board(case())) as (alerts, _),
    ):
        heard.wait(lambda h: len(h.posts) == 1)
        until(lambda: alerts._errors["store"])
        outbox.gone = False
        until(lambda: [one.state for one in outbox.load()] == ["sent"])
    database.close()


def test_a_folder_that_cannot_be_written_stops_no_alert(tmp_path):
    with listening() as heard:
        asked = quick(tmp_path / "none", receiver(url=f"{heard.url}/"))
        with running(asked, first=board(case())) as (alerts, _):
            heard.wait(lambda h: len(h.posts) == 1)
            until(lambda: alerts._errors["listing"])


def test_secrets_are_not_in_the_log(tmp_path, caplog, monkeypatch):
    to = receiver("slack", "slack", "http://127.0.0.1:1/services/T0/B0/s3cret", token=Secret("t0ken"))
    monkeypatch.setattr(logging.getLogger("prism-collect"), "propagate", True)
    with caplog.at_level(logging.INFO, "prism-collect"), running(quick(tmp_path, to), first=board(case())) as (alerts, _):
        until(lambda: [one["tries"] for one in alerts.listing()["waiting"]] == [3])
    assert "refused" in caplog.text.lower()
    assert "s3cret" not in caplog.text
    assert "t0ken" not in caplog.text


def test_nobody_to_tell_is_no_error(tmp_path):
    with running(quick(tmp_path), first=board(case())) as (alerts, _):
        assert list(alerts.counts())
    assert not (tmp_path / LISTING).exists()


def test_an_alertmanager_is_refreshed_without_filling_the_outbox(tmp_path, outbox):
    with listening() as heard:
        to = receiver("am", "alertmanager", heard.url, refresh_s=0.05)
        with running(quick(tmp_path, to), outbox, first=board(case())) as (_, boards):
            heard.wait(lambda h: len(h.posts) >= 4)
            assert len(outbox.load()) == 1
            boards.publish(board(OVER, revision=2))
            until(lambda: len(outbox.load()) == 2)
            until(lambda: {one.state for one in outbox.load()} == {"sent"})
    ends = [one["endsAt"] for body in heard.bodies("/api/v2/alerts") for one in body]
    assert ends[0] < ends[3]
    assert ends[-1] == "2026-11-20T22:43:20Z"
    assert NOW // S == 1795214600
