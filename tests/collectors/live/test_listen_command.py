"""`prism-collect listen` as a child: real sockets, signals, files; exports of real programs."""

import json
import os
import re
import shutil
import signal
import subprocess
import urllib.request
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from collectors.aggregation.batch_decoder import Decoder
from collectors.captures import pcap
from tests.collectors.builders import exports
from tests.collectors.builders.toys import Child, send, until

PATHS = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"
CAPTURE = Path(__file__).parents[3] / "pcaps" / "two_jobs" / "leaf0.pcap.gz"


def listen(*arguments, kinds=("ipfix",)):
    child = Child("listen", *(word for kind in kinds for word in (f"--{kind}", "0")), *arguments)
    ports = [int(child.expect(rf"event=listening kind={kind} .*port=(\d+)")[1]) for kind in kinds]
    return child, *ports


def stopped(child):
    """The counts of its last line."""
    line = child.said[-1]
    assert "event=stopped" in line, child.said
    return {name: int(number) for name, number in re.findall(r" (\w+)=(\d+)(?!\S)", line)}


def netflow5(count, first=0):
    """A NetFlow v5 datagram of records of 1000 octets each."""
    head = bytes([0, 5]) + count.to_bytes(2, "big") + (1000).to_bytes(4, "big") + (1_795_000_000).to_bytes(4, "big") + bytes(4)
    head += first.to_bytes(4, "big") + bytes(4)
    row = bytes([10, 0, 0, 1, 10, 0, 0, 2]) + bytes(8) + (1).to_bytes(4, "big") + (1000).to_bytes(4, "big")
    row += (500).to_bytes(4, "big") + (900).to_bytes(4, "big") + bytes([0, 80, 1, 0, 0, 0, 6, 0]) + bytes(8)
    return head + row * count


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_json_lines_until_it_is_told_to_stop(number):
    child, port = listen(kinds=["netflow"])
    with child:
        send(port, [netflow5(3, 0), netflow5(2, 3), b"nonsense"])
        until(lambda: child.wrote.count(b"\n") == 5)
        send(port, [netflow5(1, 5)])
        assert child.end(number) == 0
        rows = [json.loads(line) for line in child.wrote.splitlines()]
        assert len(rows) == 6
        assert {(row["src"], row["octets"], row["exporter"]) for row in rows} == {("10.0.0.1", 1000, "127.0.0.1")}
        counts = stopped(child)
        assert counts["datagrams_received"] == counts["netflow_datagrams_received"] == 4
        errors = sum(n for name, n in counts.items() if name.startswith("netflow_datagrams_error"))
        assert counts["netflow_datagrams_decoded"] + errors == 4
        assert (errors, counts["records"], counts["sink_records_kept"]) == (1, 6, 6)


def test_parquet_files_and_nothing_else_is_left(tmp_path):
    child, port = listen("-o", str(tmp_path), "--rotate-seconds", "0.2", kinds=["netflow"])
    with child:
        for i in range(3):
            send(port, [netflow5(10, 10 * i)])
            child.expect(f"file written.*{i:06}.parquet")
        send(port, [netflow5(7, 30)])
        assert child.end() == 0
        files = sorted(tmp_path.iterdir())
        assert all(re.fullmatch(r"flows-\d{8}T\d{6}Z-\d{6}\.parquet", file.name) for file in files)
        assert sum(len(pyarrow.parquet.read_table(file)) for file in files) == 37
        assert stopped(child)["sink_files"] == len(files) == 4


def test_counters_for_prometheus():
    child, port = listen("--metrics", "0", kinds=["netflow"])
    with child:
        url = child.expect(r"url=(\S+)")[1]

        def page():
            return urllib.request.urlopen(url, timeout=10).read().decode()

        send(port, [netflow5(3)])
        until(lambda: "prism_collect_records_total 3.0" in page())
        assert 'prism_collect_exporter_datagrams_total{exporter="127.0.0.1"} 1.0' in page()
        assert 'prism_collect_kernel_lost_total{kind="netflow"} 0.0' in page()
        assert child.end() == 0
        with pytest.raises(OSError, match="refused"):
            page()


