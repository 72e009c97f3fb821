import json
import os
import tempfile
import time
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from collectors import flowrows
from collectors.clickhouse import opened
from collectors.storing import Storing
from prism.cli import app
from prism.cli_store import seconds
from tests.collectors import servers, stores


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
        assert "no store is there (prism store init makes one)" in found.stderr
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
    assert sink.fates()["stored"] == 100
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
def test_a_folder_of_somebody_else_is_told(words):
    from collectors import clickhouse  # noqa: F401 - somebody else may not read it

    with tempfile.TemporaryDirectory() as folder:
        os.seteuid(65534)
        try:
            found = run(words[0], folder, *words[1:])
        finally:
            os.seteuid(0)
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == f"prism: {folder}: permission denied (user 65534; {folder} belongs to root)\n"


@pytest.mark.parametrize("word", ["status", "prune"])
def test_a_name_that_no_folder_can_have_is_told(word, tmp_path):
    found = run(word, str(tmp_path / ("n" * 300)))
    assert (found.exit_code, found.stderr.count("\n")) == (2, 1)
    assert found.stderr.endswith("nnn: file name too long\n")


@pytest.mark.parametrize("word", ["init", "status", "prune"])
@pytest.mark.parametrize("where", ["", "chdb:"])
def test_no_folder_is_not_the_current_one(word, where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run(word, where)
    assert found.exit_code == 2
    assert "an unset variable, perhaps" in found.stderr
    assert not list(tmp_path.iterdir())


def test_the_store_of_a_service_is_found_in_its_folder(tmp_path):
    assert run("init", str(tmp_path / "data" / "store")).exit_code == 0
    found = run("status", str(tmp_path / "data"))
    assert "flows (schema 1): 0 rows" in found.stdout
    assert [one.name for one in (tmp_path / "data").iterdir()] == ["store"]


def test_times():
    assert [seconds(text) for text in ("90s", "15m", "12h", "30d")] == [90, 900, 43_200, 2_592_000]
    for text in ("", "30", "0d", "-1d", "1y"):
        with pytest.raises(ValueError, match="not a time"):
            seconds(text)


def test_a_table_that_takes_nothing_is_told(where):
    run("init", where)
    database = opened(where)
    database.query("ALTER TABLE flows DROP COLUMN octets")
    database.register(replace(flowrows.PAIRS, version=9))
    database.close()
    found, told = run("status", where), run("status", where, "--json")
    assert found.exit_code == told.exit_code == 2
    assert "flows (schema 1): 0 rows" in found.stdout
    assert found.stderr.count("\n") == 1
    assert "has no column octets: somebody changed it" in found.stderr
    assert "flow_pairs has schema 9, this Prism knows 1: it needs a newer Prism" in found.stderr
    assert ["octets" in table["wrong"] for table in json.loads(told.stdout)] == [True, False]
    for words in (("init", where), ("prune", where), ("prune", where, "--keep", "2d")):
        assert run(*words).exit_code == 2
