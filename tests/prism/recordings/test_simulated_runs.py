import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.score import compare
from collectors.aggregation.batch_decoder import Decoder
from collectors.captures import pcap
from collectors.formats import text_files
from collectors.packets.headers import CNP
from prism import topology
from prism.analysis import diagnose
from prism.cli import main
from prism.recordings.file_analysis import read
from prism.recordings.simulated_runs import spec_of, write, write_packets
from prism.report import json_report
from prism.synth.scenario.presets import PRESETS
from prism.synth.scenario.specification import Fault, Job, Spec
from prism.synth.simulation import simulate


def test_a_folder_holds_what_was_simulated(tmp_path):
    n = write(spec_of("pipeline"), tmp_path / "a" / "b", seed=2)
    flows, skipped = text_files.read(tmp_path / "a" / "b" / "flows.csv.gz")
    made = simulate(PRESETS["pipeline"], 2)
    assert not skipped
    assert len(flows) == n == len(made.flows)
    assert flows.octets.sum() == made.flows.octets.sum()
    assert json.loads((tmp_path / "a" / "b" / "truth.json").read_text()) == made.truth
    assert json.loads((tmp_path / "a" / "b" / "topology.json").read_text()) == made.topology


def test_an_unknown_preset_is_one_line_and_exit_2(tmp_path):
    with pytest.raises(ValueError, match="pipeline"):
        spec_of("nosuch")
    result = CliRunner().invoke(main.app, ["simulate", "nosuch", str(tmp_path / "x")])
    assert result.exit_code == 2
    assert result.stderr.startswith("prism: nosuch: neither a file nor a preset")
    assert not (tmp_path / "x").exists()


def test_the_command_writes_packets(tmp_path, monkeypatch):
    monkeypatch.setitem(PRESETS, "tiny", small("pipeline", steps=2))
    spec_of = ["simulate", "tiny", str(tmp_path / "x"), "--packets", "erspan", "--snaplen", "120", "--ends-only"]
    result = CliRunner().invoke(main.app, spec_of)
    assert result.exit_code == 0
    assert " packets written to " in result.stdout
    names = {"leaf0.pcap.gz", "leaf1.pcap.gz", "spine0.pcap.gz", "topology.json", "truth.json"}
    assert {path.name for path in (tmp_path / "x").iterdir()} == names


def test_a_file_with_a_spec_and_settings(tmp_path):
    (tmp_path / "s.yaml").write_text("jobs: [{dp: 8, steps: 3}]", encoding="utf-8-sig")
    assert spec_of(str(tmp_path / "s.yaml"), ["jobs.0.steps=2"]) == Spec(jobs=(Job(dp=8, steps=2),))
    result = CliRunner().invoke(
        main.app, ["simulate", str(tmp_path / "s.yaml"), str(tmp_path / "x"), "--set", "jobs.0.steps=2"]
    )
    assert result.exit_code == 0
    assert len(json.loads((tmp_path / "x" / "truth.json").read_text())["jobs"]["A"]["steps"]["0"]) == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("s.yaml", b"jobs: [{dpp: 3}]", "s.yaml: jobs[0].dpp: unknown field; did you mean dp?"),
        ("s.json", b"\xff", "s.json: offset 0: not UTF-8 text"),
        ("s.yml", None, "s.yml: no such file or directory"),
    ],
)
def test_a_bad_file_is_one_line_and_exit_2(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    result = CliRunner().invoke(main.app, ["simulate", str(tmp_path / name), str(tmp_path / "x")])
    assert result.exit_code == 2
    assert result.stderr == f"prism: {tmp_path}/{message}\n"


def test_the_presets_are_listed():
    result = CliRunner().invoke(main.app, ["simulate", "--list"])
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(PRESETS)


def small(name, **more):
    spec = PRESETS[name]
    return replace(spec, jobs=tuple(replace(job, **{"steps": 8} | more) for job in spec.jobs))


SMALL = {
    "ddp": small("ddp", gradient_octets=3_000_000),
    "ddp-rdma": small("ddp-rdma", gradient_octets=10_000_000, channels=2, credits=True, retransmit=1e-3, first_host=4),
    "pipeline": small("pipeline"),
    "interleaved": small("interleaved", gradient_octets=2_000_000, activation_octets=300_000),
}


def opened(folder):
    files = [(path.name.split(".")[0], str(path)) for path in sorted(folder.iterdir()) if ".json" not in path.name]
    placed = topology.parse((folder / "topology.json").read_text(), "topology.json")
    return *read(files, placed, lambda *_: None), placed


def score(folder):
    flows, transits, source, placed = opened(folder)
    found = diagnose(flows, source, topology=placed, transits=transits)
    counts = compare(json_report.to_json(found), json.loads((folder / "truth.json").read_text()))
    return {
        name: getattr(counts, name) for name in ("jobs_right", "layouts_right", "groups_right", "steps_right", "steps_claimed")
    }


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("options", [{}, {"erspan": True}, {"ends_only": True}], ids=lambda o: next(iter(o), "bare"))
def test_packets_tell_what_the_dump_tells(tmp_path, name, options):
    write(SMALL[name], tmp_path / "flows", 3)
    write_packets(SMALL[name], tmp_path / "packets", 3, **options)
    assert (tmp_path / "packets" / "truth.json").read_text() == (tmp_path / "flows" / "truth.json").read_text()
    assert score(tmp_path / "packets") == score(tmp_path / "flows")


def test_rdma_records_come_back_one_by_one(tmp_path):
    write(SMALL["ddp-rdma"], tmp_path / "flows", 3)
    written = write_packets(SMALL["ddp-rdma"], tmp_path / "packets", 3)
    (there, _, _, _), (back, transits, source, _) = opened(tmp_path / "flows"), opened(tmp_path / "packets")
    assert source.packets == written
    data = [f.take(f.octets > 64) for f in (there, back)]
    names = ("start_ns", "end_ns", "octets", "packets", "dst_qp", "retransmits")
    rows = [sorted(zip(*(getattr(f, name).tolist() for name in names), strict=True)) for f in data]
    off = np.array(rows[0]) - np.array(rows[1])
    assert abs(off[:, :2]).max() <= 2
    assert not off[:, 2:].any()
    ways = {("leaf0",), ("leaf1",), ("leaf0", "spine0", "leaf1"), ("leaf1", "spine0", "leaf0")}
    assert {f.paths[p] for f in data for p in np.unique(f.path)} <= ways
    assert transits.packets.sum() > 0


def test_congestion_is_marked_behind_the_queue_and_notified(tmp_path):
    spec = replace(SMALL["ddp-rdma"], faults=(Fault("uplink_throttle", switch="leaf1", factor=40.0),))
    write_packets(spec, tmp_path, 3)
    decoder, seen = Decoder(), {}
    for name in ("leaf0", "leaf1", "spine0"):
        parts = [decoder.decode(batch) for batch in pcap.read(tmp_path / f"{name}.pcap.gz")]
        seen[name] = [(sum(int(p.ecn.sum()) for p in parts)), sum(int((p.opcode == CNP).sum()) for p in parts)]
    assert all(marks and notices for marks, notices in seen.values())
    flows, transits, _, _ = opened(tmp_path)
    assert flows.cnp.sum() > 0
    hops = np.char.add(np.array(transits.exporters)[transits.sender], np.array(transits.exporters)[transits.receiver])
    shut = np.isin(hops, ["leaf1spine0", "spine0leaf1"])
    assert np.median(transits.delay_ns[shut]) > 10 * np.median(transits.delay_ns[~shut])