def refused(child):
    """How many datagrams it has refused by now."""
    page = urllib.request.urlopen(child.expect(r"url=(\S+)")[1], timeout=10).read().decode()
    return int(float(re.search(r'refused_total{reason="sender not allowed"} (\S+)', page)[1]))


def test_sighup_reads_the_allow_list_and_the_settings_again(tmp_path):
    (tmp_path / "allow").write_text("127.0.0.9\n")
    settings = tmp_path / "collect.toml"
    settings.write_text(f'[listen]\nallow_file = "{tmp_path}/allow"\nnetflow = ["0"]\nmetrics = "0"\n')
    with Child("listen", "--config", str(settings)) as child:
        port = int(child.expect(r"event=listening kind=netflow .*port=(\d+)")[1])
        send(port, [netflow5(1)])
        until(lambda: refused(child) == 1)
        (tmp_path / "allow").write_text("127.0.0.9\n127.0.0.1  # it too\n")
        child.process.send_signal(signal.SIGHUP)
        child.expect('event="settings reloaded" networks=2')
        send(port, [netflow5(2)])
        until(lambda: child.wrote.count(b"\n") == 2)
        (tmp_path / "allow").write_text("127.0.0.300\n")
        child.process.send_signal(signal.SIGHUP)
        child.expect("settings not reloaded.*127.0.0.300")
        send(port, [netflow5(1)])
        until(lambda: child.wrote.count(b"\n") == 3)
        settings.write_text("[listen]\nallow = []\nallow_file = ''\n")
        child.process.send_signal(signal.SIGHUP)
        child.expect('event="settings reloaded" networks=0')
        send(port, [netflow5(1)])
        assert child.end() == 0
        assert stopped(child)["datagrams_refused_sender_not_allowed"] == 2


def test_templates_are_known_again_after_a_restart(tmp_path):
    kept = ("--templates", str(tmp_path / "templates.json"))
    two = [(8, 4), (12, 4), (1, 4), (152, 8), (153, 8)]  # addresses, octets, start and end in ms
    row = bytes([10, 0, 0, 1, 10, 0, 0, 2]) + (1500).to_bytes(4, "big") + 2 * (1_795_000_000_000).to_bytes(8, "big")
    child, port = listen(*kept)
    with child:
        send(port, [exports.ipfix(exports.template(300, two))])
        assert child.end() == 0
        assert stopped(child)["ipfix_datagrams_received"] == 1
    child, port = listen(*kept)
    with child:
        send(port, [exports.ipfix(exports.set_(300, row))])
        until(lambda: child.wrote.count(b"\n") == 1)
        assert child.end() == 0
        assert json.loads(child.wrote)["octets"] == 1500
    (tmp_path / "templates.json").write_text("[")
    with Child("listen", "--ipfix", "0", *kept) as child:
        child.expect("templates.json: not a file")
        assert child.process.wait(20) == 2


def test_an_empty_list_in_the_settings_is_nobody(tmp_path):
    settings = tmp_path / "collect.toml"
    settings.write_text("[listen]\nallow = []\n")
    child, port = listen("--config", str(settings), kinds=["netflow"])
    with child:
        send(port, [netflow5(1)])
        assert child.end() == 0
        assert stopped(child)["datagrams_refused_sender_not_allowed"] == 1


def test_it_says_when_the_buffer_is_small_or_anybody_may_send():
    with Child("listen", "--ipfix", "*:0", "--buffer", "1024") as child:
        child.expect('level=WARNING event="any host may send records"')
        granted = int(child.expect(r"buffer=(\d+)")[1])
        assert any('level=WARNING event="receive buffer smaller than requested"' in line for line in child.said) == (
            granted < 1 << 30
        )
        assert child.end() == 0


