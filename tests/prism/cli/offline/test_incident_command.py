import json
from pathlib import Path

from typer.testing import CliRunner

from prism.cli import main

HANG = Path(__file__).parents[4] / "pcaps" / "hang"


def test_logs_beside_the_recorded_hang(tmp_path):
    truth = json.loads((HANG / "truth.json").read_text())
    [fault] = truth["faults"]
    ranks = next(iter(truth["jobs"].values()))["ranks"]
    for one in ranks:
        late = "RuntimeError: [x/gloo/transport/tcp/pair.cc:5] Timed out waiting 6000ms for recv operation to complete\n"
        (tmp_path / f"rank{one['rank']}.log").write_text("step 1 loss 1\n" + ("" if one["rank"] in fault["ranks"] else late))
    flows = [word for path in sorted(HANG.glob("leaf*.pcap.gz")) for word in ("--flows", str(path))]
    out, page = tmp_path.parent / "i.json", tmp_path.parent / "i.html"
    words = [
        "incident",
        str(tmp_path),
        *flows,
        "--topology",
        str(HANG / "topology.json"),
        "--json",
        str(out),
        "--html",
        str(page),
    ]
    result = CliRunner().invoke(main.app, [*words, "--hints", str(tmp_path.parent / "h.json")])
    assert result.exit_code == 3, result.stderr
    told = json.loads(out.read_text())
    assert told["node"] == f"rank {fault['ranks'][0]}"
    assert told["cause"] == "peer"
    assert page.read_text().startswith("<!doctype html>")
    assert len(json.loads((tmp_path.parent / "h.json").read_text())["jobs"][0]["endpoints"]) == len(ranks)


def test_bad_input(tmp_path):
    assert CliRunner().invoke(main.app, ["incident", str(tmp_path / "x"), "--flows", str(tmp_path / "y")]).exit_code == 2
