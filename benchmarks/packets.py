"""Packets per second of reading, decoding and building flow records, stage by stage, beside `gzip -dc` of the same files.

    python -m benchmarks.packets FILE...

Machines differ and are noisy; the ratio to gzip, taken in the same run, is what compares. Each stage includes those before it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from collectors import pcap
from collectors.cli import named_inputs
from collectors.fastpath import Decoder
from collectors.flowtable import flows_of

Inputs = Sequence[tuple[str, str]]


class Stage(NamedTuple):
    """One measured stage: how many packets (0 where unknown) in how many seconds."""

    name: str
    packets: int
    seconds: float


def read(inputs: Inputs) -> int:
    """Packets of all files, taken out of their files."""
    return sum(len(batch) for _, path in inputs for batch in pcap.read(path))


def decode(inputs: Inputs) -> int:
    """Packets with a row of their own, decoded."""
    decoder = Decoder()
    return sum(len(decoder.decode(batch)) for _, path in inputs for batch in pcap.read(path))


def build(inputs: Inputs) -> int:
    """Packets of all files, made into flow records."""
    decoder = Decoder()
    captures = {switch: pcap.read(path) for switch, path in inputs}
    flows_of({switch: map(decoder.decode, capture) for switch, capture in captures.items()}, decoder.endpoints)
    return sum(capture.packets for capture in captures.values())


def gunzip(inputs: Inputs) -> int:
    """The same octets through gzip, which is what the files cost anybody."""
    program = shutil.which("gzip") or "gzip"
    for _, path in inputs:
        command = [program, "-dc", path] if path.endswith(".gz") else ["cat", path]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return 0


def measure(inputs: Inputs, repeats: int = 3) -> list[Stage]:
    """The best of a few runs of every stage."""
    stages: tuple[tuple[str, Callable[[Inputs], int]], ...] = (
        ("gzip -dc", gunzip),
        ("read", read),
        ("decode", decode),
        ("flows", build),
    )
    found = []
    for name, run in stages:
        times = []
        for _ in range(repeats):
            began = time.perf_counter()
            packets = run(inputs)
            times.append(time.perf_counter() - began)
        found.append(Stage(name, packets, min(times)))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line per stage."""
    files = list(sys.argv[1:] if argv is None else argv)
    if not files:
        print("usage: python -m benchmarks.packets FILE...", file=sys.stderr)
        return 2
    stages = measure(named_inputs(files))
    for stage in stages:
        rate = f"{stage.packets / stage.seconds:12,.0f} packets/s" if stage.packets else " " * 22
        print(f"{stage.name:10}{stage.seconds:8.3f} s{rate}  {stage.seconds / stages[0].seconds:6.1f} × gzip")
    return 0


if __name__ == "__main__":
    sys.exit(main())
