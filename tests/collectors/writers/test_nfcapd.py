"""What nfdump reads of the files made for it, where it is installed."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest
from typer.testing import CliRunner

from collectors.cli import commands
from collectors.columns.record import Flows
from collectors.writers.nfcapd import BLOCK, HEADER, ROWS, Writer, kind_of
from collectors.writers.record_files import write

needs_nfdump = pytest.mark.skipif(shutil.which("nfdump") is None, reason="nfdump is not installed")
START = 1_795_000_000_123_456_789


def nfdump(*arguments):
    done = subprocess.run(["nfdump", *map(str, arguments)], capture_output=True, text=True, env=os.environ | {"TZ": "UTC"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects(path):
    return json.loads(nfdump("-r", path, "-o", "json"))


def mixed():
    """Records of both families, seen by exporters that are addresses of both, or names."""
    return Flows.build(
        {
            "start_ns": START + np.arange(5) * 1_000_000,
            "end_ns": START + np.arange(5) * 1_000_000 + 7_000_000,
            "src": [0, 2, 0, 1, 3],
            "dst": [1, 3, 1, 0, 0],
            "src_port": [1000, 1001, 0, 1003, 1004],
            "dst_port": [2000, 2001, 0, 2003, 2004],
            "protocol": [6, 17, 17, 6, 1],
            "dst_qp": [0, 0, 17, 0, 0],
            "octets": [100, 200, 4096, 1 << 40, 500],
            "packets": [1, 2, 4, 1 << 33, 5],
            "tcp_flags": [0x18, 0, 0, 2, 0],
            "sampling_rate": [1, 100, 1, 1, 0],
            "exporter": [0, 1, 2, 0, 1],
        },
        endpoints=("10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"),
        exporters=("192.0.2.1", "leaf0", "2001:db8::1"),
    )


@needs_nfdump
@pytest.mark.parametrize("name", ["a.nfdump", "nfcapd.202611260238"])
def test_nfdump_reads_every_record(tmp_path, name):
    write(tmp_path / name, mixed())
    found = objects(tmp_path / name)
    ends = [(r.get("src4_addr", r.get("src6_addr")), r.get("dst4_addr", r.get("dst6_addr"))) for r in found]
    assert ends == [
        ("10.0.0.1", "10.0.0.2"),
        ("fd00::1", "fd00::2"),
        ("10.0.0.1", "10.0.0.2"),
        ("10.0.0.2", "10.0.0.1"),
        ("fd00::2", "::ffff:10.0.0.1"),
    ]
    assert [r["in_bytes"] for r in found] == [100, 20_000, 4096, 1 << 40, 500]
    assert [r["in_packets"] for r in found] == [1, 200, 4, 1 << 33, 5]
    assert [r["proto"] for r in found] == [6, 17, 17, 6, 1]
    assert [(r.get("src_port"), r.get("dst_port")) for r in found[:4]] == [(1000, 2000), (1001, 2001), (0, 4791), (1003, 2003)]
    assert found[0]["first"] == "2026-11-18T11:06:40.123"
    assert found[0]["last"] == "2026-11-18T11:06:40.130"
    assert [r.get("ip4_router", r.get("ip6_router")) for r in found] == ["192.0.2.1", None, "2001:db8::1", "192.0.2.1", None]
    assert [r["sampled"] for r in found] == [0, 1, 0, 0, 0]


@needs_nfdump
def test_nfdump_finds_the_file_sound_and_sums_it_up(tmp_path):
    write(tmp_path / "a.nfdump", mixed())
    told = nfdump("-v", tmp_path / "a.nfdump")
    assert "not compressed" in told
    assert "rror" not in told
    sums = dict(line.split(": ") for line in nfdump("-I", "-r", tmp_path / "a.nfdump").splitlines() if ": " in line)
    assert (sums["Ident"], sums["Flows"], sums["Flows_tcp"], sums["Flows_udp"], sums["Flows_icmp"]) == ("prism", *"5221")
    assert sums["Bytes_udp"] == str(20_000 + 4096)
    assert (sums["First"], sums["msec_first"]) == (str(START // 10**9), "123")


@needs_nfdump
def test_many_blocks_and_none(tmp_path):
    n = 2 * ROWS + 5
    columns = {
        "start_ns": START + np.arange(n),
        "end_ns": START + np.arange(n),
        "src": np.arange(n) % 2,
        "dst": np.zeros(n, int),
    }
    flows = Flows.build(columns | {"octets": np.arange(n), "packets": np.ones(n, int)}, endpoints=("10.0.0.1", "fd00::1"))
    with Writer(tmp_path / "a.nfdump") as file:
        file.add(flows)
        file.add(flows.take(slice(0, 3)))
    assert file.count == n + 3
    sums = nfdump("-r", tmp_path / "a.nfdump", "-o", "null")
    assert f"Total flows processed: {n + 3}, passed: {n + 3}" in sums
    write(tmp_path / "none.nfdump", flows.take(slice(0, 0)))
    assert "Total flows processed: 0" in nfdump("-r", tmp_path / "none.nfdump", "-o", "null")


@needs_nfdump
def test_convert_and_back(tmp_path):
    """What nfdump says of the file as JSON is read again as what was written."""
    rows = "10.0.0.1,10.0.0.2,6,1500,3\n10.0.0.2,fd00::1,17,99,1\n"
    text = "start_ns,end_ns,src,dst,protocol,octets,packets\n" + "".join(
        f"{START // 10**6 * 10**6},{START // 10**6 * 10**6 + 10**9},{row}\n" for row in rows.split()
    )
    (tmp_path / "in.csv").write_text(text)
    made, again, back = (str(tmp_path / name) for name in ("out.nfdump", "again.json", "back.csv"))
    assert CliRunner().invoke(commands.app, ["convert", str(tmp_path / "in.csv"), made]).exit_code == 0
    (tmp_path / "again.json").write_text(nfdump("-r", made, "-o", "json"))
    done = CliRunner().invoke(commands.app, ["convert", again, back])
    assert done.exit_code == 0, done.output
    columns = text.split("\n", 1)[0].split(",")
    names, *lines = [line.split(",") for line in (tmp_path / "back.csv").read_text().split()]
    assert [[line[names.index(c)] for c in columns] for line in lines] == [line.split(",") for line in text.split()[1:]]


def test_blocks_are_no_larger_than_the_header_says():
    assert HEADER.itemsize == 40
    assert kind_of(6, 6).itemsize * ROWS <= BLOCK