def test_a_reader_that_leaves_ends_it():
    reader, writer = os.pipe()
    with Child("listen", "--netflow", "0", stdout=writer) as child:
        os.close(writer)
        os.close(reader)
        send(int(child.expect(r"event=listening .*port=(\d+)")[1]), [netflow5(1)])
        assert child.end(None) == 1
        assert not any("Traceback" in line for line in child.said)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "no port to listen on"),
        (("--ipfix", "x:1"), "is not an address to listen on"),
        (("--ipfix", "192.0.2.77:1"), "192.0.2.77:1: cannot assign"),
        (("--ipfix", "0", "--allow", "10.0.0.1/8"), "10.0.0.1/8"),
        (("--ipfix", "0", "-o", "/no/such"), "/no/such: the folder does not exist"),
        (("--ipfix", "0", "--allow-file", "/no/such"), "/no/such: no such file"),
        (("--ipfix", "0", "--config", "/no/such"), "/no/such: no such file"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_2(arguments, complaint):
    with Child("listen", *arguments) as child:
        assert child.end(None) == 2
        assert complaint in child.said[-1]
        assert not any("Traceback" in line for line in child.said)


@pytest.fixture(scope="module")
def plain_capture(tmp_path_factory):
    """A capture unpacked, and the IP octets and packets in it."""
    path = tmp_path_factory.mktemp("captures") / "leaf0.pcap"
    octets = packets = 0
    rows = []
    for batch in pcap.read(CAPTURE):
        for at, n, when, wire in zip(
            *(c.tolist() for c in (batch.offset, batch.captured, batch.time_ns, batch.wire)), strict=True
        ):
            frame = bytes(batch.data[at : at + n])
            rows.append((when, frame, wire))
            if frame[12:14] == b"\x08\x00":
                octets, packets = octets + int.from_bytes(frame[16:18], "big"), packets + 1
    pcap.write(path, rows, nanosecond=False)
    return path, octets, packets


def totals(child):
    rows = [json.loads(line) for line in child.wrote.splitlines()]
    return sum(row["octets"] * row["sampling_rate"] for row in rows), sum(row["packets"] * row["sampling_rate"] for row in rows)


@pytest.mark.skipif(not shutil.which("softflowd", path=PATHS), reason="softflowd is not installed")
@pytest.mark.parametrize("version", [5, 9, 10])
def test_what_softflowd_exports_is_what_the_capture_holds(plain_capture, version, tmp_path):
    path, octets, packets = plain_capture
    child, port = listen(kinds=["ipfix" if version == 10 else "netflow"])
    with child:
        softflowd = shutil.which("softflowd", path=PATHS)
        command = [softflowd, "-D", "-p", str(tmp_path / "pid"), "-c", "none", "-v", str(version)]
        command += ["-r", str(path), "-n", f"127.0.0.1:{port}"]
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
        assert child.end() == 0
        assert totals(child) == (octets, packets), said
        counts = stopped(child)
        kind = "ipfix" if version == 10 else "netflow"
        assert counts[f"{kind}_datagrams_received"] == counts[f"{kind}_datagrams_decoded"] == counts["datagrams_received"]


@pytest.mark.skipif(not shutil.which("pmacctd", path=PATHS), reason="pmacct is not installed")
def test_what_pmacct_samples_is_what_the_capture_holds(plain_capture, tmp_path):
    decoder = Decoder()
    octets = np.concatenate([decoder.decode(batch).octets for batch in pcap.read(plain_capture[0])])
    child, port = listen(kinds=["sflow"])
    with child:
        settings = tmp_path / "pmacct.conf"
        settings.write_text(
            f"pcap_savefile: {plain_capture[0]}\npcap_savefile_delay: 1\nplugins: sfprobe\nsfprobe_receiver: 127.0.0.1:{port}\n"
            "sampling_rate: 1\nsfprobe_agentip: 127.0.0.1\ndaemonize: false\n"
        )
        with Child("-f", str(settings), command=[shutil.which("pmacctd", path=PATHS)]) as pmacctd:
            until(lambda: child.wrote.count(b"\n") > 2000)
            pmacctd.end()
        assert child.end() == 0
        rows = [json.loads(line) for line in child.wrote.splitlines()]
        assert [row["octets"] for row in rows] == octets[: len(rows)].tolist()
        assert {row["sampling_rate"] for row in rows} == {1}
        counts = stopped(child)
        assert counts["sflow_records_emitted"] == len(rows)
        assert counts["datagrams_received"] == counts["sflow_datagrams_decoded"]
