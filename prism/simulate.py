"""Simulated runs as folders like those of real captures: flows.csv.gz or a capture per switch, topology.json, truth.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from collectors import dump, pcap
from prism.synth.frames import SNAPLEN
from prism.synth.mirrors import Mirrors
from prism.synth.packets import Packets
from prism.synth.presets import PRESETS
from prism.synth.simulate import plan, simulate
from prism.synth.spec import Spec
from prism.synth.specfile import overridden, parse
from prism.synth.trains import trains_of

SUFFIXES = (".yaml", ".yml", ".json")


def asked(what: str, settings: Sequence[str] = ()) -> Spec:
    """The preset of that name, or the spec in the YAML or JSON file of that name, with settings such as jobs.0.dp=16.

    Raises ValueError, one line, where there is neither or it makes no sense; OSError where a file cannot be read.
    """
    if what in PRESETS:
        return overridden(PRESETS[what], settings)
    path = Path(what)
    if path.suffix.lower() not in SUFFIXES and not path.is_file():
        raise ValueError(f"no preset and no file is called {what!r}; presets are {', '.join(PRESETS)}")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{what}: not UTF-8 text at offset {error.start}") from None
    return overridden(parse(text, what), settings)


def write(spec: Spec, folder: str | Path, seed: int = 0) -> int:
    """Simulate into a folder, which is made if it is not there; how many flow records were written."""
    made = simulate(spec, seed)
    folder = _made(folder)
    dump.write(folder / "flows.csv.gz", made.flows)
    _tell(folder, made.topology, made.truth)
    return len(made.flows)


def write_packets(
    spec: Spec, folder: str | Path, seed: int = 0, *, erspan: bool = False, ends_only: bool = False, snaplen: int = SNAPLEN
) -> int:
    """The same as packets: one capture per switch, named after it, as its mirror port or its ERSPAN session would give it.

    How many frames were written. `ends_only`: of RDMA messages only the first and the last packet. `snaplen`: octets kept.
    """
    planned = plan(spec, seed)
    mirrors = Mirrors(
        planned.plant,
        spec.start_ns,
        np.random.default_rng([seed, 1 << 21]),
        asked=spec.degradation,
        seen=planned.seen,
        erspan=erspan,
        snaplen=snaplen,
    )
    folder, written = _made(folder), 0
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(pcap.Writer(folder / f"{name}.pcap.gz", snaplen=snaplen))
            for name in planned.plant.switches
        }
        trains = trains_of(planned.parts, planned.plant)
        for some in mirrors.captured(Packets(ends_only=ends_only).add(trains)):
            files[some.switch].add(some.time_ns, some.octets, some.captured, some.wire)
            written += len(some.time_ns)
    _tell(folder, planned.plant.topology(), planned.truth)
    return written


def _made(folder: str | Path) -> Path:
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _tell(folder: Path, topology: dict[str, Any], truth: dict[str, Any]) -> None:
    for name, document in (("topology", topology), ("truth", truth)):
        (folder / f"{name}.json").write_text(json.dumps(document, separators=(",", ":")), encoding="utf-8")
