import json
import os
import signal
import sys
import tempfile
import time
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from collectors.clickhouse.drivers import opened
from collectors.store import flow_rows
from collectors.store.store_sink import Storing
from prism.cli.main import app
from prism.cli.store_commands import parse_seconds
from prism.service.tokens import Tokens
from tests.collectors.builders import servers, stores
from tests.collectors.builders.toys import Child

PRISM = (sys.executable, "-c", "from prism.cli.main import main; main()")


def run(*words):
    return CliRunner().invoke(app, ["store", *words])


@pytest.fixture(params=["embedded", "server"])
def where(request, tmp_path):
    if request.param == "embedded":
        yield str(tmp_path / "store")
        return
    with servers.running(tmp_path) as server:
        yield server.url


def test_a_store_is_made_seen_and_pruned(where, tmp_path):
    for words in (("status", where), ("prune", where), ("prune", where, "--keep", "2d"), ("status", where)):
        found = run(*words)
        assert (found.exit_code, found.stdout) == (2, "")
        assert "no store exists here; create it with prism store init" in found.stderr
    assert not (tmp_path / "store").exists()
    made = run("init", where, "--keep", "30d")
    assert made.exit_code == 0
    assert "flows (schema 1): 0 rows" in made.stdout
    assert "kept for 30 days" in made.stdout
    now = time.time_ns()
    sink = Storing(where, tmp_path / "spool")
    sink.write(stores.flows(50, now_ns=now))
    sink.write(stores.flows(50, now_ns=now - 20 * 86_400 * 10**9))
    sink.close(patience_s=60)
    assert sink.records_by_result()["stored"] == 100
    assert {t["name"]: t["rows"] for t in json.loads(run("status", where, "--json").stdout)}["flows"] == 100
    pruned = run("prune", where, "--keep", "10d")
    assert "kept for 10 days" in pruned.stdout
    assert {t["name"]: t["rows"] for t in json.loads(run("status", where, "--json").stdout)}["flows"] == 50
    assert run("init", where).stdout.count("kept for 10 days") == 1


def test_what_is_wrong_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    for words, status in ((("init", str(tmp_path / "file")), 2), (("status", "clickhouse://127.0.0.1:1/prism"), 75)):
        found = run(*words)
        assert found.exit_code == status
        assert found.stderr.startswith("prism: ")
        assert found.stderr.count("\n") == 1
    assert run("init", str(tmp_path / "new"), "--keep", "long").exit_code == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else for a while")
@pytest.mark.parametrize("words", [("status",), ("prune",), ("prune", "--keep", "2d")])
def test_a_folder_of_somebody_else_is_reported(words):
    from collectors.clickhouse import drivers  # noqa: F401 - somebody else may not read it

    with tempfile.TemporaryDirectory() as folder:
        os.seteuid(65534)
        try:
            found = run(words[0], folder, *words[1:])
        finally:
            os.seteuid(0)
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == f"prism: {folder}: permission denied (user 65534; {folder} belongs to root)\n"


@pytest.mark.parametrize("word", ["status", "prune"])
def test_a_name_that_no_folder_can_have_is_reported(word, tmp_path):
    found = run(word, str(tmp_path / ("n" * 300)))
    assert (found.exit_code, found.stderr.count("\n")) == (2, 1)
    assert found.stderr.endswith("nnn: file name too long\n")


