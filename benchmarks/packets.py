"""Packets per second and peak memory of reading a capture into flow records, on one core, beside other makers' tools.

    python -m benchmarks.packets [--packets N] [--seed S] [--repeats N]

A capture is made in a temporary folder (`mirror`): 93 % RoCEv2, the rest TCP, cut to 128 octets. Every tool reads it on one
core, one after the other, and again; the best of the repeats counts, in seconds of processor time, of user and kernel, so that
what else runs on the machine counts for little. Machines differ: the ratios are what compares. Tools that are not there are
named and left out; the slow ones read a share of the capture. Our clock starts when modules are imported and compiled code is
loaded, which is reported separately; that of others is their process's, whose start takes milliseconds.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.mirror import SNAPLEN, Mirror
from collectors.aggregation import capture_reader
from collectors.aggregation.batch_decoder import Decoder
from collectors.aggregation.flow_table import flows_of
from collectors.captures import pcap

RECORD = 16 + SNAPLEN
LIMIT = 600  # maximum seconds of a tool
TSHARK = "-T fields -e ip.src -e ip.dst -e infiniband.bth.opcode -e infiniband.bth.destqp -e infiniband.bth.psn -e tcp.seq"


class Tool(NamedTuple):
    """A program: name, command (with {file} and {folder}) and its share of the packets."""

    name: str
    command: tuple[str, ...]
    share: float = 1.0


TOOLS = (
    Tool("nfpcapd", ("nfpcapd", "-r", "{file}", "-w", "{folder}")),
    Tool("softflowd", ("softflowd", "-d", "-r", "{file}", "-m", "100000")),
    Tool("argus", ("argus", "-X", "-r", "{file}", "-w", "/dev/null")),
    Tool("tshark", ("tshark", "-n", "-r", "{file}", *TSHARK.split()), 0.02),
    Tool("scapy", (sys.executable, "-m", "benchmarks.packets", "--stage", "scapy", "{file}"), 0.002),
    Tool("tcpdump -w /dev/null", ("tcpdump", "-r", "{file}", "-w", "/dev/null", "-Z", "root")),
    Tool("cat", ("cat", "{file}")),
)
STAGES = {"ours": "flows", "ours, decoding only": "decode"}


class Run(NamedTuple):
    """Cost of a tool: packets, seconds of processor time, peak MiB, and seconds before its clock started."""

    packets: int
    seconds: float
    mebibytes: int
    start: float = 0.0


def read_flows(path: str) -> int:
    """Convert a capture to flow records; return the number of packets."""
    decoder, capture = Decoder(), pcap.read(path)
    flows_of({"switch": capture_reader.read(capture, decoder)}, decoder.endpoints)
    return capture.packets


def read_rows(path: str) -> int:
    """Decode a capture; return the number of packets."""
    decoder = Decoder()
    return sum(len(decoder.unpack(batch)) for batch in pcap.read(path))


def read_scapy(path: str) -> int:
    """Decode a capture with scapy; return the number of packets."""
    from scapy.contrib.roce import BTH  # noqa: F401 - what follows UDP port 4791
    from scapy.utils import PcapReader

    with PcapReader(path) as reader:
        return sum(1 for _ in reader)


def run_stage(stage: str, path: str) -> None:
    """Run one of our stages and print its packets and seconds of processor time; first on a few packets, to load everything."""
    run = {"flows": read_flows, "decode": read_rows, "scapy": read_scapy}[stage]
    if stage != "scapy":
        with tempfile.TemporaryDirectory() as folder:
            Mirror().write(Path(folder) / "few.pcap", 1000)
            run(f"{folder}/few.pcap")
    began = time.process_time()
    print(run(path), time.process_time() - began)


def measured(command: Sequence[str], packets: int, *, ours: bool = False) -> Run:
    """Run a command to its end. Raises RuntimeError if it fails."""
    began, before, peak = time.perf_counter(), children(), 0
    stdout = subprocess.PIPE if ours else subprocess.DEVNULL
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, peak_kib(process.pid))
            if time.perf_counter() - began > LIMIT:
                process.kill()
            time.sleep(0.002 if time.perf_counter() - began < 1 else 0.01)
        said = process.stdout.read().split() if process.stdout else []
    seconds = children() - before
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}")
    if ours and int(said[0]) != packets:
        raise RuntimeError(f"{int(said[0])} of {packets} packets were read")
    own = float(said[1]) if ours else seconds
    return Run(packets, own, peak // 1024, seconds - own)


def children() -> float:
    """Return the processor time of ended children, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peak_kib(pid: int) -> int:
    """Return the peak memory of a process, KiB; 0 if it has ended. (wait4 would include its parent's.)"""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)


def shortened(path: Path, packets: int) -> str:
    """Write the first packets of a capture of `mirror` to a file beside it."""
    short = path.with_name(f"{packets}.pcap")
    if not short.exists():
        size, frames = 24, 0
        with path.open("rb") as file:
            head = file.read(24 + packets * RECORD)
        while frames < packets:
            size += 16 + int.from_bytes(head[size + 8 : size + 12], "little")
            frames += 1
        short.write_bytes(head[:size])
    return str(short)


def compare(folder: Path, packets: int, seed: int, repeats: int) -> tuple[dict[str, Run], list[str]]:
    """Run all tools on one capture; return also the missing ones."""
    path, missing = folder / "mirror.pcap", []
    Mirror(seed).write(path, packets)
    commands: dict[str, tuple[tuple[str, ...], int, bool]] = {}  # by name: command, packets, whether it prints its own time
    for name, stage in STAGES.items():
        commands[name] = (sys.executable, "-m", "benchmarks.packets", "--stage", stage, str(path)), packets, True
    for tool in TOOLS:
        if (tool.name == "scapy" and not importlib.util.find_spec("scapy")) or not shutil.which(tool.command[0]):
            missing.append(tool.name)
            continue
        n = max(1, int(packets * tool.share))
        file = str(path) if tool.share == 1 else shortened(path, n)
        commands[tool.name] = tuple(w.format(file=file, folder=folder) for w in tool.command), n, tool.name == "scapy"
    runs: dict[str, Run] = {}
    for repeat in range(repeats):
        for name, (command, n, tells) in commands.items():
            if n == packets or not repeat:
                run = measured(command, n, ours=tells)
                runs[name] = min(runs.get(name, run), run, key=lambda run: run.seconds)
    return runs, missing


def table(runs: dict[str, Run], missing: Sequence[str]) -> list[str]:
    """Format a line per tool."""
    rate = runs["ours"].packets / runs["ours"].seconds
    lines = [f"{'':22}{'packets/s':>12}{'ours is':>10}{'peak MiB':>10}"]
    for name, run in runs.items():
        theirs = run.packets / run.seconds
        notes = [f"on {run.packets:,} packets"] if run.packets < runs["ours"].packets else []
        notes += [f"{run.start:.1f} s to start"] if run.start else []
        lines.append(f"{name:22}{theirs:12,.0f}{rate / theirs:9.2f}x{run.mebibytes:10,}  {', '.join(notes)}".rstrip())
    return [*lines, *(f"{name}: not installed" for name in missing)]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.packets", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--packets", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--stage", nargs=2, metavar=("STAGE", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.stage:
        run_stage(*options.stage)
        return 0
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # children inherit it
    with tempfile.TemporaryDirectory() as folder:
        runs, missing = compare(Path(folder), options.packets, options.seed, options.repeats)
    print("\n".join(table(runs, missing)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
