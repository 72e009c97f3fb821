import contextlib
import socket
import sys
import threading

import pytest

from collectors.clickhouse.drivers import StoreError, Table, TableColumn, opened
from tests.collectors.builders import servers


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with servers.running(tmp_path_factory.mktemp("server"), password="a/b@c") as found:
        found.password = "a%2Fb%40c"
        yield found


def test_a_client_per_thread(server):
    database, found = opened(server.url), []

    def ask(i):
        found.extend(int(database.query(f"SELECT sleep(0.01), {i} AS i")["i"][0]) for _ in range(5))

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    database.close()
    assert sorted(found) == sorted(list(range(4)) * 5)


def test_wrong_credentials_are_said_without_the_right_ones(server):
    with pytest.raises(StoreError, match="wrong user or password") as caught:
        opened(server.url.replace("a%2Fb", "nothing"))
    assert not caught.value.transient
    assert "nothing" not in str(caught.value)


def test_a_server_that_is_away_may_come_back():
    (port,) = servers._free(1)
    with pytest.raises(StoreError, match="refused") as caught:
        opened(f"clickhouse://127.0.0.1:{port}/prism")
    assert caught.value.transient


@pytest.mark.parametrize("url", ["http://a/b", "clickhouse:///b", "clickhouse://a:x/b", "clickhouse://a/b?nope=1"])
def test_an_invalid_address_is_refused(url):
    with pytest.raises(StoreError, match=r"clickhouse|http") as caught:
        opened(url)
    assert not caught.value.transient


def test_another_protocol_behind_the_port(server):
    with pytest.raises(StoreError) as caught:
        opened(f"clickhouse://127.0.0.1:{server.ports[1]}/prism?send_receive_timeout=0.5")
    assert str(server.ports[1]) in str(caught.value)


def test_who_accepts_and_says_nothing_is_told_in_words():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(
            StoreError, match=rf"127\.0\.0\.1:{port} accepted the connection but did not answer within 0.2 s"
        ) as caught:
            opened(f"clickhouse://127.0.0.1:{port}/prism?send_receive_timeout=0.2")
    assert caught.value.transient


def test_who_does_not_accept_is_told_in_words():
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, contextlib.ExitStack() as undo:
        for _ in range(3):
            caller = undo.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(full.getsockname())
        port = full.getsockname()[1]
        with pytest.raises(StoreError, match=rf"no connection to 127\.0\.0\.1:{port} within 0.3 s") as caught:
            opened(f"clickhouse://127.0.0.1:{port}/prism?connect_timeout=0.3")
    assert caught.value.transient


def opened_at_last(where, tries=20):
    """A database whose server has to answer sooner than a loaded machine always does."""
    for _ in range(tries):
        with contextlib.suppress(StoreError):
            return opened(where)
    return opened(where)


def test_an_answer_that_is_late_is_told_in_words(server):
    database = opened_at_last(f"{server.url}?send_receive_timeout=0.08")
    with pytest.raises(StoreError, match=r"prism: no answer within 0\.08 s") as caught:
        database.query("SELECT sleep(1) AS n")  # the server tells progress every 0.1 s
    assert caught.value.transient
    database.close()


@pytest.mark.parametrize(("kind", "package"), [("lz4", "lz4"), ("lz4hc", "lz4"), ("zstd", "zstd")])
def test_a_compression_whose_package_is_not_there_says_which(kind, package, monkeypatch):
    monkeypatch.setitem(sys.modules, f"clickhouse_driver.compression.{kind}", None)
    with pytest.raises(
        StoreError,
        match=rf"compression={kind} needs a package that is missing; install it: pip install 'clickhouse-driver\[{package}\]'",
    ) as caught:
        opened(f"clickhouse://127.0.0.1:1/prism?compression={kind}")
    assert not caught.value.transient


def test_a_database_that_is_not_there_is_made_only_where_that_is_asked(server):
    url = server.url.removesuffix("prism") + "typo"
    with pytest.raises(StoreError, match="typo: no store exists here") as caught:
        opened(url, make=False)
    assert not caught.value.transient
    database = opened(server.url)
    assert "typo" not in database.query("SELECT name FROM system.databases")["name"].tolist()
    database.close()
    opened(url).close()
    opened(url, make=False).close()


def test_the_driver_s_lists_go_in_too(server):
    """As they do for aggregates, which a newer server has."""
    table = Table("lists", (TableColumn("n", "SimpleAggregateFunction(sum, UInt64)", plain="UInt64"),), ("n",))
    database = opened(server.url)
    database.create(table)
    client = database._mine(numpy=False)
    client.execute("INSERT INTO lists (n) VALUES", [[1, 2]], columnar=True)
    assert database.query("SELECT sum(n) AS n FROM lists")["n"][0] == 3
    from clickhouse_driver.columns.service import get_column_by_spec

    options = {"context": client.connection.context}
    assert get_column_by_spec("SimpleAggregateFunction(sum, UInt64)", options, use_numpy=False).ch_type == "UInt64"
    database.close()


@pytest.mark.parametrize("kind", ["UInt32", "Float64", "String"])
def test_what_does_not_fit_a_column_that_somebody_changed_meanwhile_is_refused(server, kind):
    """The driver would cut it to what fits."""
    table = Table("narrowed", (TableColumn("n", "UInt64"), TableColumn("m", "UInt64")), ("m",))
    database = opened(server.url)
    database.create(table)
    database.query(f"ALTER TABLE narrowed MODIFY COLUMN n {kind}")
    with pytest.raises(
        StoreError, match=rf"column narrowed\.n is {kind}, expected UInt64: it was changed from outside"
    ) as caught:
        database.insert(table, {"n": [1 << 40], "m": [1]}, token="x")
    assert not caught.value.transient
    assert database.query("SELECT count() AS n FROM narrowed")["n"][0] == 0
    database.query("ALTER TABLE narrowed MODIFY COLUMN n UInt64")
    assert database.insert(table, {"n": [1 << 40], "m": [1]}, token="x")
    assert database.query("SELECT n FROM narrowed")["n"].tolist() == [1 << 40]
    database.query("DROP TABLE narrowed")
    database.close()
