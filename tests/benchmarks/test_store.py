import pytest

from benchmarks import store
from tests.collectors import servers


def test_the_sink_is_measured_against_the_engine(capsys):
    assert store.main(["--rows", "2000", "--only", "embedded"]) == 0
    assert "× raw" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["embedded", "server"])
def test_questions_have_answers(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "ROWS", 20_000)
    if kind == "embedded":
        found = dict(store.asked(str(tmp_path / "store"), 40_000))
    else:
        with servers.running(tmp_path) as server:
            found = dict(store.asked(server.url, 40_000))
    assert found.pop("rows") == 40_000
    assert len(found) == 3
    assert all(ms > 0 for ms in found.values())
