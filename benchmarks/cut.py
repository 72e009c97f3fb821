"""Cut some training steps out of a capture with recorded truth, to store a small example in the repository.

    python -m benchmarks.cut SOURCE TARGET [--first STEP] [--last STEP] [--job NAME] [--snaplen OCTETS]

SOURCE and TARGET are folders: *.pcap.gz, topology.json, truth.json. Steps are those of the truth, by index, both included, of
the named job (default: the first). Packets from the start of the first to the end of the last step on any rank stay, cut to
`snaplen` octets; 54 keep Ethernet, IPv4 and TCP without options. truth.json keeps only steps and faults within that time.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from collectors.captures import pcap

Json = dict[str, Any]
MARGIN_NS = 50_000_000  # for the last acknowledgments and control messages of a step
ETHERNET_IPV4_TCP = 14 + 20 + 20


def window(truth: Json, job: str, first: int, last: int) -> tuple[int, int]:
    """Return start and end of the steps `first` … `last` of a job over all ranks, with a margin at the end; ns."""
    rows = [row for steps in true_steps(truth["jobs"][job]).values() for row in steps if first <= row[0] <= last]
    if not rows:
        raise ValueError(f"job {job} has no step from {first} to {last}")
    return min(begin for _, begin, _ in rows), max(end for _, _, end in rows) + MARGIN_NS


def true_steps(job: Json) -> dict[str, list[list[int]]]:
    """Return steps by rank, as visible in traffic if the truth has that."""
    steps: dict[str, list[list[int]]] = job["steps_wire" if "steps_wire" in job else "steps"]
    return steps


def cut_truth(truth: Json, lo: int, hi: int) -> Json:
    """Restrict the truth to the time from lo to hi: complete steps; clipped faults, events and machine load."""
    jobs = {}
    for name, job in truth["jobs"].items():
        whole = {
            key: {rank: [row for row in rows if lo <= row[1] and row[2] <= hi] for rank, rows in job[key].items()}
            for key in ("steps", "steps_wire")
            if key in job
        }
        events = [event for event in job.get("events", []) if lo <= event[2] and event[3] <= hi]
        jobs[name] = job | whole | {"events": events}
    faults = [
        fault | {"start_ns": max(lo, fault["start_ns"]), "end_ns": min(hi, fault["end_ns"])}
        for fault in truth["faults"]
        if fault["start_ns"] < hi and fault["end_ns"] > lo
    ]
    cpu = truth["cpu"] | {"rows": [row for row in truth["cpu"]["rows"] if lo <= row[0] <= hi]}
    return truth | {"jobs": jobs, "faults": faults, "cpu": cpu}


def frames(path: Path, lo: int, hi: int) -> Iterator[tuple[int, bytes, int]]:
    """Yield the frames of a capture from lo to hi: time, octets, wire length."""
    for batch in pcap.read(path):
        for i in range(len(batch)):
            time_ns, at = int(batch.time_ns[i]), int(batch.offset[i])
            if lo <= time_ns <= hi:
                yield time_ns, bytes(batch.data[at : at + int(batch.captured[i])]), int(batch.wire[i])


def cut(source: Path, target: Path, *, job: str | None, first: int, last: int, snaplen: int) -> Json:
    """Write the shortened capture, its topology and its truth; return the truth."""
    truth = json.loads((source / "truth.json").read_text())
    lo, hi = window(truth, job or next(iter(truth["jobs"])), first, last)
    target.mkdir(parents=True, exist_ok=True)
    counts = {}
    for path in sorted(source.glob("*.pcap.gz")):
        counts[path.name.split(".")[0]] = pcap.write(target / path.name, frames(path, lo, hi), snaplen=snaplen)
    about = {"start_ns": lo, "end_ns": hi, "snaplen": snaplen, "packets": counts, "cut_from": truth["name"]}
    made = cut_truth(truth, lo, hi) | {"name": target.name, "capture": about}
    (target / "truth.json").write_text(json.dumps(made) + "\n")
    shutil.copyfile(source / "topology.json", target / "topology.json")
    return made


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cut", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--last", type=int, default=sys.maxsize)
    parser.add_argument("--job")
    parser.add_argument("--snaplen", type=int, default=ETHERNET_IPV4_TCP)
    made = cut(**vars(parser.parse_args()))
    print(f"{made['name']}: {made['capture']['packets']}, {len(made['faults'])} faults")
    return 0


if __name__ == "__main__":
    sys.exit(main())
