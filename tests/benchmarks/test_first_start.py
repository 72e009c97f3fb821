import pytest

from benchmarks import first_start
from prism.tracking.board import Board


class Watch:
    def analyse_window(self, now_ns, **_):
        return Board(revision=1, at_ns=now_ns)


class Parts:
    watch = Watch()


def test_lateness_is_from_the_end_of_a_window(monkeypatch):
    monkeypatch.setattr(first_start.time, "time_ns", lambda: 5_000)
    seen = first_start.Lateness()
    with seen.on(Parts()):
        assert Parts.watch.analyse_window(3_000).at_ns == 3_000
    assert seen.late == [2_000]
    assert seen.named_ns == 0


def test_the_tables_have_first_and_compiled_side_by_side(monkeypatch, tmp_path):
    monkeypatch.setattr(first_start, "replayed", lambda _run, cache: 3.0 if cache == tmp_path else 9.0)
    monkeypatch.setattr(first_start, "warmed", lambda _cache: 80.0)
    figures = {"windows": 9, "late": 0.1, "latest": 0.5, "named": 12.0}
    monkeypatch.setattr(first_start, "service", lambda _seconds, _cache: figures)
    told = list(first_start.lines(["hang"], 10.0, warm=True, compiled=tmp_path))
    assert told[0].split()[-2:] == ["80.0", "s"]
    assert told[3].split() == ["hang", "9.0", "3.0"]
    assert [line.split()[0] for line in told[-2:]] == ["first", "compiled"]


def test_a_service_is_measured_in_this_process(tmp_path):
    pytest.importorskip("chdb")
    found = first_start.served(4.0, tmp_path)
    assert found["windows"] >= 1
    assert found["latest"] > 0