@pytest.mark.parametrize("word", ["init", "status", "prune"])
@pytest.mark.parametrize("where", ["", "chdb:"])
def test_no_folder_is_not_the_current_one(word, where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run(word, where)
    assert found.exit_code == 2
    assert "is a shell variable not set?" in found.stderr
    assert not list(tmp_path.iterdir())


def test_the_store_of_a_service_is_found_in_its_folder(tmp_path):
    assert run("init", str(tmp_path / "data" / "store")).exit_code == 0
    found = run("status", str(tmp_path / "data"))
    assert "flows (schema 1): 0 rows" in found.stdout
    assert [one.name for one in (tmp_path / "data").iterdir()] == ["store"]


SERVE = ("serve", "--http", "127.0.0.1:0")


def serving(data, *more):
    """A real service with a store in a folder, and its address."""
    child = Child(*SERVE, "--data", str(data), *map(str, more), command=PRISM)
    return child, child.expect(r"event=pages url=(\S+)")[1]


def test_a_running_service_is_asked(tmp_path, monkeypatch):
    pytest.importorskip("chdb")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")  # not for this host
    data, tokens = tmp_path / "data", tmp_path / "tokens.json"
    Tokens(tokens).create("somebody", "read")
    child, url = serving(data, "--tokens", tokens)
    with child:
        for where in (data, data / "store"):
            found = run("status", str(where), "--json")
            assert found.exit_code == 0, found.stderr
            assert [table["name"] for table in json.loads(found.stdout)] == ["flows", "flow_pairs"]
            assert f"as the service at {url} (process {child.process.pid}) says" in found.stderr
        for words in (("prune", str(data)), ("init", str(data)), ("prune", str(data / "store"), "--keep", "2d")):
            found = run(*words)
            assert (found.exit_code, found.stdout) == (2, "")
            assert f"in use by the service at {url} (process {child.process.pid}); stop it first" in found.stderr
        note = data / "store" / "service.json"
        assert note.stat().st_mode & 0o777 == 0o600
        checks = json.loads(CliRunner().invoke(app, ["doctor", "--store", str(data), "--json"]).stdout)["checks"]
        assert next(c["level"] for c in checks if c["name"] == "store") == "fine"
        child.end(signal.SIGTERM)
    assert not note.exists()
    assert "flows (schema 1): 0 rows" in run("status", str(data)).stdout


def test_what_a_killed_service_left_misleads_nobody(tmp_path):
    pytest.importorskip("chdb")
    data = tmp_path / "data"
    child, _ = serving(data)
    with child:
        child.end(signal.SIGKILL)
    assert (data / "store" / "service.json").exists()
    assert run("status", str(data)).exit_code == 0
    child, _ = serving(data, "--http", "127.0.0.1:0")
    with child:
        assert run("status", str(data)).exit_code == 0
        note = data / "store" / "service.json"
        note.write_text(note.read_text().replace('"http://127.0.0.1:', '"http://127.0.0.1:1'))
        found = run("status", str(data))
        assert (found.exit_code, found.stdout) == (2, "")
        assert f"(process {child.process.pid}); its answer: http://127.0.0.1:1" in found.stderr
        note.unlink()
        found = run("status", str(data))
        assert f"in use by process {child.process.pid} (" in found.stderr
        assert "it serves no pages that could answer" in found.stderr


def test_a_service_with_a_server_is_asked_by_its_folder(tmp_path):
    with servers.running(tmp_path / "server") as server:
        child, url = serving(tmp_path / "data", "--store", server.url)
        with child:
            found = run("status", str(tmp_path / "data"))
            assert (found.exit_code, "flows (schema 1): 0 rows" in found.stdout) == (0, True), found.stderr
            assert f"as the service at {url}" in found.stderr
        found = run("status", str(tmp_path / "data"))
        assert (found.exit_code, found.stdout) == (2, "")


@pytest.mark.parametrize("words", [("status",), ("prune",), ("init",)])
def test_a_folder_of_something_else_stays_one(words, tmp_path):
    for name in ("notes.txt", "b"):
        (tmp_path / name).touch()
    found = run(*words, str(tmp_path))
    assert (found.exit_code, found.stdout) == (2, "")
    assert f"{tmp_path}: no store exists here, but b, notes.txt; " in found.stderr
    assert sorted(one.name for one in tmp_path.iterdir()) == ["b", "notes.txt"]


def test_the_folder_of_a_service_is_not_made_a_store(tmp_path):
    data = tmp_path / "data"
    assert run("init", str(data / "store")).exit_code == 0
    assert "flows (schema 1)" in run("init", str(data)).stdout
    assert [one.name for one in data.iterdir()] == ["store"]
    found = CliRunner().invoke(app, ["serve", "--data", str(data / "store"), "--http", "none"])
    assert found.exit_code == 2
    assert f"{data / 'store'}: is a store itself; --data names the folder around a store" in found.stderr


def test_times():
    assert [parse_seconds(text) for text in ("90s", "15m", "12h", "30d")] == [90, 900, 43_200, 2_592_000]
    for text in ("", "30", "0d", "-1d", "1y"):
        with pytest.raises(ValueError, match="not a duration"):
            parse_seconds(text)


def test_a_table_that_takes_nothing_is_reported(where):
    run("init", where)
    database = opened(where)
    database.query("ALTER TABLE flows DROP COLUMN octets")
    database.register(replace(flow_rows.PAIRS, version=9))
    database.close()
    found, told = run("status", where), run("status", where, "--json")
    assert found.exit_code == told.exit_code == 2
    assert "flows (schema 1): 0 rows" in found.stdout
    assert found.stderr.count("\n") == 1
    assert "has no column octets: it was changed from outside" in found.stderr
    assert "flow_pairs has schema 9, this version knows 1; use a newer Prism" in found.stderr
    assert ["octets" in table["wrong"] for table in json.loads(told.stdout)] == [True, False]
    for words in (("init", where), ("prune", where), ("prune", where, "--keep", "2d")):
        assert run(*words).exit_code == 2
