"""Simulated runs as folders like those of real captures: flows.csv.gz, topology.json, truth.json."""

from __future__ import annotations

import json
from pathlib import Path

from collectors import dump
from prism.synth.presets import PRESETS
from prism.synth.simulate import simulate


def write(preset: str, folder: str | Path, seed: int = 0) -> int:
    """Simulate a preset into a folder, which is made if it is not there; how many flow records were written.

    Raises ValueError where there is no such preset.
    """
    if preset not in PRESETS:
        raise ValueError(f"no preset is called {preset!r}; there are {', '.join(PRESETS)}")
    made = simulate(PRESETS[preset], seed)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    dump.write(folder / "flows.csv.gz", made.flows)
    for name, document in (("topology", made.topology), ("truth", made.truth)):
        (folder / f"{name}.json").write_text(json.dumps(document, separators=(",", ":")), encoding="utf-8")
    return len(made.flows)
