import csv
import json

import pytest

from benchmarks import sensitivity
from benchmarks.scaling import constants, modules
from tests.prism.evidence.made import ORIGIN, data_parallel


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two hosts with two GPUs each and one ring; the truth says so."""
    wire = data_parallel(4, 1, steps=6)
    made = tmp_path_factory.mktemp("captures") / "ring"
    made.mkdir()
    with (made / "flows.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["start_ns", "end_ns", "src", "dst", "octets", "messages", "src_port", "dst_port", "protocol"])
        for start, end, src, dst, octets, _, port in sorted(wire.rows):
            out.writerow([start, end, wire.endpoints[src], wire.endpoints[dst], octets, 1, port, port, 17])
    ranks = [{"rank": i, "ip": ip, "server": i} for i, ip in enumerate(wire.endpoints)]
    job = {"mode": "ddp", "layout": {"dp": 4, "pp": 1}, "groups": {"dp": [[0, 1, 2, 3]]}, "ranks": ranks, "steps": {}}
    truth = {"hosts": {}, "jobs": {"A": job, "A-restart": job, "gone": {**job, "ranks": [{"rank": 0, "ip": "10.9.9.9"}]}}}
    (made / "truth.json").write_text(json.dumps({**truth, "faults": [], "origin_ns": ORIGIN}))
    return made.parent


DECIDES = "jobs.MIN_STEPS"  # with 100 times as many, nothing is a job


def test_a_constant_that_decides_and_one_that_does_not(folder, capsys):
    asked = ["--only", DECIDES, "--only", "evidence.BINS_OF_SPREAD", "--factor", "100", "--factor", "1.001"]
    assert sensitivity.main([str(folder), *asked]) == 0
    heading, *rows, last = capsys.readouterr().out.splitlines()
    assert heading.split() == ["constant", "value", "lower", "upper", "changed", "first"]
    found = {row.split()[0]: row.split()[1:] for row in rows}
    assert found["evidence.BINS_OF_SPREAD"] == ["40", "-", "-"]
    assert found[DECIDES][1:3] == ["-", "×100"]
    assert found[DECIDES][-1].endswith("/ring")
    assert last == "1 of 2 numbers change an answer of 1 captures"


def test_the_same_whole_number_is_marked(folder, capsys):
    assert sensitivity.main([str(folder), "--only", "evidence.BINS_OF_SPREAD", "--factor", "1.001"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["evidence.BINS_OF_SPREAD", "40", "=", "="]


def test_findings_come_from_the_views_of_the_unchanged_analysis(folder, monkeypatch):
    """A constant that only the diagnosis reads does not infer the job again."""
    (known,) = [sensitivity.studied(one, modules()) for one in folder.iterdir()]
    (always,) = [one for table in modules() for one in constants(table) if str(one) == "diagnosis.ALWAYS"]
    assert (always.module.__name__, "ALWAYS") in known.for_findings - known.for_views
    monkeypatch.setattr(sensitivity, "inferred", None)
    assert sensitivity.changed(always, 2.0, [known]) == ""


def test_a_number_at_which_the_analysis_fails_is_marked(folder, monkeypatch, capsys):
    real, calls = sensitivity.answer, []

    def failing(views, window):
        calls.append(window)
        if len(calls) > 1:
            raise ZeroDivisionError
        return real(views, window)

    monkeypatch.setattr(sensitivity, "answer", failing)
    assert sensitivity.main([str(folder), "--only", "layout.BEAM", "--factor", "2"]) == 0
    assert "/ring!" in capsys.readouterr().out


def test_what_is_scaled_without_names():
    every = {str(one): one for table in modules() for one in constants(table)}
    asked = {name for name, one in every.items() if sensitivity.asked_for(one, [])}
    assert {"layout.BEAM", "diagnosis.FEWER", "graph.SPAN"} <= asked
    assert not any(name.startswith(("loops.", "layout.WEIGHTS")) for name in asked)
    assert sensitivity.asked_for(every["loops.PART"], ["loops.P*"])


def test_bad_arguments(folder, tmp_path, capsys):
    assert sensitivity.main([str(tmp_path)]) == 2
    assert "no capture" in capsys.readouterr().err
    assert sensitivity.main([str(folder), "--only", "nothing"]) == 2
    assert "no constant" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        sensitivity.main([str(folder), "--factor", "1"])
    with pytest.raises(SystemExit):
        sensitivity.main([str(folder), "--factor", "much"])
