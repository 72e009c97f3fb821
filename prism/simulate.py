"""Simulated runs as folders like those of real captures: flows.csv.gz or a capture per switch, topology.json, truth.json."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import numpy as np

from collectors import dump, pcap
from prism.synth.frames import SNAPLEN
from prism.synth.mirrors import Mirrors
from prism.synth.packets import Packets
from prism.synth.presets import PRESETS
from prism.synth.simulate import plan, simulate
from prism.synth.spec import Spec
from prism.synth.trains import trains_of

Form = Literal["flows", "pcap", "erspan"]


def preset(name: str) -> Spec:
    """The preset of that name. Raises ValueError where there is none."""
    if name not in PRESETS:
        raise ValueError(f"no preset is called {name!r}; there are {', '.join(PRESETS)}")
    return PRESETS[name]


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
