"""Files in, a diagnosis out."""

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from collectors.captures import pcap
from collectors.captures.pcap import DecodeError
from collectors.formats.column_mapping import parse
from collectors.writers import record_files
from prism import topology
from prism.model import Severity
from prism.recordings.file_analysis import replay
from prism.synth.simulation import simulate
from tests.collectors.builders import frames
from tests.collectors.builders.programs import nfcapd_file, run, softflowd, traffic
from tests.prism.exporting import DAMAGED, Datagrams, Lossy
from tests.prism.faults import FAULTS, TOPOLOGY
from tests.prism.traffic import T0, Wire, claims, training

PCAPS = Path(__file__).parents[3] / "pcaps"
SWITCHES = ("leaf0", "leaf1", "spine0")
RUN = PCAPS / "slow_nic"
PLACED = topology.parse((RUN / "topology.json").read_text(), "topology.json")


def inputs(folder):
    return [(switch, str(folder / f"{switch}.pcap.gz")) for switch in SWITCHES]


@pytest.fixture
def files(tmp_path):
    """The recorded run, the first of its captures cut off."""
    for _, path in inputs(RUN):
        shutil.copy(path, tmp_path)
    whole = gzip.decompress((tmp_path / "leaf0.pcap.gz").read_bytes())
    (tmp_path / "leaf0.pcap.gz").write_bytes(gzip.compress(whole[: len(whole) * 9 // 10 + 7], 1))
    return tmp_path


def test_captures_of_several_switches_are_one_story():
    told = []
    found = replay(inputs(RUN), PLACED, lambda *what: told.append(what))
    assert claims(found) == [("slow_link", ("10.10.3.1",))]
    assert found.source.files == tuple(path for _, path in inputs(RUN))
    assert found.source.flows > 1000
    assert found.source.skipped["seen by another switch"] > 1000
    assert sum(found.source.skipped.values()) < found.source.packets
    assert found.source.start_ns < found.source.end_ns
    assert found.source.warnings == ()
    assert {stage for stage, _, _ in told} == {"packets", "jobs"}
    counts = [done for stage, done, _ in told if stage == "packets"]
    assert counts == sorted(counts)
    assert counts[-1] == found.source.packets


def test_a_topology_among_captures_is_named(tmp_path):
    shutil.copy(RUN / "topology.json", tmp_path)
    with pytest.raises(ValueError, match=r"topology\.json: is a topology, neither a capture nor flow records; .*--topology"):
        replay([*inputs(RUN), ("topology", str(tmp_path / "topology.json"))])


def test_a_capture_that_was_cut_off_is_diagnosed_with_a_warning(files):
    found = replay(inputs(files), PLACED)
    assert len(found.jobs) == 1
    assert len(found.source.warnings) == 1
    assert "leaf0.pcap.gz" in found.source.warnings[0]


def as_dump(path, wire, *, last=None):
    flows = wire.flows(TOPOLOGY)
    record_files.write(path, flows if last is None else flows.take(flows.start_ns < last))
    return "dump", str(path)


@pytest.mark.parametrize("name", ["flows.csv", "flows.jsonl", "flows.csv.gz", "flows.jsonl.zst", "flows.parquet"])
def test_a_dump_says_what_its_flows_say(tmp_path, name):
    found = replay([as_dump(tmp_path / name, FAULTS["slow NIC"](Wire()))], TOPOLOGY)
    assert claims(found) == [("slow_link", ("10.0.6.1",))]
    assert (found.source.packets, found.source.flows) == (0, 14 * 12 * 22)


def test_two_dumps_are_one_run(tmp_path):
    wire = FAULTS["slow NIC"](Wire())
    flows = wire.flows(TOPOLOGY)
    half = int(np.median(flows.start_ns))
    names = [str(tmp_path / name) for name in ("one.csv", "two.jsonl.gz")]
    for name, rows in zip(names, (flows.start_ns >= half, flows.start_ns < half), strict=True):
        record_files.write(name, flows.take(rows))
    found = replay([("one", names[0]), ("two", names[1])], TOPOLOGY)
    assert claims(found) == [("slow_link", ("10.0.6.1",))]
    assert found.source.flows == len(flows)
    assert len(found.jobs[0].timeline.steps[0]) == 14


def test_a_dump_beside_captures(tmp_path):
    """Another job, that only the dump knows."""
    recorded = replay(inputs(RUN)).source
    name = as_dump(tmp_path / "flows.csv", training(dp=4, start=recorded.start_ns))
    found = replay([*inputs(RUN), name])
    assert sorted(len(one.job.endpoints) for one in found.jobs) == [4, 8]
    assert claims(found) == [("slow_link", ("10.10.3.1",))]
    assert found.source.packets == recorded.packets
    assert found.source.start_ns <= recorded.start_ns


@pytest.mark.parametrize("content", [None, b"", b"no capture at all", b"\xd4\xc3\xb2\xa1"])
def test_what_cannot_be_read_is_named(tmp_path, content):
    path = tmp_path / "leaf0.pcap"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DecodeError, match=r"leaf0\.pcap"):
        replay([("leaf0", str(path))])
    assert issubclass(DecodeError, ValueError)


def test_exports_and_tables_of_other_programs(tmp_path):
    """The same packets through softflowd, as a capture of its exports and as IPFIX, and through nfdump, as text."""
    traffic(tmp_path / "in.pcap")
    datagrams = softflowd(tmp_path, "in.pcap", 10)
    made = [frames.ethernet(frames.ipv4(frames.udp(d, ports=(50_000, 4739)), 17)) for d in datagrams]
    capture(tmp_path / "exports.pcap", [(T0 + i, frame) for i, frame in enumerate(made)])
    (tmp_path / "file.ipfix").write_bytes(b"".join(datagrams))
    file = nfcapd_file(tmp_path, tmp_path / "in.pcap")
    for form in ("csv", "json"):
        (tmp_path / f"flows.{form}").write_text(run("nfdump", "-r", file, "-o", form))
    for name in ("exports.pcap", "file.ipfix", "flows.csv", "flows.json"):
        found = replay([("leaf0", str(tmp_path / name))])
        assert (found.source.packets, found.source.flows) == (0, 6), name
        assert found.source.end_ns > found.source.start_ns
    with pytest.raises(DecodeError, match="an nfcapd file"):
        replay([("leaf0", file)])


def test_what_switches_lost_in_a_capture_of_exports(tmp_path):
    """Records of a slow link, and what the switch beside it counted and dropped meanwhile."""
    made = simulate(DAMAGED, 1)
    lossy = Lossy(made.flows, "10.10.3.1", "10.10.4.1", made.truth["faults"][0]["start_ns"])
    sent = [(due, 4739, payload) for due, payload, _ in Datagrams(made.flows, 0).payloads(0)]
    sent += [(due, 6343, payload) for due, payload, _ in lossy.payloads(0)]
    wire = [(due, frames.ethernet(frames.ipv4(frames.udp(d, ports=(50_000, port)), 17))) for due, port, d in sorted(sent)]
    capture(tmp_path / "exports.pcap", wire)
    placed = topology.parse(json.dumps(made.topology), "topology.json")
    (claim,) = [f for f in replay([("x", str(tmp_path / "exports.pcap"))], placed).findings if f.severity is not Severity.INFO]
    assert (claim.kind, claim.ids) == ("slow_link", ("10.10.3.1",))
    told = {row["why"]: row["packets"] for row in claim.evidence["lost"]}
    errors, drops = (round((made.flows.end_ns.max() - lossy.onset) / lossy.every) * n for n in (40, 8))
    assert told["errors"] == pytest.approx(errors, rel=0.1)
    assert told["no buffer space"] == pytest.approx(drops, rel=0.1)


def test_columns_of_another_maker(tmp_path):
    (tmp_path / "qp.csv").write_text(
        "us,qp,from,to,words\n1000,7,10.0.0.1,10.0.0.2,16\n2000,7,10.0.0.1,10.0.0.2,x\n3000,7,10.0.0.1,10.0.0.2,4\n"
    )
    columns = parse(
        "{end_ns: {column: us, unit: us}, duration_ns: {constant: 1, unit: ms}, src: from, dst: to, dst_qp: qp,"
        " octets: {column: words, scale: 4}}",
        "columns.yaml",
    )
    found = replay([("nic", str(tmp_path / "qp.csv"))], None, None, columns)
    assert (found.source.flows, found.source.skipped) == (2, {"bad number in words": 1})
    assert (found.source.start_ns, found.source.end_ns) == (0, 3_000_000)


def test_a_dump_without_the_columns_it_needs_is_named(tmp_path):
    path = tmp_path / "flows.csv"
    path.write_text("start_ns,end_ns,src,octets\n1,2,10.0.0.1,5\n")
    with pytest.raises(DecodeError, match=r"flows\.csv"):
        replay([("flows", str(path))])


def capture(path, packets):
    pcap.write(path, ((time_ns, frame, len(frame)) for time_ns, frame in packets))
    return [("leaf0", str(path))]


ARP = frames.ethernet(bytes(28), 0x0806)
TCP = frames.ethernet(frames.ipv4(frames.tcp(b"x" * 900)))


def test_a_capture_of_only_arp(tmp_path):
    found = replay(capture(tmp_path / "a.pcap", [(T0 + k * 10**9, ARP) for k in range(50)]), PLACED)
    assert (found.jobs, found.findings, found.unexplained) == ((), (), ("the input contains no payload",))
    assert found.source.packets == sum(found.source.skipped.values()) == 50


@pytest.mark.parametrize("n", [0, 1])
def test_a_capture_of_hardly_anything(tmp_path, n):
    found = replay(capture(tmp_path / "a.pcap", [(T0, TCP)] * n))
    assert (found.jobs, found.findings) == ((), ())
    assert found.source.packets == found.source.flows == n
    assert len(found.unexplained) == 1


def test_a_clock_that_goes_backwards(tmp_path):
    """The packets of each capture in the order in which they were sent, but for a few that are stamped too early or late."""
    chance = np.random.default_rng(0)
    sequence = 3_000_000_000
    frames = [TCP.replace(sequence.to_bytes(4, "big"), (sequence + 1000 * k).to_bytes(4, "big")) for k in range(500)]
    packets = [(T0 + k * 10**6 + int(chance.choice([0, 0, 0, -(10**9), 10**9])), frame) for k, frame in enumerate(frames)]
    found = replay(capture(tmp_path / "a.pcap", packets))
    assert (found.jobs, found.findings) == ((), ())
    assert found.source.start_ns < found.source.end_ns
