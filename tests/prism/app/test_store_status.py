"""With a real service: test_cli_store."""

import os
from dataclasses import replace

import pytest

from collectors.clickhouse.drivers import opened
from collectors.clickhouse.folder_lock import lock_folder
from collectors.clickhouse.store_error import AbsentError, InUseError
from collectors.store import flow_rows
from collectors.store.retention import Status
from prism.api.server.web_server import served
from prism.app import store_status
from prism.service.service_file import Running, service_note
from prism.service.tokens import Tokens
from tests.prism.api.conftest import make_service

TABLE = Status("flows", 1, 2**60, 99, 2**60 + 1, 2**60 + 3, 604_800, 7)


@pytest.fixture
def data(tmp_path):
    """The folder of a service, with a store in it."""
    pytest.importorskip("chdb")
    database = opened(str(tmp_path / "data" / "store"))
    database.create(flow_rows.FLOWS)
    database.close()
    return tmp_path / "data"


def test_a_store_that_nobody_has_is_read(data):
    for where in (data, data / "store", f"chdb:{data}"):
        found = store_status.tables_of(str(where))
        assert (found.place, found.through) == (str(data / "store"), None)
        assert [(table.name, table.rows) for table in found.tables] == [("flows", 0)]


@pytest.mark.parametrize("names", [(), ("prism.example",)])
def test_the_service_that_has_it_is_asked_whatever_it_is_called_and_whoever_may_ask(data, names, tmp_path):
    tokens = Tokens(tmp_path / "tokens")
    tokens.create("other", "read")
    service = make_service(tokens=tokens, names=names, owner="mine", store=lambda: [TABLE])
    held = lock_folder(data / "store", "prism.lock")
    with served(service) as port:
        running = Running(f"http://127.0.0.1:{port}", os.getpid(), "data/store", "mine")
        with service_note(data / "store", running):
            found = store_status.tables_of(str(data))
            assert (found.tables, found.through) == ((TABLE,), running)
        for changed, said in (
            ({"token": "wrong"}, r"its answer: http://127\.0\.0\.1:\d+: the service needs a token"),
            ({"process": os.getpid() + 1}, "it serves no pages that could answer"),  # of a service that was killed
        ):
            with service_note(data / "store", replace(running, **changed)), pytest.raises(InUseError, match=said):
                store_status.tables_of(str(data))
    held.release()


def test_a_service_whose_store_is_on_a_server_is_asked_while_it_lives(tmp_path):
    with served(make_service(store=lambda: [TABLE])) as port:
        running = Running(f"http://127.0.0.1:{port}", os.getpid(), "clickhouse://db/prism", "mine")
        with service_note(tmp_path, running):
            found = store_status.tables_of(str(tmp_path))
            assert (found.place, found.tables) == ("clickhouse://db/prism", (TABLE,))
        with service_note(tmp_path, Running(running.url, 0, running.store, "mine")), pytest.raises(AbsentError):
            store_status.tables_of(str(tmp_path))
    assert store_status.folder("clickhouse://db/prism", tmp_path) == tmp_path
    assert store_status.folder("chdb:there/store", tmp_path).as_posix() == "there/store"


def test_what_changes_a_store_waits_for_the_end_of_the_service(data):
    error = InUseError("in use", os.getpid())
    assert store_status.refusal(str(data / "store"), error) is error
    with service_note(data / "store", Running("http://127.0.0.1:1", os.getpid(), "", "mine")):
        assert "in use by the service at http://127.0.0.1:1" in str(store_status.refusal(str(data / "store"), error))
