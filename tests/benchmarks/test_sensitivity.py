import csv
import json

import pytest

from benchmarks import sensitivity
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


DECIDES = "layout.ONE_PART"  # at 0.01 times its value, no stream recurs


def test_a_constant_that_decides_and_one_that_does_not(folder, capsys):
    asked = ["--only", DECIDES, "--only", "evidence.BINS_OF_SPREAD", "--factor", "0.01", "--factor", "1.001", "--steps"]
    assert sensitivity.main([str(folder), *asked]) == 0
    heading, columns, *rows, last = capsys.readouterr().out.splitlines()
    assert heading.startswith("2 numbers, 1 jobs, 1 layouts right")
    assert columns.split() == ["constant", "value", "×0.01", "×1.001", "nearest,", "changed"]
    found = {row.split()[0]: row.split()[1:] for row in rows}
    assert found["evidence.BINS_OF_SPREAD"][:3] == ["40", "0", "="]
    assert found[DECIDES][1:3] == ["1", "(-1)"]
    assert last == "1 of 2 numbers change an answer"


def test_only_those_that_change_anything_where_asked(folder, capsys):
    assert sensitivity.main([str(folder), "--only", "layout.BEAM", "--changing"]) == 0
    assert not any(line.startswith("layout") for line in capsys.readouterr().out.splitlines())


def test_a_number_at_which_the_analysis_fails_is_marked(folder, monkeypatch, capsys):
    real, calls = sensitivity.answer, []

    def failing(case, problem):
        calls.append(case.name)
        if len(calls) > 1:
            raise ZeroDivisionError
        return real(case, problem)

    monkeypatch.setattr(sensitivity, "answer", failing)
    assert sensitivity.main([str(folder), "--only", "layout.BEAM", "--factor", "2"]) == 0
    assert "0!  ×2, 1 of 1" in capsys.readouterr().out


def test_what_is_never_read_is_reported(folder, capsys):
    assert sensitivity.main([str(folder), "--only", "layout.HINTED_SIZE", "--factor", "2"]) == 0
    assert "not read" in capsys.readouterr().out


def test_bad_arguments(folder, tmp_path, capsys):
    assert sensitivity.main([str(tmp_path)]) == 2
    assert "no capture" in capsys.readouterr().err
    assert sensitivity.main([str(folder), "--only", "nothing"]) == 2
    assert "no constant" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        sensitivity.main([str(folder), "--factor", "0"])
    with pytest.raises(SystemExit):
        sensitivity.main([str(folder), "--factor", "much"])
