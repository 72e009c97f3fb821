from dataclasses import replace

import pytest

from collectors.clickhouse.drivers import StoreError, opened
from prism.storage.outbox import OUTBOX, Outbox
from tests.collectors.builders.servers import running
from tests.prism.alerts.stories import NOW, S, notification

TOLD = notification()


@pytest.fixture
def database(tmp_path):
    found = opened(str(tmp_path / "store"))
    yield found
    found.close()


def test_the_newest_state_of_each_is_there_after_a_restart(tmp_path):
    two = [replace(TOLD, id=f"prism_{n}") for n in "ab"]
    database = opened(str(tmp_path / "store"))
    outbox = Outbox(database)
    outbox.save(two)
    outbox.save([replace(two[0], tries=1, error="HTTP 500", next_ns=NOW + S)])
    outbox.save([replace(two[0], tries=2, state="sent", done_ns=NOW + S)])
    outbox.save([replace(two[0], tries=1, error="late")])  # an older state does not replace a newer one
    outbox.save(two)
    database.close()
    database = opened(str(tmp_path / "store"))
    assert Outbox(database).load() == [replace(two[0], tries=2, state="sent", done_ns=NOW + S), two[1]]
    database.close()


def test_what_was_made_on_many_days_is_kept_together(database):
    outbox = Outbox(database)
    told = [replace(TOLD, id=f"prism_{n:02}", made_ns=NOW + n * 86_400 * S) for n in range(5)]
    outbox.save(reversed(told))
    assert outbox.load() == told
    outbox.save([])


def test_rows_that_are_no_notifications_are_counted(database):
    outbox = Outbox(database)
    outbox.save([TOLD])
    for i, text in enumerate(("", "[]", '{"id": "x"}', "null", '{"alerts": [1]}')):
        row = {"id": [f"x{i}"], "version": [1], "made_ns": [NOW], "receiver": ["r"], "state": ["sent"], "told": [text]}
        database.insert(OUTBOX, row)
    assert (outbox.load(), outbox.unread) == ([TOLD], 5)


def test_a_store_that_is_closed_says_so(tmp_path):
    database = opened(str(tmp_path / "store"))
    outbox = Outbox(database)
    database.close()
    with pytest.raises(StoreError):
        outbox.save([TOLD])


def test_an_old_server_keeps_it_as_well(tmp_path):
    with running(tmp_path / "server") as server:
        database = opened(server.url)
        outbox = Outbox(database)
        outbox.save([TOLD])
        outbox.save([replace(TOLD, tries=1, state="dead", error="größer 'x' \\ \0")])
        assert outbox.load() == [replace(TOLD, tries=1, state="dead", error="größer 'x' \\ \0")]
        database.close()
